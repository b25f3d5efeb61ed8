import { percentile, roundTo } from '../bench/statistics.ts'
import { groupIntents } from './chaos/history.ts'
import { hasDone, milliseconds, playProfile } from './chaos/profile.ts'
import type { TrustPromise } from './promise.ts'

const maxRatio = 1.1
/**
 * A difference in the p99 within this margin is due to the machine. The short form runs beside other tests and sends
 * about a hundred requests, so one of them sets the p99.
 */
const slackMs = { full: 10, short: 1_000 }

export const promise: TrustPromise = {
  promise:
    'Orders are created as fast as before while the notifier is cut off, and afterwards every message leaves once',
  limit: 'cut for 5 min: p99 of creating orders at most +10 % or 10 ms, then one message for each order',
  run: t => {
    const [warmUp, before, away] = t.short ? [1, 3, 4] : [5, 60, 300]
    return playProfile(t, {
      name: 'notifier-away',
      bed: {},
      crew: { merchants: 4, onlyBooks: true, everyMs: t.short ? 800 : 200, batch: 2 },
      plan: () => [[{ where: 'orders-notifier', kind: 'cut', at: (warmUp + before) * 1000, lasts: away * 1000 }]],
      seconds: warmUp + before + away,
      isEnough: hasDone(before * (t.short ? 3 : 10)),
      judge: ({ evidence: { history, messages }, happened }, { broken, short }) => {
        const [cutAt = 0, isOverAt = 0] = happened.map(({ at }) => at)
        const booked = history.filter(({ what }) => what === 'book')
        const p99 = (from: number, to: number): number =>
          percentile(booked.filter(({ sentAt }) => sentAt >= from && sentAt < to).map(milliseconds), 0.99)
        // Beside other tests a client may time out, and repeat its request.
        const failed = (short ? groupIntents(booked) : booked).filter(({ ending }) => ending !== 'done').length
        broken.require(failed === 0, `${failed} requests failed`)
        const unknown = messages.filter(({ status }) => status === 'unknown').length
        broken.require(unknown === 0, `${unknown} messages are unknown although no send was disturbed`)
        const [calmMs, cutMs] = [p99(cutAt - before * 1000, cutAt), p99(cutAt, isOverAt)]
        const isClose = cutMs <= calmMs * maxRatio || cutMs - calmMs <= slackMs[short ? 'short' : 'full']
        broken.require(isClose, `p99 of a request was ${cutMs} ms with the notifier cut off, ${calmMs} ms before`)
        return { 'cut s': away, 'p99 before ms': roundTo(calmMs, 1), 'p99 cut ms': roundTo(cutMs, 1) }
      },
    })
  },
}
