import type { Exchanged } from './exchange.ts'
import { integer, list, parse, record, text } from './read-json.ts'
import { retryAfterSeconds } from './retry-after.ts'

/** The API took the message; whether it arrives, webhooks tell. */
export interface Accepted {
  readonly kind: 'accepted'
  readonly providerMessageId: string
  /** `accepted`, `held_for_quality_assessment`, `paused`. */
  readonly messageStatus: string
  /** The API version that answered, such as v21.0; null when it was not told. */
  readonly servedVersion: string | null
}

export interface Registered {
  readonly kind: 'registered'
  readonly servedVersion: string | null
}

/** What a question was answered with. */
export interface Answered<Value> {
  readonly kind: 'answered'
  readonly value: Value
  readonly servedVersion: string | null
}

/** The API, or a gateway before it, said no. */
export interface Refused {
  readonly kind: 'refused'
  readonly status: number
  /** null: the answer was not one of the API's own (HTML, empty, cut off). */
  readonly code: number | null
  readonly subcode: number | null
  /** In the API's words, without what the call carried. */
  readonly details: string
  readonly isTransient: boolean
  readonly retryAfterSeconds: number | null
  readonly servedVersion: string | null
}

/** Not a byte of the call left, and none will: it may be repeated. */
export interface NotWritten {
  readonly kind: 'not_written'
  readonly reason: string
}

/** It was written, and nobody knows what became of it. */
export interface NoAnswer {
  readonly kind: 'no_answer'
  readonly reason: string
}

export type Failed = Refused | NotWritten | NoAnswer

/**
 * Reads an answer, whatever it is: `read` takes the value from a body, or gives undefined when it is not there. A success
 * without the value is `no_answer`: the API did something, and did not say what. `carried` is taken out of `details`.
 */
export const readAnswer = <Value>(
  exchanged: Exchanged,
  read: (body: unknown) => Value | undefined,
  carried: readonly string[],
  now: Date,
): Answered<Value> | Failed => {
  if (exchanged.kind !== 'answer') return { kind: exchanged.kind, reason: exchanged.reason }
  const { status, headers, brokenBy } = exchanged
  const body = parse(exchanged.body)
  const error = record(record(body).error)
  const servedVersion = text(headers['facebook-api-version'], /^v\d{1,3}\.\d{1,3}$/) ?? null
  if (Object.keys(error).length > 0 || status >= 300) {
    // An error that was cut off hides its code. It was a refusal all the same, and repeating it does no harm.
    const isTransient = error.is_transient === true || (body === undefined && brokenBy !== null)
    const wait = retryAfterSeconds(headers, now)
    return {
      kind: 'refused',
      status,
      ...readError(error, carried),
      isTransient,
      retryAfterSeconds: wait,
      servedVersion,
    }
  }
  if (brokenBy !== null) return { kind: 'no_answer', reason: brokenBy }
  const value = read(body)
  if (value === undefined) return { kind: 'no_answer', reason: 'an answer that does not say what was done' }
  return { kind: 'answered', value, servedVersion }
}

const readError = (error: Record<string, unknown>, carried: readonly string[]) => {
  const details = [record(error.error_data).details, error.error_user_msg, error.message].find(
    value => typeof value === 'string' && value !== '',
  )
  return {
    code: integer(error.code) ?? null,
    subcode: integer(error.error_subcode) ?? null,
    details: conceal(String(details ?? ''), carried),
  }
}

const longestDetails = 500

/** The API repeats what it was sent ("Malformed access token EAAG…"): that is blotted out. */
const conceal = (details: string, carried: readonly string[]): string => {
  const longestFirst = carried.filter(word => word.length > 2).sort((a, b) => b.length - a.length)
  const concealed = longestFirst.reduce((sentence, word) => sentence.replaceAll(word, '…'), details)
  return concealed
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, longestDetails)
}

/** An id is text without blanks, of a length that the API does not limit (messaging-api.md 1.4). */
const messageId = /^[\x21-\x7e]{1,1024}$/

export const readAcceptance = (body: unknown): Pick<Accepted, 'providerMessageId' | 'messageStatus'> | undefined => {
  const message = record(list(record(body).messages)[0])
  const providerMessageId = text(message.id, messageId)
  if (providerMessageId === undefined) return undefined
  return { providerMessageId, messageStatus: text(message.message_status, /^[a-z_]{1,64}$/) ?? 'accepted' }
}

/** `{"success": true}`; some of the API's own samples write the word. */
export const readSuccess = (body: unknown): true | undefined =>
  record(body).success === true || record(body).success === 'true' || undefined
