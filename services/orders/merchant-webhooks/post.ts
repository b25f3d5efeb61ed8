import type { Clock } from '@courier/shared/postgres/clock.ts'
import { reasonOf } from '@courier/shared/service-client.ts'
import { type Dispatcher, request } from 'undici'
import { privateProblem, refusedCode, urlProblem } from './addresses.ts'
import { readRetryAfter } from './schedule.ts'
import { headersOf } from './secrets.ts'

/** The result of a request. */
export interface Attempt {
  /** null: there was no response, and `error` says why. */
  readonly code: number | null
  readonly milliseconds: number
  readonly error: string | null
  /** The beginning of the response's body. */
  readonly responseBody: string | null
  /** Seconds for which the endpoint wants to get nothing. */
  readonly retryAfter: number
}

interface Message {
  readonly url: string
  /** Each signs. */
  readonly secrets: readonly string[]
  readonly messageId: string
  readonly body: string
}

interface PostOptions {
  readonly dispatcher: Dispatcher
  readonly allowsPrivate: boolean
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** The limit of a request, its response included. */
export const requestMilliseconds = 10_000
const keptBytes = 1_024

const none = { code: null, milliseconds: 0, error: null, responseBody: null, retryAfter: 0 }

/** Signs a message and sends it once. Never rejects, except when `signal` aborts: then nothing is known. */
export const sendOnce = async (
  { dispatcher, allowsPrivate, clock, signal }: PostOptions,
  { url, secrets, messageId, body }: Message,
): Promise<Attempt> => {
  // It was checked when it was stored: the setting may have changed.
  const problem = urlProblem(url, allowsPrivate)
  if (problem !== undefined) return { ...none, error: `the url ${problem}` }
  const limited = AbortSignal.any([signal, AbortSignal.timeout(requestMilliseconds)])
  // Receivers refuse a time that is minutes off. While Postgres does not respond our own clock has to do.
  const at = await clock().catch(() => new Date())
  const headers = headersOf(secrets, messageId, body, at)
  const started = performance.now()
  const elapsedMilliseconds = () => Math.round(performance.now() - started)
  try {
    const response = await request(url, { dispatcher, method: 'POST', headers, body, signal: limited })
    const { statusCode: code } = response
    const responseBody = await readStart(response.body)
    // A date is counted by the clock that wrote it.
    const readAt = Date.parse(String(response.headers.date)) || at.getTime()
    const retryAfter = readRetryAfter(response.headers['retry-after'], readAt)
    return {
      ...none,
      code,
      milliseconds: elapsedMilliseconds(),
      responseBody,
      retryAfter: isSuccess(code) ? 0 : retryAfter,
    }
  } catch (error) {
    signal.throwIfAborted()
    const isRefused = (error as { code?: unknown }).code === refusedCode
    return {
      ...none,
      milliseconds: elapsedMilliseconds(),
      error: isRefused ? `the address ${privateProblem}` : reasonOf(error),
    }
  }
}

export const isSuccess = (code: number | null): boolean => code !== null && code >= 200 && code < 300

/** The first bytes as text that Postgres stores; the rest is not read. */
const readStart = async (body: Dispatcher.ResponseData['body']): Promise<string | null> => {
  const parts: Buffer[] = []
  let bytes = 0
  // A status counts, whatever becomes of the body.
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      parts.push(part)
      bytes += part.length
      if (bytes >= keptBytes) break
    }
  } catch {}
  const text = Buffer.concat(parts).subarray(0, keptBytes).toString('utf8').replaceAll('\0', '\u{fffd}')
  return text === '' ? null : text
}
