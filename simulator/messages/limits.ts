import { GraphError } from '../graph/errors.ts'

/**
 * The window is a little shorter than a second, so that network jitter causes no refusal of a client that sends at
 * exactly the rate.
 */
const windowMs = 900

/** The throughput limits of docs/contributors/messaging-api.md#rate-limits. Only accepted messages count. */
export interface Limits {
  /** Throws 130429 beyond `perSecond` messages of a number in any 900 ms; 0 is no limit. */
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
