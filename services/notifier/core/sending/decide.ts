import { type Classification, classify, nameScope } from '../messaging-api/classify.ts'
import { marketingStopped } from '../messaging-api/error-table.ts'
import type { Accepted, Failed } from '../messaging-api/responses.ts'
import type { ClaimedMessage } from './message.ts'
import type { SendOutcome } from './outcomes.ts'
import { chooseRest } from './rate-limit.ts'

/** Describes an effect of a response beyond its own message. */
export type Effect =
  | { kind: 'pause_channel'; code: number | null; reason: string }
  | { kind: 'rest_channel'; code: number | null; seconds: number }
  | { kind: 'slow_channel' }
  | { kind: 'hold_template'; code: number }
  | { kind: 'stop_marketing'; code: number }
  /** Pauses the channel after `limit` denials in a row. */
  | { kind: 'count_denial'; limit: number; code: number | null; reason: string }

interface Decision {
  readonly outcome: SendOutcome
  readonly effects: readonly Effect[]
}

/** Decides the outcome of a message and the effects of the result of its send. */
export const decide = (message: ClaimedMessage, result: Accepted | Failed, random: () => number): Decision => {
  if (result.kind === 'accepted') return toDecision(toAccepted(message, result))
  if (result.kind === 'no_response') return toDecision(toUnknown(message, result.reason))
  if (result.kind === 'refused') return decideRefused(message, classify(result, message.attempts), random)
  return toDecision(retry(message, random, { code: null, meaning: result.reason }))
}

const toDecision = (outcome: SendOutcome, ...effects: Effect[]): Decision => ({ outcome, effects })

const toAccepted = (message: ClaimedMessage, { providerMessageId, messageStatus }: Accepted): SendOutcome => {
  const detail = messageStatus === 'accepted' ? {} : { detail: messageStatus }
  return { message, status: 'accepted', isAttempt: false, providerMessageId, ...detail }
}

/** Limits the wait for a webhook about a message without a response; after it the message stays unknown. */
export const unknownMinutes = 10

const toUnknown = (message: ClaimedMessage, reason: string): SendOutcome => {
  const detail = `${reason}: it may have been sent`
  return { message, status: 'unknown', isAttempt: false, dueSeconds: unknownMinutes * 60, detail }
}

/** Lists the seconds to wait after the first, second, … failed send (5 s, 30 s, 2 m, 10 m, 30 m, 2 h, 5 h). */
const waitSeconds = [5, 30, 120, 600, 1_800, 7_200, 18_000] as const

/**
 * Returns the seconds until the next send after `attempts` failed ones, or undefined when no send is left. Jitter adds
 * up to a fifth, so that messages that failed together are not retried together. The wait is never shorter than the
 * API's own `retryAfterSeconds`.
 */
export const findRetryWait = (attempts: number, random: () => number, retryAfterSeconds = 0): number | undefined => {
  const wait = waitSeconds[attempts - 1]
  return wait === undefined ? undefined : Math.max(wait * (1 + random() / 5), retryAfterSeconds)
}

type Reason = Pick<Classification, 'code' | 'meaning'>

/** Retries on schedule while an attempt is left, after at least `wait` seconds. */
const retry = (message: ClaimedMessage, random: () => number, reason: Reason, wait?: number): SendOutcome => {
  const seconds = findRetryWait(message.attempts + 1, random, wait)
  if (seconds === undefined) return toFailed(message, reason)
  return { ...queueAgain(message, reason, seconds), isAttempt: true }
}

/** Queues the message again for later, without using up an attempt. */
const queueAgain = (message: ClaimedMessage, { code, meaning }: Reason, dueSeconds: number): SendOutcome => {
  return { message, status: 'queued', isAttempt: false, dueSeconds, code, meaning, detail: meaning }
}

const toFailed = (message: ClaimedMessage, { code, meaning }: Reason): SendOutcome => {
  return { message, status: 'failed', isAttempt: true, code, meaning, detail: meaning }
}

/** Returns what a failure of its class does to the template or the number; undefined: nothing. */
export const findLastingEffect = ({ class: what, code, pauseSeconds }: Classification, reason: string) => {
  if (what === 'hold_template') return { kind: 'hold_template', code: code ?? 0 } as const
  if (what !== 'pause_channel') return undefined
  return pauseSeconds
    ? ({ kind: 'rest_channel', code, seconds: pauseSeconds } as const)
    : ({ kind: 'pause_channel', code, reason } as const)
}

const decideRefused = (message: ClaimedMessage, cause: Classification, random: () => number): Decision => {
  const { code, meaning } = cause
  const wait = cause.delaySeconds ?? 0
  if (cause.mayHaveBeenSent) return toDecision(toUnknown(message, meaning))
  if (code === marketingStopped) return toDecision(toFailed(message, cause), { kind: 'stop_marketing', code })
  if (cause.class === 'permanent') return toDecision(toFailed(message, cause))
  const lasting = findLastingEffect(cause, nameScope(cause, 'messaging'))
  if (lasting)
    return toDecision(
      lasting.kind === 'hold_template' ? toFailed(message, cause) : queueAgain(message, cause, 0),
      lasting,
    )
  const rest = (seconds: number): Effect => ({ kind: 'rest_channel', code, seconds })
  if (cause.slows === 'number') {
    const dueSeconds = Math.max(chooseRest(random), wait)
    return toDecision(queueAgain(message, cause, dueSeconds), { kind: 'slow_channel' }, ...(wait ? [rest(wait)] : []))
  }
  if (cause.holdsNumber && wait) return toDecision(queueAgain(message, cause, wait), rest(wait))
  if (cause.slows === 'recipient')
    return toDecision({ ...queueAgain(message, cause, wait), isAttempt: true, restSeconds: wait })
  const limit = cause.pausesAfter
  const denials: Effect[] = limit ? [{ kind: 'count_denial', limit, code, reason: meaning }] : []
  return toDecision(retry(message, random, cause, wait), ...denials)
}
