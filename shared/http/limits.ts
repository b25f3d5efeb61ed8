import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { LRUCache } from 'lru-cache'
import { DomainError } from './errors.ts'

const windowSeconds = 60

/** Callers beyond this many are forgotten, the one seen longest ago first: memory stays bounded. */
const maxCallers = 20_000

interface Window {
  used: number
  endsAt: number
}

/** So many calls of one caller in a minute, counted from its first one, in the memory of this process. */
export class Limit {
  readonly max: number
  readonly #name: string
  readonly #policy: string
  readonly #now: () => number
  readonly #windows = new LRUCache<string, Window>({ max: maxCallers })

  constructor(name: string, max: number, now: () => number = Date.now) {
    this.max = max
    this.#name = `"${name}"`
    this.#policy = `"${name}";q=${max};w=${windowSeconds}`
    this.#now = now
  }

  /** Counts a call of `caller`. `left` is negative when it was one too many. */
  count(caller: string): { left: number; seconds: number } {
    const now = this.#now()
    let window = this.#windows.get(caller)
    if (window === undefined || window.endsAt <= now) {
      window = { used: 0, endsAt: now + windowSeconds * 1000 }
      this.#windows.set(caller, window)
    }
    window.used++
    return { left: this.max - window.used, seconds: Math.ceil((window.endsAt - now) / 1000) }
  }

  /** For how many seconds `caller` has no call left; 0 when it has. Counts nothing. */
  secondsSpent(caller: string): number {
    const window = this.#windows.get(caller)
    const milliseconds = window !== undefined && window.used >= this.max ? window.endsAt - this.#now() : 0
    return Math.max(0, Math.ceil(milliseconds / 1000))
  }

  /** Tells the caller where it stands (draft-ietf-httpapi-ratelimit-headers-11). */
  tell(reply: FastifyReply, left: number, seconds: number): void {
    reply.header('ratelimit-policy', this.#policy)
    reply.header('ratelimit', `${this.#name};r=${left > 0 ? left : 0};t=${seconds}`)
  }
}

export const tooManyCalls = (seconds: number): DomainError =>
  new DomainError('too_many_requests', 'Too Many Attempts.', { retryAfterSeconds: seconds })

/** An onRequest hook: one call too many of a caller is answered 429. */
export const limitCalls =
  (limit: Limit, callerOf: (request: FastifyRequest) => string): onRequestHookHandler =>
  (request, reply, done) => {
    const { left, seconds } = limit.count(callerOf(request))
    limit.tell(reply, left, seconds)
    done(left < 0 ? tooManyCalls(seconds) : undefined)
  }
