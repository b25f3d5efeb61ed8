export type Json = Record<string, unknown>

/** Returns the parsed JSON, or undefined when it is invalid. Never throws. */
export const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// Readers of responses and webhooks skip missing and mistyped fields, and ignore unknown ones.

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const toRecord = (value: unknown): Json => (isRecord(value) ? value : {})

export const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

export const matchText = (value: unknown, form: RegExp): string | undefined =>
  typeof value === 'string' && form.test(value) ? value : undefined

/** Returns one line of text that Postgres can store; null for anything else. */
export const toLine = (value: unknown): string | null =>
  typeof value === 'string' && value !== ''
    ? value
        .toWellFormed()
        .replace(/\p{Cc}+/gu, ' ')
        .slice(0, 500)
    : null

/** Returns a 32-bit integer, even one written as a string. */
export const toInteger = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && (number | 0) === number ? number : undefined
}

/** Returns a category as webhooks spell it, such as authentication_international. */
export const normaliseCategory = (category: string): string => category.toLowerCase().replaceAll('-', '_')
