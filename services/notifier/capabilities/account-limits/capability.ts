import type { Capability } from '../../capability.ts'
import type { WebhookPoint } from '../../core/platform-webhooks/webhook-point.ts'
import { type AccountNews, accountReader } from './account-events.ts'
import { admitWithinRoom, openRoom } from './defer-for-room.ts'
import { noticesField, selectNotices, storeNotices } from './notices.ts'
import { limitField, reportLimits, selectLimit, storeLimit } from './portfolio.ts'

const webhooks: WebhookPoint = {
  accounts: accountReader,
  begin: (tx, { accounts }) => {
    const news = accounts.filter(({ field }) => accountReader.fields.includes(field))
    const all = news.map(({ news, ...fact }) => ({ ...fact, ...(news as AccountNews) }))
    const notices = all.flatMap(fact => ('notice' in fact ? [{ ...fact, ...fact.notice }] : []))
    return {
      store: () =>
        reportLimits(
          tx,
          all.flatMap(fact => ('maxPeople' in fact ? [fact] : [])),
        ),
      finish: async () => {
        await storeNotices(tx, notices)
        return { notices: all.length }
      },
    }
  },
}

/** Keeps messages within the messaging limits of portfolios; shows what the platform says of accounts. */
export const accountLimits: Capability = {
  start: ({ pool, poll }) => ({
    routes: {
      internal: async internal => void (await internal.register((await import('./routes.ts')).roomRoutes, { pool })),
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
