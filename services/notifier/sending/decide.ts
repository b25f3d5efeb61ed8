import { type Classification, classify, nameScope } from '../messaging-api/classify.ts'
import { marketingStopped } from '../messaging-api/errors.ts'
import type { Accepted, Failed } from '../messaging-api/responses.ts'
import type { ClaimedMessage } from './message.ts'
import type { SendOutcome } from './outcomes.ts'
import { secondsToRetry, unknownMinutes } from './timing.ts'

/** A consequence of a response for more than its own message. */
export type Effect =
  | { kind: 'pause_channel'; code: number | null; reason: string }
  /** The number sends nothing for `seconds`. */
  | { kind: 'rest_channel'; code: number | null; seconds: number }
  | { kind: 'slow_channel' }
  | { kind: 'hold_template'; code: number }
  /** The recipient stopped marketing messages. */
  | { kind: 'stop_marketing'; code: number }
  /** A denial that pauses the channel after `limit` in a row. */
  | { kind: 'count_denial'; limit: number; code: number | null; reason: string }

export interface Decision {
  readonly outcome: SendOutcome
  readonly effects: readonly Effect[]
}

/** Decides the outcome of a message and the effects of its send's result. Pure. */
export const decide = (message: ClaimedMessage, result: Accepted | Failed, random: () => number): Decision => {
  switch (result.kind) {
    case 'accepted':
      return { outcome: accepted(message, result), effects: [] }
    case 'no_response':
      return { outcome: unknown(message, result.reason), effects: [] }
    case 'not_written':
      return { outcome: retry(message, random, { code: null, meaning: result.reason, wait: 0 }), effects: [] }
    case 'refused':
      return refused(message, classify(result, message.attempts), random)
  }
}

const accepted = (message: ClaimedMessage, { providerMessageId, messageStatus }: Accepted): SendOutcome => ({
  message,
  status: 'accepted',
  providerMessageId,
  isAttempt: false,
  ...(messageStatus !== 'accepted' && { detail: messageStatus }),
})

const unknown = (message: ClaimedMessage, reason: string): SendOutcome => ({
  message,
  status: 'unknown',
  isAttempt: false,
  dueSeconds: unknownMinutes * 60,
  detail: `${reason}: it may have been sent`,
})

interface Reason {
  readonly code: number | null
  readonly meaning: string
  /** Seconds that the API asks to wait. */
  readonly wait: number
}

/** Retries by the schedule while an attempt is left. */
const retry = (message: ClaimedMessage, random: () => number, { code, meaning, wait }: Reason): SendOutcome => {
  const seconds = secondsToRetry(message.attempts + 1, random, wait)
  if (seconds === undefined) return failed(message, code, meaning)
  return { ...again(message, code, meaning, seconds), isAttempt: true }
}

/** Sends again later, without using up an attempt. */
const again = (message: ClaimedMessage, code: number | null, meaning: string, dueSeconds: number): SendOutcome => ({
  message,
  status: 'queued',
  ...(code !== null && { code }),
  meaning,
  isAttempt: false,
  dueSeconds,
  detail: meaning,
})

const failed = (message: ClaimedMessage, code: number | null, meaning: string): SendOutcome => ({
  message,
  status: 'failed',
  ...(code !== null && { code }),
  meaning,
  isAttempt: true,
  detail: meaning,
})

const refused = (message: ClaimedMessage, cause: Classification, random: () => number): Decision => {
  const { code, meaning, delaySeconds } = cause
  if (cause.mayHaveBeenSent) return { outcome: unknown(message, meaning), effects: [] }
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
      : { kind: 'pause_channel', code, reason: nameScope(cause, 'messaging') }
    return { outcome: again(message, code, meaning, 0), effects: [effect] }
  }
  if (cause.slows === 'number') {
    const effects: Effect[] = [{ kind: 'slow_channel' }]
    if (delaySeconds) effects.push({ kind: 'rest_channel', code, seconds: delaySeconds })
    const dueSeconds = Math.max(1 + random() * 4, delaySeconds ?? 0)
    return { outcome: again(message, code, meaning, dueSeconds), effects }
  }
  if (cause.holdsNumber && delaySeconds) {
    const effect: Effect = { kind: 'rest_channel', code, seconds: delaySeconds }
    return { outcome: again(message, code, meaning, delaySeconds), effects: [effect] }
  }
  const wait = delaySeconds ?? 0
  if (cause.slows === 'recipient')
    return { outcome: { ...again(message, code, meaning, wait), isAttempt: true, restSeconds: wait }, effects: [] }
  const effects: Effect[] = []
  if (cause.pausesAfter) effects.push({ kind: 'count_denial', limit: cause.pausesAfter, code, reason: meaning })
  return { outcome: retry(message, random, { code, meaning, wait }), effects }
}
