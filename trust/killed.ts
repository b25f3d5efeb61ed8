import { roundTo } from '../bench/statistics.ts'
import { type Fault, planKills } from './chaos/plan.ts'
import { hasDone, playProfile, type Seen } from './chaos/profile.ts'
import type { TrustPromise } from './promise.ts'

/** Limits recovery. In the short form the service and its clients wait for their turn beside other tests. */
const maxRecoverySeconds = { full: 5, short: 15 }

/** Measures the seconds from each recovery of Postgres to the first order that was requested and created after it. */
const measureRecoveries = ({ history, happened }: Pick<Seen, 'history' | 'happened'>): number[] =>
  happened
    .filter(({ text }) => text.startsWith('** Postgres-of-orders: killed is over'))
    .map(({ at }) => {
      const booked = history.filter(({ what, ending, sentAt }) => what === 'book' && ending === 'done' && sentAt >= at)
      return (Math.min(...booked.map(({ respondedAt }) => respondedAt)) - at) / 1000
    })

export const promise: TrustPromise = {
  promise:
    'Killing orders, the notifier or Postgres at any moment loses nothing acknowledged, stores no batch in part, skips no change of the feed, and sends each message once or marks it unknown',
  limit:
    'kill -9 of services x100 and of Postgres x6 under load, 10,000 messages queued: 0 lost, partial, duplicated or skipped; orders created within 5 s after Postgres is back',
  run: t => {
    const [kills, postgresKills, backlog, rate] = t.short ? [4, 1, 60, 60] : [100, 6, 10_000, 40]
    const killOfPostgres = (chance: () => number): Fault => {
      return { where: 'Postgres-of-orders', kind: 'killed', at: 1_000 + chance() * 1_000, lasts: chance() * 1_000 }
    }
    return playProfile(t, {
      name: 'killed',
      bed: {
        ownPostgres: ['orders'],
        rate,
        // Responses are so slow that each kill of the notifier finds sends in flight.
        simulator: { SIMULATOR_ANSWER_LATENCY_MS: '90', SIMULATOR_DELAY_FACTOR: '0' },
      },
      crew: { merchants: 4, clerks: 2, accountants: 1, agents: 1, riders: 1, backlog, people: 5_000 },
      plan: chance => [
        [
          ...planKills(chance, kills, 700, ['orders-1', 'notifier-1']),
          ...Array.from({ length: postgresKills }, () => killOfPostgres(chance)),
        ],
      ],
      sendSeconds: 2,
      isEnough: seen => {
        const recoveries = measureRecoveries(seen)
        const haveAllRecovered = recoveries.length === postgresKills && recoveries.every(Number.isFinite)
        return haveAllRecovered && hasDone(t.short ? 30 : 1_000)(seen)
      },
      judge: ({ evidence, happened }, { broken, short }) => {
        const slowest = Math.max(...measureRecoveries({ history: evidence.history, happened }))
        broken.require(
          slowest < maxRecoverySeconds[short ? 'short' : 'full'],
          `it took ${slowest} s until a batch was created again`,
        )
        return { 'created again s': roundTo(slowest, 2) }
      },
    })
  },
}
