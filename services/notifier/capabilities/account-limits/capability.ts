import type { Capability } from '../../capability.ts'
import type { WebhookPoint } from '../../core/platform-webhooks/webhook-point.ts'
import { type AccountNews, accountReader } from './account-events.ts'
import { admitWithinRoom, openRoom } from './defer-for-room.ts'
import { noticesField, selectNotices, storeNotices } from './notices.ts'
import { limitField, reportLimits, selectLimit, storeLimit } from './portfolio.ts'

const webhooks: WebhookPoint = {
  accounts: accountReader,
  begin: (tx, { accounts }) => {
    const known = accounts.filter(({ field }) => accountReader.fields.includes(field))
    const facts = known.map(({ news, ...fact }) => ({ ...fact, ...(news as AccountNews) }))
    const limits = facts.filter(fact => 'maxPeople' in fact)
    const notices = facts.filter(fact => 'text' in fact)
    return {
      store: () => reportLimits(tx, limits),
      finish: async () => {
        await storeNotices(tx, notices)
        return { notices: facts.length }
      },
    }
  },
}

/** Keeps messages within the messaging limits of portfolios; shows what the platform says of accounts. */
export const accountLimits: Capability = {
  start: ({ pool, poll }) => ({
    routes: {
      internal: async internal => (await import('./routes.ts')).roomRoutes(internal, { pool }),
    },
    workers: [poll('portfolio.limits', 60, () => openRoom(pool))],
  }),
  admission: admitWithinRoom,
  webhooks,
  channel: {
    fields: { messaging_limit: limitField, notices: noticesField },
    columns: { messaging_limit: selectLimit, notices: selectNotices },
    onRead: storeLimit,
  },
}
