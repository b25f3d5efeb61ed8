/** Limits when messages are sent, by the clocks of a time zone. An end before the start is on the next day. */
export interface Hours {
  /** Looks like 08:00; the end may be 24:00. */
  readonly between: readonly [from: string, to: string]
  readonly timeZone: string
}

const minuteMilliseconds = 60_000
const dayMilliseconds = 86_400_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns milliseconds since midnight by a zone's clocks, in whole minutes. Throws RangeError for an unknown zone. */
const readClock = (time: number, timeZone: string): number => {
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('en-GB', { timeZone, timeStyle: 'short' })
  formats.set(timeZone, format)
  return sinceMidnight(format.format(time))
}

/** Returns true for a name, not for an offset such as +05:30, which Postgres reads as west of Greenwich. */
export const isTimeZone = (name: string): boolean => {
  if (name !== 'UTC' && !/^[A-Za-z_]+(\/[A-Za-z0-9_+-]+)+$/.test(name)) return false
  try {
    readClock(0, name)
    return true
  } catch {
    return false
  }
}

/** Returns the milliseconds from midnight to a time such as 08:00. */
const sinceMidnight = (text: string): number => {
  const [hours = 0, minutes = 0] = text.split(':').map(Number)
  return (hours * 60 + minutes) * minuteMilliseconds
}

const isAllowed = (time: number, { between, timeZone }: Hours): boolean => {
  const clock = readClock(time, timeZone)
  const [from, to] = [sinceMidnight(between[0]), sinceMidnight(between[1])]
  return from < to ? from <= clock && clock < to : from <= clock || clock < to
}

/** Clocks change at the start of a quarter of an hour. */
const quarterMilliseconds = 15 * minuteMilliseconds

/**
 * Returns `now` within the hours, else the time when they begin next. If clocks skip the beginning, hours begin as
 * soon as clocks have changed; if clocks repeat it, hours begin twice.
 */
export const nextAllowed = (now: Date, hours: Hours): Date => {
  const time = now.getTime()
  if (isAllowed(time, hours)) return now
  const start = sinceMidnight(hours.between[0]) + dayMilliseconds
  const end = time + 3 * dayMilliseconds
  for (let quarter = time - (time % quarterMilliseconds); quarter < end; quarter += quarterMilliseconds) {
    const clock = readClock(quarter, hours.timeZone)
    const begin = quarter + ((start - clock) % dayMilliseconds)
    const isNext = (each: number) => each >= time && each < quarter + quarterMilliseconds && isAllowed(each, hours)
    const next = [quarter, begin].find(isNext)
    if (next !== undefined) return new Date(next)
  }
  return new Date(end)
}

/** Returns a caching `nextAllowed` for many messages of one moment: reading clocks is slow. */
export const rememberAllowed = (): typeof nextAllowed => {
  const known = new Map<string, Date>()
  return (now, hours) => {
    const key = JSON.stringify([now, hours])
    const next = known.get(key) ?? nextAllowed(now, hours)
    known.set(key, next)
    return next
  }
}

/** A message takes up to this long from its claim until its request is written. */
const handlingMilliseconds = 30_000

/** Returns the time when the hours begin next; undefined while they last and leave enough time to write a request. */
export const deferUntil = (now: Date, hours: Hours, allowedFrom = nextAllowed): Date | undefined => {
  const soon = new Date(now.getTime() + handlingMilliseconds)
  const next = allowedFrom(now, hours)
  if (next > now) return next
  const later = allowedFrom(soon, hours)
  return later > soon ? later : undefined
}

export const waitsFor = ({ between: [from, to], timeZone }: Hours): string =>
  `waits: messages are sent from ${from} to ${to} (${timeZone})`
