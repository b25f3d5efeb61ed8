/** A date begins and ends in the time zone of the tenant, a time is UTC. */
export type DateOrTime = { readonly date: string } | { readonly time: string }

export const dateRule = 'be a date such as 2026-02-19 or a time such as 2026-02-19T08:00:00Z'

const dateText = /^(19|2\d)\d\d-\d\d-\d\d$/
/** An unescaped plus sign in a URL arrives as a space. */
const timeText = /^((19|2\d)\d\d-\d\d-\d\d)[T ](\d\d:\d\d(:\d\d(\.\d{1,6})?)?)(Z|[+ -]\d\d:\d\d)$/

/** undefined: it is neither, or does not exist. */
export const readDateOrTime = (text: string): DateOrTime | undefined => {
  if (dateText.test(text)) return isDate(text) ? { date: text } : undefined
  const [, date = '', , clock, , , zone = ''] = timeText.exec(text) ?? []
  const time = new Date(`${date}T${clock}${zone.replace(' ', '+')}`)
  return isDate(date) && !Number.isNaN(time.getTime()) ? { time: time.toISOString() } : undefined
}

/** Returns true if the day of a date such as 2026-02-19 exists: JavaScript reads 2026-02-30 as the 2nd of March. */
export const isDate = (text: string): boolean => {
  const day = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}

const hours = 3_600_000
const midnight = (date: string): number => Date.parse(`${date}T00:00:00Z`)

/** Returns true if a range is empty in every time zone: they lie between 12 hours behind UTC and 14 before it. */
export const isAfter = (from: DateOrTime, to: DateOrTime): boolean => {
  if ('date' in from && 'date' in to) return from.date > to.date
  const start = 'date' in from ? midnight(from.date) - 14 * hours : Date.parse(from.time)
  const end = 'date' in to ? midnight(to.date) + 36 * hours : Date.parse(to.time)
  return start > end
}

const day = 24 * hours

/** The first and the last millisecond of a date, in UTC, or of a time. */
export const spanOf = (at: DateOrTime): { first: Date; last: Date } => {
  const first = 'date' in at ? midnight(at.date) : Date.parse(at.time)
  return { first: new Date(first), last: new Date('date' in at ? first + day - 1 : first) }
}
