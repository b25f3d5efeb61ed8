/** Holds a date, which begins and ends in the time zone of the tenant, or a time in UTC. */
export type DateOrTime = { readonly date: string } | { readonly time: string }

const dateText = /^(19|2\d)\d\d-\d\d-\d\d$/
/** An unescaped plus sign in a URL arrives as a space. */
const timeText = /^((19|2\d)\d\d-\d\d-\d\d)[T ](\d\d:\d\d(:\d\d(\.\d{1,6})?)?)(Z|[+ -]\d\d:\d\d)$/

/**
 * Reads a date or a time, which keeps its microseconds: orders have them. undefined: the text is neither, or the date
 * does not exist.
 */
export const readDateOrTime = (text: string): DateOrTime | undefined => {
  if (isDate(text)) return { date: text }
  const [, date = '', , clock, , fraction = '.', zone = ''] = timeText.exec(text) ?? []
  const time = new Date(`${date}T${clock}${zone.replace(' ', '+')}`)
  if (!isDate(date) || Number.isNaN(time.getTime())) return undefined
  return { time: time.toISOString().replace(/\.\d+/, fraction.padEnd(7, '0')) }
}

/** Returns true for a date such as 2026-02-19 that exists: JavaScript reads 2026-02-30 as the 2nd of March. */
export const isDate = (text: string): boolean => {
  const day = new Date(`${text}T00:00:00Z`)
  return dateText.test(text) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}

const hour = 3_600_000

/** Returns the first and the last millisecond of a date, in UTC, or of a time. */
export const findSpan = (at: DateOrTime): { first: number; last: number } => {
  if ('time' in at) return { first: Date.parse(at.time), last: Date.parse(at.time) }
  const first = Date.parse(at.date)
  return { first, last: first + 24 * hour - 1 }
}

/**
 * Returns true if a range is empty in every time zone: time zones lie between 12 hours behind UTC and 14 ahead of it.
 */
export const isAfter = (from: DateOrTime, to: DateOrTime): boolean => {
  if ('date' in from && 'date' in to) return from.date > to.date
  const start = findSpan(from).first - ('date' in from ? 14 * hour : 0)
  return start > findSpan(to).last + ('date' in to ? 12 * hour : 0)
}
