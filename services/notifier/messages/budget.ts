/** A number's sending rate, as its channel's row holds it. */
export interface Budget {
  /** Messages per second. */
  readonly rate: number
  /** What may still be sent at `at`. */
  readonly budget: number
  readonly at: Date
  /** Set while the API asks for less: the lowered rate and since when. */
  readonly slowedRate: number | null
  readonly slowedAt: Date | null
}

/** The API's limit is eased by doubling the lowered rate this often, until the number's own is reached. */
const easeSeconds = 10

/** Messages per second that the number may send now. */
export const rateNow = ({ rate, slowedRate, slowedAt }: Budget, now: Date): number => {
  if (slowedRate === null || slowedAt === null) return rate
  const eased = Math.floor((now.getTime() - slowedAt.getTime()) / 1000 / easeSeconds)
  return Math.min(rate, slowedRate * 2 ** Math.max(0, eased))
}

/**
 * How many messages may leave now. A twentieth of a second's worth may come at once and the rest drips in more slowly
 * by as much, so that no second, wherever it begins, has more than the rate.
 */
export const allowance = (budget: Budget, now: Date): number => {
  const rate = rateNow(budget, now)
  const burst = Math.max(1, rate / 20)
  const drip = Math.max(rate / 2, rate - burst)
  const seconds = Math.max(0, now.getTime() - budget.at.getTime()) / 1000
  return Math.min(burst, budget.budget + seconds * drip)
}

/** After 130429: half of what was allowed, at least one a second, and nothing at all for one to five seconds. */
export const slowDown = (budget: Budget, now: Date, random: () => number) => ({
  slowedRate: Math.max(1, rateNow(budget, now) / 2),
  slowedAt: now,
  notBefore: new Date(now.getTime() + 1_000 + random() * 4_000),
})
