import type { Clock } from '@courier/shared/postgres/clock.ts'
import { wordReason } from '@courier/shared/service-client.ts'
import { type Dispatcher, request } from 'undici'
import { findUrlProblem, privateProblem, refusedCode } from './addresses.ts'
import { readRetryAfter } from './schedule.ts'
import { signHeaders } from './secrets.ts'
import { type Attempt, isSuccess } from './settle.ts'

interface Message {
  readonly url: string
  /** Holds the secrets, each of which signs the message. */
  readonly secrets: readonly string[]
  readonly messageId: string
  readonly body: string
}

export interface PostOptions {
  readonly dispatcher: Dispatcher
  /** Allows http and private networks, for development. */
  readonly allowsPrivate: boolean
  readonly clock: Clock
}

/** Limits the time of a request, including its response. */
export const requestMilliseconds = 10_000
const keptBytes = 1_024

export const none: Attempt = { code: null, milliseconds: 0, error: null, responseBody: null, retryAfter: 0 }

/** Delivers a message in another way than by a webhook. Rejects only when `aborted` aborts. */
export type Deliver = (
  options: PostOptions,
  message: Message & { readonly tenant: string; readonly endpointId: string },
  aborted?: AbortSignal,
) => Promise<Attempt>

const targets = new Map<string, Deliver>([['webhook', (...args) => sendOnce(...args)]])

/** Adds a way to deliver events, which endpoints name as their target. Runs as a capability loads. */
export const addTarget = (name: string, deliver: Deliver): void => void targets.set(name, deliver)

export const deliverTo = (target: string): Deliver =>
  targets.get(target) ?? (async () => ({ ...none, error: `this process does not deliver to a ${target}` }))

/** Signs a message and sends it once. Rejects only when `aborted` aborts; the outcome is then unknown. */
export const sendOnce = async (
  { dispatcher, allowsPrivate, clock }: PostOptions,
  { url, secrets, messageId, body }: Message,
  aborted?: AbortSignal,
): Promise<Attempt> => {
  // The URL was checked when it was stored, but the setting may have changed since.
  const problem = findUrlProblem(url, allowsPrivate)
  if (problem !== undefined) return { ...none, error: `the url ${problem}` }
  const limit = AbortSignal.timeout(requestMilliseconds)
  const signal = aborted ? AbortSignal.any([aborted, limit]) : limit
  // Receivers refuse a time that is minutes off. Uses this machine's clock while Postgres does not respond.
  const at = await clock().catch(() => new Date())
  const headers = signHeaders(secrets, messageId, body, at)
  const started = performance.now()
  const elapsedMilliseconds = () => Math.round(performance.now() - started)
  try {
    const response = await request(url, { dispatcher, method: 'POST', headers, body, signal })
    const { statusCode: code } = response
    const responseBody = await readStart(response.body)
    // A date in Retry-After is relative to the clock of the server that wrote it.
    const readAt = Date.parse(String(response.headers.date)) || at.getTime()
    const retryAfter = isSuccess(code) ? 0 : readRetryAfter(response.headers['retry-after'], readAt)
    return { code, milliseconds: elapsedMilliseconds(), error: null, responseBody, retryAfter }
  } catch (error) {
    aborted?.throwIfAborted()
    const isRefused = (error as { code?: unknown }).code === refusedCode
    const reason = isRefused ? `the address ${privateProblem}` : wordReason(error)
    return { ...none, milliseconds: elapsedMilliseconds(), error: reason }
  }
}

/** Returns the first bytes as text that Postgres can store; does not read the rest. */
const readStart = async (body: Dispatcher.ResponseData['body']): Promise<string | null> => {
  const parts: Buffer[] = []
  let bytes = 0
  // The status counts even if reading the body fails.
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
