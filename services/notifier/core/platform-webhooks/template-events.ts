import { type Json, toInteger } from '../messaging-api/read-json.ts'
import { isLanguage, isStatus, normaliseLanguage, readTemplateId } from '../templates/catalogue.ts'
import type { CategoryReport } from '../templates/category-changes.ts'
import { readText, readWord } from './json.ts'

export type TemplateFact = NonNullable<ReturnType<typeof readTemplateEvent>>
export type CategoryFact = Omit<CategoryReport, 'tenant'> & { readonly kind: 'category' }

export const readTemplate = (wabaId: string | undefined, value: Json) => {
  const name = readText(value.message_template_name, 512)
  const language = readText(value.message_template_language, 20)
  if (wabaId === undefined || name === undefined || language === undefined || !isLanguage(language)) return undefined
  return { wabaId, name, language: normaliseLanguage(language) }
}

/** Lists events that leave a template in the status APPROVED, and events that do not change its status. */
const approvals = ['APPROVED', 'REINSTATED']
const remarks = ['FLAGGED', 'UNARCHIVED']

export const readTemplateEvent = (wabaId: string | undefined, value: Json, at: Date) => {
  const template = readTemplate(wabaId, value)
  const event = readText(value.event, 50)?.toUpperCase()
  if (!template || event === undefined || !isStatus(event) || remarks.includes(event)) return undefined
  return {
    kind: 'template' as const,
    ...template,
    status: approvals.includes(event) ? 'APPROVED' : event,
    reason: readText(value.reason, 200),
    templateId: readTemplateId(value.message_template_id),
    at,
  }
}

/** Reads a change of category (docs/contributors/messaging-api.md#category-changes). */
export const readCategoryEvent = (
  wabaId: string | undefined,
  value: Json,
  reportedAt: Date,
): CategoryFact | undefined => {
  const template = readTemplate(wabaId, value)
  const category = (given: unknown) => readWord(given)?.toUpperCase()
  const [current, announced] = [category(value.new_category), category(value.correct_category)]
  const to = announced ?? current
  if (!template || !to) return undefined
  return {
    kind: 'category',
    ...template,
    from: announced ? current : category(value.previous_category),
    to,
    at: announced ? readSoon(value.category_update_timestamp, reportedAt) : reportedAt,
    isAnnounced: announced !== undefined,
    reportedAt,
  }
}

const dayMilliseconds = 86_400_000

/** Reads Unix seconds, at most a month ahead; returns a day ahead for others: the API announces changes that early. */
const readSoon = (value: unknown, from: Date): Date => {
  const at = (toInteger(value) ?? 0) * 1000
  const isSoon = at >= from.getTime() && at < from.getTime() + 31 * dayMilliseconds
  return new Date(isSoon ? at : from.getTime() + dayMilliseconds)
}
