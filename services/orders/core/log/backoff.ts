const firstMilliseconds = 500
const longestMilliseconds = 30_000

/**
 * Returns the milliseconds to wait after this many failures in a row: exponential back-off up to 30 s, of which jitter
 * takes off at most half.
 */
export const backoffAfter = (failures: number, random: () => number): number => {
  const longest = Math.min(longestMilliseconds, firstMilliseconds * 2 ** (failures - 1))
  return longest * (1 - random() / 2)
}
