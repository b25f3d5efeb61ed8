/**
 * Limits the rate of a number and chooses its pause after error 130429. The row of its channel stores the bucket. Each
 * message costs one token.
 */
export interface TokenBucket {
  readonly rate: number
  /** Counts the tokens left at `at`, including fractions of a token. */
  readonly tokens: number
  readonly at: Date
  /** Hold the lowered rate and its start, once the API has asked for a lower rate. */
  readonly slowedRate: number | null
  readonly slowedAt: Date | null
}

/** A lowered rate doubles at this interval, until it reaches the number's own rate again. */
const recoverySeconds = 10

export const computeRate = ({ rate, slowedRate, slowedAt }: TokenBucket, now: Date): number => {
  if (slowedRate === null || slowedAt === null) return rate
  const doublings = Math.floor((now.getTime() - slowedAt.getTime()) / 1000 / recoverySeconds)
  return Math.min(rate, slowedRate * 2 ** Math.max(0, doublings))
}

/**
 * Returns how many messages may be sent now. The bucket holds a twentieth of a second's worth, but at least one
 * message. It refills more slowly than the rate by that much, but at least at half the rate, so that no one-second
 * interval exceeds the rate.
 */
export const countTokens = (bucket: TokenBucket, now: Date): number => {
  const rate = computeRate(bucket, now)
  const capacity = Math.max(1, rate / 20)
  const refillRate = Math.max(rate / 2, rate - capacity)
  const seconds = Math.max(0, now.getTime() - bucket.at.getTime()) / 1000
  return Math.min(capacity, bucket.tokens + seconds * refillRate)
}

/** Chooses the seconds that a number rests after error 130429: one to five. */
export const chooseRest = (random: () => number): number => 1 + random() * 4

/** Returns half the rate, but at least one message a second, and the rest of the number after error 130429. */
export const slowDown = (bucket: TokenBucket, now: Date, random: () => number) => ({
  slowedRate: Math.max(1, computeRate(bucket, now) / 2),
  restSeconds: chooseRest(random),
})
