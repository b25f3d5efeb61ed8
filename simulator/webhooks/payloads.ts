import type { PhoneNumber } from '../accounts/account.ts'
import type { Template } from '../accounts/template.ts'
import { factsOf } from '../graph/error-table.ts'
import { detailsOf } from '../graph/errors.ts'
import type { Message } from '../messages/message.ts'
import type { StatusStep } from '../trouble/trouble.ts'

/** An update: a status, an inbound message with its sender, a marketing preference, or a template's category. */
export type Update =
  | { status: object; contact?: object | undefined }
  | { contact: object; message: object }
  | { preference: object }
  | { category: object }

/** Returns a person's id for the business, as introduced in 2026 (docs/contributors/messaging-api.md#status-events). */
export const userIdOf = (person: string): string => `LK.${person}`

/**
 * Builds a status event (docs/contributors/messaging-api.md#status-events). `at` is in milliseconds; a window is open
 * within 24 hours of an inbound message.
 */
export const statusOf = (
  message: Message,
  { status, code }: StatusStep,
  at: number,
  isWindowOpen: boolean,
): object => ({
  id: message.id,
  status,
  timestamp: seconds(at),
  recipient_id: message.to,
  ...(message.callback !== undefined && { biz_opaque_callback_data: message.callback }),
  ...(status === 'failed' ? { errors: [errorOf(code ?? 131000)] } : priceOf(message, status, at, isWindowOpen)),
})

const seconds = (at: number): string => String(Math.floor(at / 1000))

const errorOf = (code: number): object => ({
  code,
  title: factsOf(code).title,
  message: factsOf(code).title,
  error_data: { details: detailsOf(code) },
  href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
})

/**
 * `sent` carries a price, and so does the first of `delivered` and `read` (docs/contributors/messaging-api.md#pricing).
 */
const priceOf = (message: Message, status: string, at: number, isWindowOpen: boolean): object => {
  if (status === 'read' && message.statuses.some(earlier => earlier.status === 'delivered')) return {}
  const category = message.template?.category.toLowerCase() ?? 'service'
  const conversation = {
    id: message.id.slice(-32).toLowerCase(),
    ...(status === 'sent' && { expiration_timestamp: seconds(at + 86_400_000) }),
    origin: { type: category },
  }
  const isFree = isWindowOpen && category === 'utility'
  const type = isFree ? 'free_customer_service' : 'regular'
  return { conversation, pricing: { billable: !isFree, pricing_model: 'PMP', type, category } }
}

/**
 * Builds the event of a changed category; `at` is in milliseconds for a future change
 * (docs/contributors/messaging-api.md#category-changes).
 */
export const categoryOf = ({ id, name, language, category: current }: Template, category: string, at?: number) => ({
  message_template_id: Number(id),
  message_template_name: name,
  message_template_language: language.replace('_', '-'),
  ...(at === undefined
    ? { previous_category: current, new_category: category }
    : { correct_category: category, new_category: current, category_update_timestamp: Math.floor(at / 1000) }),
})

/** Builds the event of a marketing preference (docs/contributors/messaging-api.md#marketing-preferences). */
export const preferenceOf = (wa_id: string, value: 'stop' | 'resume', at: number): object => ({
  wa_id,
  detail: `User requested to ${value} marketing messages`,
  category: 'marketing_messages',
  value,
  timestamp: Math.floor(at / 1000),
})

/**
 * Builds the envelope of one number's updates (docs/contributors/messaging-api.md#status-events). Adjacent statuses
 * share a change.
 */
export const envelope = (number: PhoneNumber, updates: Update[], at: number): object => {
  const changes: { field: string; value: object }[] = []
  let shared: { statuses: object[]; contacts?: object[] } | undefined
  for (const update of updates) {
    if (!('status' in update)) shared = undefined
    else if (!shared) shared = { ...headOf(number), statuses: [], ...(update.contact && { contacts: [] }) }
    else changes.pop()
    if ('status' in update) shared?.statuses.push(update.status)
    if ('status' in update && update.contact) shared?.contacts?.push(update.contact)
    changes.push({ field: fieldOf(update), value: shared ?? changeValue(number, update) })
  }
  const entry = { id: number.waba_id, time: Math.floor(at / 1000), changes }
  return { object: 'whatsapp_business_account', entry: [entry] }
}

const fieldOf = (update: Update): string => {
  if ('category' in update) return 'template_category_update'
  return 'preference' in update ? 'user_preferences' : 'messages'
}

const headOf = (number: PhoneNumber) => ({
  messaging_product: 'whatsapp',
  metadata: {
    display_phone_number: number.display_phone_number.replace(/\D/g, ''),
    phone_number_id: number.phone_number_id,
  },
})

const changeValue = (number: PhoneNumber, update: Update): object => {
  if ('category' in update) return update.category
  if ('preference' in update) return { ...headOf(number), user_preferences: [update.preference] }
  return 'message' in update
    ? { ...headOf(number), contacts: [update.contact], messages: [update.message] }
    : headOf(number)
}
