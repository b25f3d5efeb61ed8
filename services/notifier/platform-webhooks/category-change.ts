import { integer, type Json } from '../messaging-api/read-json.ts'
import { isLanguage, normaliseLanguage } from '../templates/catalogue.ts'
import type { CategoryReport } from '../templates/category-changes.ts'
import { text } from './json.ts'
import { word } from './pricing.ts'

/** A past or announced change of a template's category by the platform. */
export type CategoryFact = Omit<CategoryReport, 'tenant'> & { readonly kind: 'category' }

/** Reads docs/contributors/messaging-api.md#category-changes. */
export const readCategoryEvent = (
  wabaId: string | undefined,
  value: Json,
  reportedAt: Date,
): CategoryFact | undefined => {
  const name = text(value.message_template_name, 512)
  const language = text(value.message_template_language, 20)
  const category = (given: unknown) => word(given)?.toUpperCase()
  const [current, announced] = [category(value.new_category), category(value.correct_category)]
  const to = announced ?? current
  if (wabaId === undefined || name === undefined || language === undefined || !isLanguage(language) || !to)
    return undefined
  return {
    kind: 'category',
    wabaId,
    name,
    language: normaliseLanguage(language),
    from: announced ? current : category(value.previous_category),
    to,
    at: announced ? soon(value.category_update_timestamp, reportedAt) : reportedAt,
    isAnnounced: announced !== undefined,
    reportedAt,
  }
}

const dayMilliseconds = 86_400_000

/**
 * Reads Unix seconds from then on, at most a month ahead; anything else counts as a day ahead, as the API announces
 * changes.
 */
const soon = (value: unknown, from: Date): Date => {
  const at = (integer(value) ?? 0) * 1000
  const isSoon = at >= from.getTime() && at < from.getTime() + 31 * dayMilliseconds
  return new Date(isSoon ? at : from.getTime() + dayMilliseconds)
}
