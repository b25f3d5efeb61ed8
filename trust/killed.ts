import { rounded } from '../bench/figures.ts'
import { type Fault, planKills } from './chaos/plan.ts'
import { type Played, playProfile } from './chaos/profile.ts'
import type { TrustPromise } from './promise.ts'

const maxRecoverySeconds = 5

/** Seconds from each time that Postgres was back until an order was created that was requested after it. */
const recoveriesOf = ({ evidence, happened }: Played): number[] =>
  happened
    .filter(({ text }) => text.startsWith('** Postgres-of-orders: killed is over'))
    .map(({ at }) => {
      const booked = evidence.history.filter(
        ({ what, ending, sentAt }) => what === 'book' && ending === 'done' && sentAt >= at,
      )
      return (Math.min(...booked.map(({ respondedAt }) => respondedAt)) - at) / 1000
    })

export const promise: TrustPromise = {
  promise:
    'When orders, the notifier or Postgres is killed at any moment, what was acknowledged is kept, no batch is stored in part, a reader of the changes gets each once, and each message is sent once or unknown',
  limit:
    'kill -9 of either service x100, of Postgres x6, under load and with 10,000 messages queued: 0 orders, moves or messages lost, 0 partial, 0 duplicated, 0 changes skipped; orders created again within 5 s after Postgres is back',
  run: t => {
    const [kills, postgresKills, backlog, rate] = t.short ? [5, 2, 300, 400] : [100, 6, 10_000, 40]
    const killOfPostgres = (chance: () => number): Fault => {
      return { where: 'Postgres-of-orders', kind: 'killed', at: 1_000 + chance() * 1_000, lasts: chance() * 1_000 }
    }
    return playProfile(t, {
      name: 'killed',
      bed: {
        ownPostgres: ['orders'],
        rate,
        // So slow that each kill of the notifier finds sends in flight.
        simulator: { SIMULATOR_ANSWER_LATENCY_MS: t.short ? '30' : '90', SIMULATOR_DELAY_FACTOR: '0' },
      },
      crew: { merchants: 4, clerks: 2, agents: 1, backlog, people: 5_000 },
      plan: chance => [
        [
          ...planKills(chance, kills, 700, ['orders-1', 'notifier-1']),
          ...Array.from({ length: postgresKills }, () => killOfPostgres(chance)),
        ],
      ],
      seconds: t.short ? 8 : 60,
      sendSeconds: 2,
      least: t.short ? 10 : 200,
      judge: (played, { broken }) => {
        const slowest = Math.max(...recoveriesOf(played))
        broken.require(slowest < maxRecoverySeconds, `it took ${slowest} s until a batch was created again`)
        return { 'created again s': rounded(slowest, 2) }
      },
    })
  },
}
