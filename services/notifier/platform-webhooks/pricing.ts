import { normaliseCategory } from '../costs/price.ts'
import type { Json } from '../messaging-api/read-json.ts'
import { text } from './json.ts'

/** The platform's pricing of a message (docs/contributors/messaging-api.md#pricing). */
export interface Pricing {
  /** A word in lower case. */
  readonly category: string
  /** undefined: before July 2025. */
  readonly type: string | undefined
  readonly isFree: boolean
}

/** Reads a word such as UTILITY or authentication-international, in lower case and with underscores. */
export const word = (value: unknown): string | undefined => {
  const known = text(value, 40)
  return known && /^[a-z][a-z_-]*$/i.test(known) ? normaliseCategory(known) : undefined
}

export const readPricing = ({ category: given, type: givenType, billable }: Json): Pricing | undefined => {
  const [category, type] = [word(given), word(givenType)]
  if (category === undefined) return undefined
  return { category, type, isFree: type === undefined ? billable === false : type.startsWith('free_') }
}
