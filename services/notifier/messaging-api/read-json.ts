/** What JSON says, or undefined for what is not JSON. Never throws. */
export const parse = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

// Answers are read field by field: what is missing or of another type is passed over, what is new does no harm.

export const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** A string of that form. */
export const text = (value: unknown, form: RegExp): string | undefined =>
  typeof value === 'string' && form.test(value) ? value : undefined

/** A line of text that a database takes; null for anything else. */
export const words = (value: unknown): string | null =>
  typeof value === 'string' && value !== ''
    ? value
        .toWellFormed()
        .replace(/\p{Cc}+/gu, ' ')
        .slice(0, 500)
    : null

/** A 32-bit integer, also one written as a string. */
export const integer = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && (number | 0) === number ? number : undefined
}
