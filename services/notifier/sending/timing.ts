/** Rates and waiting times of the queue. Every function here is pure. */

/** The token bucket of a number, as stored in the row of its channel. Each message costs one token. */
export interface TokenBucket {
  readonly rate: number
  /** Tokens left at `at`, fractional. */
  readonly tokens: number
  readonly at: Date
  /** The lowered rate and its time; set while the API asks for less. */
  readonly slowedRate: number | null
  readonly slowedAt: Date | null
}

/** A lowered rate doubles this often, until it reaches the number's own again. */
const recoverySeconds = 10

export const rateNow = ({ rate, slowedRate, slowedAt }: TokenBucket, now: Date): number => {
  if (slowedRate === null || slowedAt === null) return rate
  const doublings = Math.floor((now.getTime() - slowedAt.getTime()) / 1000 / recoverySeconds)
  return Math.min(rate, slowedRate * 2 ** Math.max(0, doublings))
}

/**
 * Returns how many messages may be sent now. The bucket holds a twentieth of a second's worth and refills more slowly
 * than the rate by as much, so that no one-second interval exceeds the rate.
 */
export const availableTokens = (bucket: TokenBucket, now: Date): number => {
  const rate = rateNow(bucket, now)
  const capacity = Math.max(1, rate / 20)
  const refillRate = Math.max(rate / 2, rate - capacity)
  const seconds = Math.max(0, now.getTime() - bucket.at.getTime()) / 1000
  return Math.min(capacity, bucket.tokens + seconds * refillRate)
}

/** Returns the seconds that a number pauses after error 130429: one to five. */
export const throttledSeconds = (random: () => number): number => 1 + random() * 4

/** Halves the rate after error 130429, to one a second at least, and pauses the number. */
export const slowDown = (bucket: TokenBucket, now: Date, random: () => number) => ({
  slowedRate: Math.max(1, rateNow(bucket, now) / 2),
  restSeconds: throttledSeconds(random),
})

/** The waits after the first, second, … failed send, in seconds (5 s, 30 s, 2 m, 10 m, 30 m, 2 h, 5 h). */
const waitSeconds = [5, 30, 120, 600, 1_800, 7_200, 18_000] as const

/**
 * Returns the seconds until the next send after `attempts` failed ones, or undefined when no send is left. Jitter adds
 * up to a fifth, so that messages that failed together are not retried together. Never sooner than the API's own
 * `retryAfterSeconds`.
 */
export const secondsToRetry = (attempts: number, random: () => number, retryAfterSeconds = 0): number | undefined => {
  const wait = waitSeconds[attempts - 1]
  return wait === undefined ? undefined : Math.max(wait * (1 + random() / 5), retryAfterSeconds)
}

/** A message without a response stays unknown; after this long no webhook is expected any more. */
export const unknownMinutes = 10

const slotMilliseconds = 100

/** Estimates the responses during a claim, and so how many messages keep the window full. */
export class ThroughputEstimate {
  #slotBegan = 0
  #responses = 0
  #responsesBefore = 0
  #claimMilliseconds = 0

  recordResponse(now: number): void {
    this.#advance(now)
    this.#responses++
  }

  recordClaim(milliseconds: number): void {
    // Forgets a slow claim gradually.
    this.#claimMilliseconds = Math.max(milliseconds, this.#claimMilliseconds * 0.9)
  }

  /** Returns the responses expected while the next messages are claimed. */
  expectedWhileClaiming(now: number): number {
    this.#advance(now)
    const perSlot = Math.max(this.#responses, this.#responsesBefore)
    return Math.ceil((perSlot * this.#claimMilliseconds) / slotMilliseconds)
  }

  #advance(now: number): void {
    const age = now - this.#slotBegan
    if (age < slotMilliseconds) return
    this.#responsesBefore = age < 2 * slotMilliseconds ? this.#responses : 0
    this.#responses = 0
    this.#slotBegan = now
  }
}
