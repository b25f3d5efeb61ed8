import type { Capability } from '../../capability.ts'
import { cappedHelp, selectCount } from '../../core/messages/summary.ts'
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

const countProblems = (...kinds: string[]): string => `(select count(*)::integer from account_notices
  where is_problem and kind in ('${kinds.join("','")}') and happened_at > now() - interval '7 days')`

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
  gauges: {
    portfolio_limit_used_share: [
      'The largest share of a messaging limit that is used, 0 to 1, of all portfolios.',
      'coalesce((select max(least(1, used::float8 / max_people)) from portfolios where max_people > 0), 0)',
    ],
    portfolio_messages_waiting: [
      `Messages that wait for room in the messaging limit of their portfolio, ${cappedHelp}`,
      selectCount('portfolio_waiting'),
    ],
    account_problems: [
      'Problems of accounts that the platform reported within a week: restrictions, violations.',
      countProblems('account'),
    ],
    number_quality_problems: [
      'Numbers whose quality the platform called low within a week, or whose limit it lowered.',
      countProblems('quality', 'throughput'),
    ],
    template_quality_problems: [
      'Templates whose quality the platform called low within a week.',
      countProblems('template'),
    ],
  },
}
