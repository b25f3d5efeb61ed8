const [minute, hour] = [60, 3_600]

/** Lists the seconds to wait after the first attempt, after the second, and so on: about three days in all. */
const delays = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]

/** Adds or takes off up to a tenth, so that retries do not come all at once. */
const addJitter = (seconds: number, random: () => number): number => seconds * (0.9 + random() / 5)

/**
 * Returns the seconds from a failed attempt (the first is 1) to the next; undefined: it was the last. While the
 * endpoint is down attempts continue once a day, since the event is not to blame.
 */
export const nextAttempt = (attempts: number, isEndpointDown: boolean, random: () => number): number | undefined => {
  const delay = delays[attempts - 1] ?? (isEndpointDown ? 24 * hour : undefined)
  return delay === undefined ? undefined : addJitter(delay, random)
}

/**
 * Sets how many failures in a row make an endpoint count as down: it then gets one request at a time, with pauses in
 * between.
 */
const failuresToDown = 5
const longestPause = 5 * minute

export const isDown = (failures: number): boolean => failures >= failuresToDown

/**
 * Returns the failures in a row after further concurrent ones. However many these are, the pauses begin with the
 * shortest, or double only once.
 */
export const failuresAfter = (failures: number, further: number): number =>
  Math.min(failures + further, Math.max(failures + 1, failuresToDown))

/**
 * Returns the seconds for which an endpoint gets nothing after this many failures in a row: 5 once it is down, then
 * doubled up to 5 minutes.
 */
export const pauseAfter = (failures: number, random: () => number): number =>
  isDown(failures) ? addJitter(Math.min(longestPause, 5 * 2 ** (failures - failuresToDown)), random) : 0

const longestRetryAfter = 24 * hour

/**
 * Reads the seconds of a Retry-After header, which has seconds or a date. Returns at most a day, and 0 without a valid
 * header.
 */
export const readRetryAfter = (header: unknown, now: number): number => {
  if (typeof header !== 'string' || header.length > 40) return 0
  const seconds = /^\d{1,10}$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000
  return Number.isNaN(seconds) ? 0 : Math.min(longestRetryAfter, Math.max(0, seconds))
}
