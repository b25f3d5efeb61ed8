import { GraphError } from '../graph/errors.ts'

/** A window a little shorter than the second: who sends exactly the rate is not refused for the network's jitter. */
const throughputWindowMs = 900
const pairIntervalMs = 6000
const pairBurst = 45
const mostPairs = 50_000

/** The rates of messaging-api 5. Each refusal throws; only messages that pass count. */
export interface Limits {
  /** At most `perSecond` messages of a number in any 900 ms, else 130429. */
  takeThroughput(phoneNumberId: string, perSecond: number, now: number): void
  /** One message per 6 s from a number to a recipient, up to 45 ahead of that, else 131056. */
  takePair(phoneNumberId: string, recipient: string, now: number): void
  clear(): void
}

export const createLimits = (): Limits => {
  const sentAt = new Map<string, { times: number[]; next: number }>()
  /** When a pair would have sent all of its messages at the steady rate. */
  const pairs = new Map<string, number>()
  let sweptAt = 0
  const sweep = (now: number): void => {
    sweptAt = now
    for (const [pair, caughtUpAt] of pairs) if (caughtUpAt < now) pairs.delete(pair)
  }

  return {
    takeThroughput(phoneNumberId, perSecond, now) {
      if (perSecond === 0) return
      let recent = sentAt.get(phoneNumberId)
      if (recent?.times.length !== perSecond) {
        recent = { times: new Array(perSecond).fill(0), next: 0 }
        sentAt.set(phoneNumberId, recent)
      }
      if (now - (recent.times[recent.next] ?? 0) < throughputWindowMs) throw new GraphError(130429)
      recent.times[recent.next] = now
      recent.next = (recent.next + 1) % perSecond
    },
    takePair(phoneNumberId, recipient, now) {
      const key = `${phoneNumberId} ${recipient}`
      const caughtUpAt = Math.max(pairs.get(key) ?? 0, now)
      if (caughtUpAt - now > pairIntervalMs * (pairBurst - 1)) throw new GraphError(131056)
      pairs.set(key, caughtUpAt + pairIntervalMs)
      if (pairs.size > mostPairs && now - sweptAt > pairIntervalMs) sweep(now)
    },
    clear() {
      sentAt.clear()
      pairs.clear()
    },
  }
}
