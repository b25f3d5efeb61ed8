import type { IncomingHttpHeaders } from 'node:http'
import type { Exchanged } from './exchange.ts'
import { matchText, parse, toInteger, toLine, toList, toRecord } from './read-json.ts'
import { userIdForm } from './user-id.ts'

/** The API accepted the message; webhooks report its delivery. */
export interface Accepted {
  readonly kind: 'accepted'
  readonly providerMessageId: string
  /** Is the other id of a recipient that the request named by one: a user id, or E.164 digits. */
  readonly contact?: { readonly phone: string; readonly userId: string } | undefined
  /** The API documents `accepted`, `held_for_quality_assessment` and `paused`. */
  readonly messageStatus: string
  /** Names the API version that served the request, such as v21.0; null when unknown. */
  readonly servedVersion: string | null
}

export interface Received<Value> {
  readonly kind: 'received'
  readonly value: Value
  readonly servedVersion: string | null
}

/** Describes a refusal by the API, or by a gateway in front of it. */
export interface Refused {
  readonly kind: 'refused'
  readonly status: number
  /** null means that the response has no valid code: it was not the API's own (HTML, empty) or was truncated. */
  readonly code: number | null
  readonly subcode: number | null
  /** Quotes the API, without texts of the request. */
  readonly details: string
  readonly isTransient: boolean
  readonly retryAfterSeconds: number | null
  readonly servedVersion: string | null
}

/** Describes a refusal about which the API says nothing but its code. */
export const bareRefusal = {
  subcode: null,
  details: '',
  isTransient: false,
  retryAfterSeconds: null,
  servedVersion: null,
}

/** `not_written`: not a byte was sent, and none will be. `no_response`: the outcome of the request is unknown. */
export type Failed = Refused | { readonly kind: 'not_written' | 'no_response'; readonly reason: string }

/**
 * Reads any response: `read` reads the value from a body, or returns undefined if the body lacks it. A success without
 * the value is `no_response`: the API acted but did not report the result. `carried` is removed from `details`.
 */
export const readResponse = <Value>(
  exchanged: Exchanged,
  read: (body: unknown) => Value | undefined,
  carried: readonly string[],
  now: Date,
): Received<Value> | Failed => {
  if (exchanged.kind !== 'response') return { kind: exchanged.kind, reason: exchanged.reason }
  const { status, headers, brokenBy } = exchanged
  const body = parse(exchanged.body.toString('utf8'))
  const error = toRecord(toRecord(body).error)
  const servedVersion = matchText(headers['facebook-api-version'], /^v\d{1,3}\.\d{1,3}$/) ?? null
  if (Object.keys(error).length > 0 || status >= 300) {
    // A truncated 4xx hides its code. It is a refusal all the same, and repeating the request is safe; but a gateway
    // that gave up waiting says no more in a page that is cut off or too large than in a whole one.
    const isCut = body === undefined && brokenBy !== null && status < 500 && status !== 408
    const isTransient = error.is_transient === true || isCut
    const read = { ...readError(error, carried), retryAfterSeconds: readWaitSeconds(headers, now) }
    return { kind: 'refused', status, isTransient, servedVersion, ...read }
  }
  if (brokenBy !== null) return { kind: 'no_response', reason: brokenBy }
  const value = read(body)
  if (value === undefined) return { kind: 'no_response', reason: 'a response that does not say what was done' }
  return { kind: 'received', value, servedVersion }
}

const readError = (error: Record<string, unknown>, carried: readonly string[]) => {
  const details = [toRecord(error.error_data).details, error.error_user_msg, error.message].find(
    value => typeof value === 'string' && value !== '',
  )
  return {
    code: toInteger(error.code) ?? null,
    subcode: toInteger(error.error_subcode) ?? null,
    details: conceal(String(details ?? ''), carried),
  }
}

/** Removes parts of the request that the API repeats ("Malformed access token EAAG…"). */
const conceal = (details: string, carried: readonly string[]): string => {
  const longestFirst = carried.filter(word => word.length > 2).sort((a, b) => b.length - a.length)
  return toLine(longestFirst.reduce((sentence, word) => sentence.replaceAll(word, '…'), details)) ?? ''
}

/** An id is text without blanks; the API sets no limit on its length (docs/contributors/messaging-api.md#accepted). */
const messageId = /^[\x21-\x7e]{1,1024}$/

export const readAcceptance = (
  body: unknown,
): Pick<Accepted, 'providerMessageId' | 'messageStatus' | 'contact'> | undefined => {
  const message = toRecord(toList(toRecord(body).messages)[0])
  const providerMessageId = matchText(message.id, messageId)
  if (providerMessageId === undefined) return undefined
  const { wa_id, user_id } = toRecord(toList(toRecord(body).contacts)[0])
  const phone = matchText(wa_id, /^\d{5,20}$/)
  const userId = matchText(user_id, userIdForm)
  const contact = phone !== undefined && userId !== undefined ? { phone, userId } : undefined
  return {
    providerMessageId,
    messageStatus: matchText(message.message_status, /^[a-z_]{1,64}$/) ?? 'accepted',
    contact,
  }
}

/** Reads `{"success": true}`; some of the API's own samples have "true" in quotes. */
export const readSuccess = (body: unknown): true | undefined =>
  toRecord(body).success === true || toRecord(body).success === 'true' || undefined

/** Caps longer waits: none that the API documents exceeds 72 hours. */
const longestSeconds = 72 * 3600

/**
 * Returns the wait that the API requests, in seconds: `Retry-After` (seconds or a date) or
 * `estimated_time_to_regain_access` (minutes) of `x-business-use-case-usage`, whichever is longer. Returns null when it
 * requests none. Never throws.
 */
export const readWaitSeconds = (headers: IncomingHttpHeaders, now: Date): number | null => {
  const usage = headers['x-business-use-case-usage']
  // A date counts by the clock that wrote it, if the response shows that clock.
  const since = Date.parse(headers.date ?? '') || now.getTime()
  const wait = Math.max(readDelay(headers['retry-after'], since), readUsage(Array.isArray(usage) ? usage[0] : usage))
  return wait > 0 ? Math.min(Math.ceil(wait), longestSeconds) : null
}

const readDelay = (header: string | undefined, since: number): number => {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  // Reads a date in HTTP's format; Date.parse alone would also read "-5" or "1.5".
  if (!/^[A-Z][a-z]{2}, /.test(text)) return 0
  return (Date.parse(text) - since) / 1000 || 0
}

/** Reads `{"<account>": [{"type": …, "estimated_time_to_regain_access": 7}]}` */
const readUsage = (usage: string | undefined): number => {
  const entries: unknown[] = Object.values(parse(usage ?? '') ?? {}).flat()
  const minutes = entries.map(entry => Object(entry).estimated_time_to_regain_access)
  return Math.max(0, ...minutes.filter(value => typeof value === 'number')) * 60
}
