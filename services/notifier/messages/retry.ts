/** Waits after the first, second, … failed send, in seconds (5 s, 30 s, 2 m, 10 m, 30 m, 2 h, 5 h). */
const waitSeconds = [5, 30, 120, 600, 1_800, 7_200, 18_000] as const

/**
 * When to send again after `attempts` failed sends, or undefined when no send is left. Up to a fifth is added by chance,
 * so that what failed together does not come back together. The API's own `retryAfterSeconds` is never undercut.
 */
export const nextAttempt = (
  attempts: number,
  now: Date,
  random: () => number,
  retryAfterSeconds = 0,
): Date | undefined => {
  const wait = waitSeconds[attempts - 1]
  if (wait === undefined) return undefined
  const seconds = Math.max(wait * (1 + random() / 5), retryAfterSeconds)
  return new Date(now.getTime() + seconds * 1000)
}

/** A message that has not left after this long is given up. */
export const expiryHours = 24

/** A message without an answer stays unknown; after this long without a webhook nothing more is expected. */
export const unknownMinutes = 10
