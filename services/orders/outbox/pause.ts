const firstMilliseconds = 500
const longestMilliseconds = 30_000

/**
 * How long to leave a tenant's events alone after `failures` failed tries in a row, in milliseconds: twice as long each
 * time, up to 30 s, of which chance takes off at most half, so that what failed together does not come back together.
 */
export const pauseAfter = (failures: number, random: () => number): number => {
  const longest = Math.min(longestMilliseconds, firstMilliseconds * 2 ** (failures - 1))
  return longest * (1 - random() / 2)
}
