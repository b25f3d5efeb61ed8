import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { LRUCache } from 'lru-cache'
import { type HttpError, httpError } from '../errors/errors.ts'
import { atMost } from '../lru-limit.ts'

const windowSeconds = 60

/** Bounds memory: beyond this many, the least recently seen caller is forgotten. */
const maxCallers = 20_000

interface Window {
  used: number
  endsAt: number
}

/** Limits each caller's requests in the minute that begins with its first request, in this process's memory. */
export class Limit {
  readonly max: number
  readonly #name: string
  readonly #policy: string
  readonly #now: () => number
  readonly #windows = new LRUCache<string, Window>(atMost(maxCallers))

  constructor(name: string, max: number, now: () => number = () => performance.now()) {
    this.max = max
    this.#name = `"${name}"`
    this.#policy = `"${name}";q=${max};w=${windowSeconds}`
    this.#now = now
  }

  /**
   * Counts a request of `caller`. `left` is negative when the request exceeds the limit; `seconds` is the
   * rest of the minute.
   */
  count(caller: string): { left: number; seconds: number } {
    // Rounds to whole milliseconds: with fractions, (now + 60000) - now may be a little over 60000, which ceil makes 61
    // seconds.
    const now = Math.floor(this.#now())
    let window = this.#windows.get(caller)
    if (window === undefined || window.endsAt <= now) {
      window = { used: 0, endsAt: now + windowSeconds * 1000 }
      this.#windows.set(caller, window)
    }
    window.used++
    return { left: this.max - window.used, seconds: Math.ceil((window.endsAt - now) / 1000) }
  }

  /** Subtracts one counted request. */
  giveBack(caller: string): void {
    const window = this.#windows.get(caller)
    if (window !== undefined && window.used > 0) window.used--
  }

  /** Returns for how many seconds `caller` has no request left; 0 when it has one. Counts nothing. */
  secondsSpent(caller: string): number {
    const window = this.#windows.get(caller)
    const milliseconds = window !== undefined && window.used >= this.max ? window.endsAt - this.#now() : 0
    return Math.max(0, Math.ceil(milliseconds / 1000))
  }

  /** Sets the rate limit headers (draft-ietf-httpapi-ratelimit-headers-11). */
  setHeaders(reply: FastifyReply, left: number, seconds: number): void {
    reply.header('ratelimit-policy', this.#policy)
    reply.header('ratelimit', `${this.#name};r=${Math.max(left, 0)};t=${seconds}`)
  }
}

export const rateLimited = (seconds: number): HttpError =>
  httpError('rate_limited', 'Too Many Attempts.', { retryAfterSeconds: seconds })

/** Counts a request of `caller` and sets the headers. Returns the refusal of a request over the limit. */
export const countRequest = (limit: Limit, caller: string, reply: FastifyReply): HttpError | undefined => {
  const { left, seconds } = limit.count(caller)
  limit.setHeaders(reply, left, seconds)
  return left < 0 ? rateLimited(seconds) : undefined
}

/** Refuses, as an onRequest hook, requests over the limit with 429. */
export const limitRequests =
  (limit: Limit, nameCaller: (request: FastifyRequest) => string): onRequestHookHandler =>
  (request, reply, done) =>
    done(countRequest(limit, nameCaller(request), reply))
