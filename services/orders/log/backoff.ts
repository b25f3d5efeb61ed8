const firstMilliseconds = 500
const longestMilliseconds = 30_000

/**
 * Exponential backoff with jitter: milliseconds to wait after so many failures in a row, up to 30 s, at least half of
 * that.
 */
export const backoffAfter = (failures: number, random: () => number): number => {
  const longest = Math.min(longestMilliseconds, firstMilliseconds * 2 ** (failures - 1))
  return longest * (1 - random() / 2)
}
