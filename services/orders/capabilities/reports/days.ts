// Dates are written as 2026-02-19.

const dayMilliseconds = 86_400_000

export const addDays = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * dayMilliseconds).toISOString().slice(0, 10)

export const listDays = (first: string, last: string): string[] => {
  const count = Math.max(0, daysBetween(first, last) + 1)
  return Array.from({ length: count }, (_, day) => addDays(first, day))
}

export const daysBetween = (first: string, last: string): number =>
  Math.round((Date.parse(last) - Date.parse(first)) / dayMilliseconds)
