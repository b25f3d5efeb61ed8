import { type Classification, classify, nameScope } from '../messaging-api/classify.ts'
import { marketingStopped } from '../messaging-api/error-table.ts'
import type { Accepted, Failed } from '../messaging-api/responses.ts'
import type { ClaimedMessage } from './message.ts'
import type { SendOutcome } from './outcomes.ts'
import { secondsToRetry, unknownMinutes } from './timing.ts'

/** A consequence of a response for more than its own message. */
export type Effect =
  | { kind: 'pause_channel'; code: number | null; reason: string }
  | { kind: 'rest_channel'; code: number | null; seconds: number }
  | { kind: 'slow_channel' }
  | { kind: 'hold_template'; code: number }
  | { kind: 'stop_marketing'; code: number }
  /** A denial that pauses the channel after `limit` in a row. */
  | { kind: 'count_denial'; limit: number; code: number | null; reason: string }

interface Decision {
  readonly outcome: SendOutcome
  readonly effects: readonly Effect[]
}

/** Decides the outcome of a message and the effects of its send's result. Pure. */
export const decide = (message: ClaimedMessage, result: Accepted | Failed, random: () => number): Decision => {
  switch (result.kind) {
    case 'accepted':
      return decided(accepted(message, result))
    case 'no_response':
      return decided(unknown(message, result.reason))
    case 'not_written':
      return decided(retry(message, random, { code: null, meaning: result.reason }))
    case 'refused':
      return refused(message, classify(result, message.attempts), random)
  }
}

const decided = (outcome: SendOutcome, ...effects: Effect[]): Decision => ({ outcome, effects })

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

type Reason = Pick<Classification, 'code' | 'meaning'>

/** Retries by the schedule while an attempt is left, after `wait` seconds at least. */
const retry = (message: ClaimedMessage, random: () => number, reason: Reason, wait?: number): SendOutcome => {
  const seconds = secondsToRetry(message.attempts + 1, random, wait)
  if (seconds === undefined) return failed(message, reason)
  return { ...again(message, reason, seconds), isAttempt: true }
}

/** Sends again later, without using up an attempt. */
const again = (message: ClaimedMessage, { code, meaning }: Reason, dueSeconds: number): SendOutcome => ({
  message,
  status: 'queued',
  code,
  meaning,
  isAttempt: false,
  dueSeconds,
  detail: meaning,
})

const failed = (message: ClaimedMessage, { code, meaning }: Reason): SendOutcome => ({
  message,
  status: 'failed',
  code,
  meaning,
  isAttempt: true,
  detail: meaning,
})

const refused = (message: ClaimedMessage, cause: Classification, random: () => number): Decision => {
  const { code, meaning } = cause
  const wait = cause.delaySeconds ?? 0
  const rest = (seconds: number): Effect => ({ kind: 'rest_channel', code, seconds })
  if (cause.mayHaveBeenSent) return decided(unknown(message, meaning))
  if (cause.class === 'permanent')
    return decided(
      failed(message, cause),
      ...(code === marketingStopped ? [{ kind: 'stop_marketing', code } as const] : []),
    )
  if (cause.class === 'hold_template')
    return decided(failed(message, cause), { kind: 'hold_template', code: code ?? 0 })
  if (cause.class === 'pause_channel') {
    const pause: Effect = { kind: 'pause_channel', code, reason: nameScope(cause, 'messaging') }
    return decided(again(message, cause, 0), cause.pauseSeconds ? rest(cause.pauseSeconds) : pause)
  }
  if (cause.slows === 'number') {
    const dueSeconds = Math.max(1 + random() * 4, wait)
    return decided(again(message, cause, dueSeconds), { kind: 'slow_channel' }, ...(wait ? [rest(wait)] : []))
  }
  if (cause.holdsNumber && wait) return decided(again(message, cause, wait), rest(wait))
  if (cause.slows === 'recipient')
    return decided({ ...again(message, cause, wait), isAttempt: true, restSeconds: wait })
  const limit = cause.pausesAfter
  const denials: Effect[] = limit ? [{ kind: 'count_denial', limit, code, reason: meaning }] : []
  return decided(retry(message, random, cause, wait), ...denials)
}
