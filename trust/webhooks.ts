import { percentile } from '../bench/statistics.ts'
import { flaky, type Reactions } from './chaos/endpoints.ts'
import { planKills } from './chaos/plan.ts'
import { hasDone, type Played, playProfile } from './chaos/profile.ts'
import type { TrustPromise } from './promise.ts'

/** A delay within this margin is due to the machine: in the short form, other tests run at the same time. */
const slackMs = { full: 1_000, short: 5_000 }

const slow: Reactions = () => ({ milliseconds: 2_000 })
const isDown = (): boolean => performance.now() % 12_000 < 3_000
const fails: Reactions = chance => (isDown() ? { status: 503, isLost: true } : flaky(chance))
const failsSlowly: Reactions = chance => ({ ...fails(chance), milliseconds: 2_000 })

/** Lists bookings with the milliseconds until their events arrived at the healthy endpoint. */
const listDelays = ({ evidence: { history, received } }: Played) => {
  const arrivals = received.filter(({ endpoint }) => endpoint === 'good').toReversed()
  const arrivedAt = new Map(arrivals.map(({ waybill, at }) => [waybill, at]))
  return history
    .filter(({ what, ending, data }) => what === 'book' && ending === 'done' && Array.isArray(data))
    .flatMap(({ respondedAt, data }) =>
      (data as string[]).map(waybill => {
        return { respondedAt, ms: Math.max(0, (arrivedAt.get(waybill) ?? Number.POSITIVE_INFINITY) - respondedAt) }
      }),
    )
}

export const promise: TrustPromise = {
  promise:
    'Every event reaches every endpoint of its merchant, in order per waybill, through kills, and a slow or dead endpoint delays no other',
  limit:
    'kill -9 of two processes x30, 10,000 events, endpoints that are slow, dead or at times down, fail or lose responses: 0 lost, out of order or wrongly signed; p99 beside slow ones at most 1 s more',
  run: t => {
    const [calm, kills] = t.short ? [2_000, 2] : [20_000, 30]
    return playProfile(t, {
      name: 'webhooks',
      // The first endpoint is behind the link that is cut.
      bed: {
        pairs: ['orders'],
        isWithoutMessages: true,
        endpoints: {
          dead: fails,
          good: () => ({}),
          'slow 1': slow,
          'slow 2': slow,
          'slow 3': t.short ? fails : failsSlowly,
        },
      },
      crew: { merchants: 4, clerks: 4, batch: t.short ? 6 : 30 },
      plan: chance => [
        [{ where: 'endpoints', kind: 'unsteady', at: calm, lasts: t.short ? 8_000 : 90_000 }],
        [{ where: 'orders-endpoint', kind: 'cut', at: calm, lasts: t.short ? 5_000 : 60_000 }],
        planKills(chance, kills, t.short ? 1_000 : 3_500, ['orders-1', 'orders-2']).map((fault, n) =>
          n === 0 ? { ...fault, at: 2 * calm } : fault,
        ),
      ],
      isEnough: hasDone(t.short ? 30 : 1_500),
      judge: (played, { broken, short }) => {
        const at = (text: string): number => played.happened.find(each => each.text.includes(text))?.at ?? 0
        const [disturbed, killed] = [at('endpoints: unsteady'), at('kill')]
        const all = listDelays(played)
        const p99 = (from: number, to: number): number =>
          Math.round(
            percentile(
              all.filter(({ respondedAt: at }) => at > from && at < to).map(({ ms }) => ms),
              0.99,
            ),
          )
        // A fault delays events booked shortly before it: the kill, until the lease of the killed process ends.
        const [quiet, beside] = [p99(0, disturbed - calm / 4), p99(disturbed, killed - calm / 4)]
        const isClose = beside <= quiet + slackMs[short ? 'short' : 'full']
        broken.require(isClose, `beside slow endpoints p99 was ${beside} ms, ${quiet} ms before`)
        const events = new Set(played.evidence.received.map(({ endpoint, id }) => `${endpoint} ${id}`)).size
        broken.require(short || events >= 10_000, `only ${events} events were sent`)
        return {
          kills,
          events,
          twice: played.evidence.received.length - events,
          'p99 ms': quiet,
          'p99 beside slow ms': beside,
        }
      },
    })
  },
}
