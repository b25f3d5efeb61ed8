import type { IncomingHttpHeaders } from 'node:http'

/** Longer waits are not believed: nothing that the API documents takes more than 72 hours. */
const longestSeconds = 72 * 3600

/**
 * How long the API asks to wait: `Retry-After` (seconds or a date) or `estimated_time_to_regain_access` (minutes) of
 * `x-business-use-case-usage`, whichever is longer. null when it asks for nothing. Pure, and never throws.
 */
export const retryAfterSeconds = (headers: IncomingHttpHeaders, now: Date): number | null => {
  const usage = headers['x-business-use-case-usage']
  const wait = Math.max(named(headers['retry-after'], now), regained(Array.isArray(usage) ? usage[0] : usage))
  return wait > 0 ? Math.min(Math.ceil(wait), longestSeconds) : null
}

const named = (header: string | undefined, now: Date): number => {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  // A date as HTTP writes it; Date.parse alone would also read "-5" or "1.5".
  if (!/^[A-Z][a-z]{2}, /.test(text)) return 0
  return (Date.parse(text) - now.getTime()) / 1000 || 0
}

/** `{"<account>": [{"type": …, "estimated_time_to_regain_access": 7}]}` */
const regained = (usage: string | undefined): number => {
  try {
    const entries: unknown[] = Object.values(JSON.parse(usage ?? '{}')).flat()
    const minutes = entries.map(entry => Object(entry).estimated_time_to_regain_access)
    return Math.max(0, ...minutes.filter(value => typeof value === 'number')) * 60
  } catch {
    return 0
  }
}
