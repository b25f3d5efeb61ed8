import { type Delay, type ErrorClass, type ErrorEntry, findError } from './error-table.ts'
import { bareRefusal, type Refused } from './responses.ts'

/** Describes a failure as a response or a webhook reports it; a webhook has no HTTP status. */
export type Failure = Pick<Refused, 'code' | 'subcode' | 'isTransient' | 'retryAfterSeconds'> & {
  readonly status: number | null
}

export interface Classification {
  readonly class: ErrorClass
  readonly code: number | null
  readonly meaning: string
  readonly advice: string
  /** Counts the seconds until the next attempt; null means the queue's own schedule. */
  readonly delaySeconds: number | null
  /** The delay applies to every message of the number. */
  readonly holdsNumber: boolean
  /** Limits the retries; null means that the queue's schedule does. `class` is `permanent` once they are used up. */
  readonly maxRetries: number | null
  readonly slows: 'number' | 'recipient' | null
  /** The channel is paused after this many failures in a row; null means never. */
  readonly pausesAfter: number | null
  /** Ends the pause after this many seconds; null means that an operator or a successful check ends it. */
  readonly pauseSeconds: number | null
  /** A gateway responded in place of the API, which may have accepted the message: a retry may send it twice. */
  readonly mayHaveBeenSent: boolean
}

/** Says how to handle a failure of a message after `retries` retries. */
export const classify = (failure: Failure, retries = 0): Classification => {
  const { code, subcode } = failure
  const entry = code === null ? undefined : findError(code, subcode)
  return entry ? classifyListed(entry, failure, retries) : classifyByStatus(failure)
}

/** Says how to handle a failure of which only the code is known, as a webhook reports it. */
export const classifyCode = (code: number | null): Classification => classify({ ...bareRefusal, status: null, code })

export type Scope = 'messaging' | 'management'
export const scopeName = (scope: Scope): string => `whatsapp_business_${scope}`

/** Returns what a failure means; if a permission is missing, names the scope that the request needs. */
export const nameScope = ({ code, meaning }: Pick<Classification, 'code' | 'meaning'>, scope: Scope): string =>
  code === 3 || code === 10 || code === 131005 || (code !== null && code >= 200 && code <= 299)
    ? `${meaning} It needs the scope ${scopeName(scope)}.`
    : meaning

/** Says what a refused request about an account means and what to do. */
export const wordRefusal = (refused: Refused): string => {
  const cause = classify(refused)
  const name = refused.code === null ? `HTTP ${refused.status}` : `code ${refused.code}`
  return `${name}: ${nameScope(cause, 'management')} ${cause.advice}`
}

const usual = {
  holdsNumber: false,
  maxRetries: null,
  slows: null,
  pausesAfter: null,
  pauseSeconds: null,
  mayHaveBeenSent: false,
}

const classifyListed = (entry: ErrorEntry, { code, retryAfterSeconds }: Failure, retries: number): Classification => {
  const { code: _, lastCode, subcode, delay, ...rest } = entry
  return {
    ...usual,
    ...rest,
    class: retries >= (entry.maxRetries ?? Infinity) ? 'permanent' : entry.class,
    code,
    delaySeconds: retryAfterSeconds ?? (delay === undefined ? null : computeSeconds(delay, retries)),
    pausesAfter: entry.class === 'pause_channel' ? 1 : null,
  }
}

const computeSeconds = (delay: Delay, retries: number): number => {
  if (delay === 'usage_header') return 900 * 2 ** Math.min(retries, 2)
  if (delay === 'powers_of_four') return 4 ** Math.min(retries, 4)
  return delay === 'named_in_details' ? 3_600 : delay
}

const retrying = 'Nothing to do: the notifier retries.'
const lookUp = "Look the code up in the API's own list of errors."

/** Classifies a failure without a code, or with one that is not in the table, by its HTTP status. */
const classifyByStatus = ({ status, code, isTransient, retryAfterSeconds }: Failure): Classification => {
  const name = code === null ? 'without a code' : 'with an unknown code'
  const isDenied = !isTransient && (status === 401 || status === 403)
  const passes = isTransient || status === 429 || (status ?? 0) >= 500
  const http = status ? ` (HTTP ${status})` : ''
  return {
    ...usual,
    // The token or the message may cause a denial: only a series shows which. Until then nothing fails for good.
    class: passes || isDenied ? 'retry' : 'permanent',
    code,
    meaning: `The API ${passes ? 'failed or was too busy' : 'refused it'}, ${name}${http}.`,
    advice: isDenied ? 'Run the check of the channel.' : passes ? retrying : lookUp,
    delaySeconds: retryAfterSeconds,
    holdsNumber: status === 429,
    pausesAfter: isDenied ? 3 : null,
    mayHaveBeenSent: code === null && !isTransient && isGatewayTimeout(status ?? 0),
  }
}

const isGatewayTimeout = (status: number): boolean => [408, 502, 504].includes(status) || status >= 520
