/** The parsed JSON, or undefined when it is none. Never throws. */
export const parse = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

// Responses are read field by field: missing or mistyped fields are skipped, unknown ones ignored.

export const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** A string of that form. */
export const text = (value: unknown, form: RegExp): string | undefined =>
  typeof value === 'string' && form.test(value) ? value : undefined

/** One line of text that Postgres can store; null for anything else. */
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
