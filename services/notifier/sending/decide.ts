import { type Classification, classify } from '../messaging-api/classify.ts'
import { marketingStopped } from '../messaging-api/errors.ts'
import type { Accepted, Failed } from '../messaging-api/responses.ts'
import type { ClaimedMessage } from './claim.ts'
import type { Outcome } from './outcomes.ts'
import { nextAttempt, unknownMinutes } from './timing.ts'

/** A consequence of a response for more than its own message. */
export type Effect =
  | { kind: 'pause_channel'; code: number | null; reason: string }
  /** The number sends nothing for `seconds`. */
  | { kind: 'rest_channel'; code: number | null; seconds: number }
  | { kind: 'slow_channel' }
  /** Nothing is sent to the recipient for `seconds`. */
  | { kind: 'rest_recipient'; seconds: number }
  | { kind: 'hold_template'; code: number }
  /** The recipient stopped marketing messages. */
  | { kind: 'stop_marketing'; code: number }
  /** A denial that pauses the channel after `limit` in a row. */
  | { kind: 'count_denial'; limit: number; code: number | null; reason: string }

export interface Decision {
  readonly outcome: Outcome
  readonly effects: readonly Effect[]
}

/** The outcome of a message and the effects of its send's result. Pure. */
export const decide = (
  message: ClaimedMessage,
  result: Accepted | Failed,
  now: Date,
  random: () => number,
): Decision => {
  switch (result.kind) {
    case 'accepted':
      return { outcome: accepted(message, result), effects: [] }
    case 'no_response':
      return { outcome: unknown(message, result.reason, now), effects: [] }
    case 'not_written':
      return { outcome: retry(message, now, random, { code: null, meaning: result.reason, wait: 0 }), effects: [] }
    case 'refused':
      return refused(message, classify(result, message.attempts), now, random)
  }
}

const accepted = (message: ClaimedMessage, { providerMessageId, messageStatus }: Accepted): Outcome => ({
  message,
  status: 'accepted',
  providerMessageId,
  isAttempt: false,
  ...(messageStatus !== 'accepted' && { detail: messageStatus }),
})

const unknown = (message: ClaimedMessage, reason: string, now: Date): Outcome => ({
  message,
  status: 'unknown',
  isAttempt: false,
  dueAt: new Date(now.getTime() + unknownMinutes * 60_000),
  detail: `${reason}: it may have been sent`,
})

interface Reason {
  readonly code: number | null
  readonly meaning: string
  /** Seconds that the API asks to wait. */
  readonly wait: number
}

/** Again by the schedule while an attempt is left. */
const retry = (message: ClaimedMessage, now: Date, random: () => number, { code, meaning, wait }: Reason): Outcome => {
  const dueAt = nextAttempt(message.attempts + 1, now, random, wait)
  return dueAt ? { ...again(message, code, meaning, dueAt), isAttempt: true } : failed(message, code, meaning)
}

/** Again later, without using up an attempt. */
const again = (message: ClaimedMessage, code: number | null, meaning: string, dueAt: Date): Outcome => ({
  message,
  status: 'queued',
  ...(code !== null && { code }),
  meaning,
  isAttempt: false,
  dueAt,
  detail: meaning,
})

const failed = (message: ClaimedMessage, code: number | null, meaning: string): Outcome => ({
  message,
  status: 'failed',
  ...(code !== null && { code }),
  meaning,
  isAttempt: true,
  detail: meaning,
})

const refused = (message: ClaimedMessage, cause: Classification, now: Date, random: () => number): Decision => {
  const { code, meaning, delaySeconds } = cause
  const after = (seconds: number): Date => new Date(now.getTime() + seconds * 1000)
  if (cause.mayHaveBeenSent) return { outcome: unknown(message, meaning, now), effects: [] }
  if (cause.class === 'permanent') {
    const effects: Effect[] = code === marketingStopped ? [{ kind: 'stop_marketing', code }] : []
    return { outcome: failed(message, code, meaning), effects }
  }
  if (cause.class === 'hold_template')
    return { outcome: failed(message, code, meaning), effects: [{ kind: 'hold_template', code: code ?? 0 }] }
  if (cause.class === 'pause_channel') {
    const { pauseSeconds } = cause
    const effect: Effect = pauseSeconds
      ? { kind: 'rest_channel', code, seconds: pauseSeconds }
      : { kind: 'pause_channel', code, reason: meaning }
    return { outcome: again(message, code, meaning, now), effects: [effect] }
  }
  if (cause.slows === 'number') {
    const effects: Effect[] = [{ kind: 'slow_channel' }]
    if (delaySeconds) effects.push({ kind: 'rest_channel', code, seconds: delaySeconds })
    const dueAt = after(Math.max(1 + random() * 4, delaySeconds ?? 0))
    return { outcome: again(message, code, meaning, dueAt), effects }
  }
  if (cause.holdsNumber && delaySeconds) {
    const effect: Effect = { kind: 'rest_channel', code, seconds: delaySeconds }
    return { outcome: again(message, code, meaning, after(delaySeconds)), effects: [effect] }
  }
  const wait = delaySeconds ?? 0
  const effects: Effect[] = []
  if (cause.slows === 'recipient') {
    effects.push({ kind: 'rest_recipient', seconds: wait })
    return { outcome: { ...again(message, code, meaning, after(wait)), isAttempt: true }, effects }
  }
  if (cause.pausesAfter) effects.push({ kind: 'count_denial', limit: cause.pausesAfter, code, reason: meaning })
  return { outcome: retry(message, now, random, { code, meaning, wait }), effects }
}
