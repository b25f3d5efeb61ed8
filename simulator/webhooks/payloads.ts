import type { PhoneNumber } from '../accounts/account.ts'
import { factsOf } from '../graph/error-table.ts'
import { detailsOf } from '../graph/errors.ts'
import { isFrom } from '../graph/version.ts'
import type { Message } from '../send/message.ts'
import type { StatusStep } from '../trouble/trouble.ts'

/** One thing to tell: a status, an inbound message (with its sender), or a template event. */
export type Update =
  | { field: 'messages'; status: object }
  | { field: 'messages'; contact: object; message: object }
  | { field: 'message_template_status_update'; value: object }

/** The status event of messaging-api 4.4. `at` in milliseconds; `version` as that of the webhook subscription. */
export const statusOf = (message: Message, { status, code }: StatusStep, at: number, version: string): object => ({
  id: message.id,
  status,
  timestamp: seconds(at),
  recipient_id: message.to,
  ...(message.callback !== undefined && { biz_opaque_callback_data: message.callback }),
  ...(status === 'failed' ? { errors: [errorOf(code ?? 131000)] } : priceOf(message, status, at, version)),
})

const seconds = (at: number): string => String(Math.floor(at / 1000))

const errorOf = (code: number): object => ({
  code,
  title: factsOf(code).title,
  message: factsOf(code).title,
  error_data: { details: detailsOf(code) },
  href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
})

/** `conversation` is on `sent` and `delivered` alone, and gone from v24 on (messaging-api 4.4). */
const priceOf = (message: Message, status: string, at: number, version: string): object => {
  const category = message.template.category.toLowerCase()
  const conversation = {
    id: message.id.slice(-32).toLowerCase(),
    ...(status === 'sent' && { expiration_timestamp: seconds(at + 86_400_000) }),
    origin: { type: category },
  }
  const hasConversation = status !== 'read' && !isFrom(version, 'v24.0')
  const pricing = { billable: true, pricing_model: 'PMP', type: 'regular', category }
  return { ...(hasConversation && { conversation }), pricing }
}

/** The envelope of messaging-api 4.4 around updates of one number. Statuses that follow each other share a change. */
export const envelope = (number: PhoneNumber, updates: Update[], at: number): object => {
  const changes: { field: string; value: object }[] = []
  let statuses: object[] | undefined
  for (const update of updates) {
    if ('status' in update && statuses) statuses.push(update.status)
    else {
      const isStatus = 'status' in update
      statuses = isStatus ? [update.status] : undefined
      changes.push({ field: update.field, value: changeValue(number, update, statuses) })
    }
  }
  const entry = { id: number.waba_id, time: Math.floor(at / 1000), changes }
  return { object: 'whatsapp_business_account', entry: [entry] }
}

const changeValue = (number: PhoneNumber, update: Update, statuses: object[] | undefined): object => {
  if (update.field === 'message_template_status_update') return update.value
  const metadata = {
    display_phone_number: number.display_phone_number.replace(/\D/g, ''),
    phone_number_id: number.phone_number_id,
  }
  const head = { messaging_product: 'whatsapp', metadata }
  if (statuses) return { ...head, statuses }
  return 'contact' in update ? { ...head, contacts: [update.contact], messages: [update.message] } : head
}
