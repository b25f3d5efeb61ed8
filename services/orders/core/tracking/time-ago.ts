const unitSeconds = { week: 604_800, day: 86_400, hour: 3_600, minute: 60, second: 1 }

/**
 * Says how long ago `then` was, in the largest whole unit: "1 month ago". Months and years follow the calendar, UTC.
 */
export const timeAgo = (then: Date, now: Date): string => {
  const months = countMonths(then, now)
  if (months >= 12) return wordAge(Math.floor(months / 12), 'year')
  if (months >= 1) return wordAge(months, 'month')
  const seconds = Math.max(0, Math.floor((now.getTime() - then.getTime()) / 1000))
  for (const [unit, length] of Object.entries(unitSeconds))
    if (seconds >= length) return wordAge(Math.floor(seconds / length), unit)
  return wordAge(0, 'second')
}

const wordAge = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'} ago`

const countMonths = (then: Date, now: Date): number => {
  const months = (now.getUTCFullYear() - then.getUTCFullYear()) * 12 + now.getUTCMonth() - then.getUTCMonth()
  return measureMonth(now) < measureMonth(then) ? months - 1 : months
}

/** Returns the milliseconds since the month began. */
const measureMonth = (time: Date): number => time.getTime() - Date.UTC(time.getUTCFullYear(), time.getUTCMonth())
