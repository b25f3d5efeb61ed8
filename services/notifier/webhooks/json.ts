export type Json = Record<string, unknown>

/** A JSON document, or undefined. Numbers that name templates stay digits: they are near 2^53. */
export const parseJson = (bytes: Buffer): unknown => {
  const text = bytes.toString('utf8')
  try {
    return text.includes('message_template_id') ? JSON.parse(text, keepDigits) : JSON.parse(text)
  } catch {
    return undefined
  }
}

const keepDigits = (key: string, value: unknown, ...[context]: { source?: string }[]): unknown =>
  key === 'message_template_id' && typeof value === 'number' ? (context?.source ?? value) : value

/** The object, or an empty one for anything else. */
export const object = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}

export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Text that Postgres takes, at most `maxLength` long; undefined for anything else. */
export const text = (value: unknown, maxLength: number): string | undefined =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= maxLength &&
  !value.includes('\0') &&
  value.isWellFormed()
    ? value
    : undefined

/** An id, which some senders write as a number. */
export const id = (value: unknown): string | undefined =>
  text(typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value, 512)

/** Unix seconds, as text or number; `now` for nonsense and for times that have not come. */
export const time = (value: unknown, now: Date): Date => {
  const seconds = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  const isPast = typeof seconds === 'number' && seconds > 0 && seconds * 1000 <= now.getTime()
  return isPast ? new Date(Math.floor(seconds) * 1000) : now
}

export const integer = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) && Math.abs(number) <= 2147483647 ? number : undefined
}
