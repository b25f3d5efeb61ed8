import { GraphError } from '../graph/errors.ts'

/** A window a little shorter than the second: who sends exactly the rate is not refused for the network's jitter. */
const windowMs = 900

/** The throughput of docs/contributors/messaging-api.md#rate-limits. Only messages that pass count. */
export interface Limits {
  /** At most `perSecond` messages of a number in any 900 ms, else throws 130429; 0 is no limit. */
  takeThroughput(phoneNumberId: string, perSecond: number, now: number): void
}

export const createLimits = (): Limits => {
  const sentAt = new Map<string, { times: number[]; next: number }>()
  return {
    takeThroughput(phoneNumberId, perSecond, now) {
      if (perSecond === 0) return
      let recent = sentAt.get(phoneNumberId)
      if (recent?.times.length !== perSecond) {
        recent = { times: new Array(perSecond).fill(0), next: 0 }
        sentAt.set(phoneNumberId, recent)
      }
      if (now - (recent.times[recent.next] ?? 0) < windowMs) throw new GraphError(130429)
      recent.times[recent.next] = now
      recent.next = (recent.next + 1) % perSecond
    },
  }
}
