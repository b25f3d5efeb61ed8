import type { PhoneNumber } from '../accounts/account.ts'
import type { Behaviour } from '../basics/behaviour.ts'
import { findFacts } from '../graph/error-table.ts'
import { findDetails } from '../graph/errors.ts'
import type { Message } from '../messages/message.ts'
import { toUserId, writePerson } from '../messages/people.ts'

/** An update is a status, an inbound message with its sender, or the value of another change. */
export type Update = { status: object } | { contact: object; message: object } | FieldUpdate
interface FieldUpdate {
  field: string
  value: object
  /** Is set for news of the account, which names no number; null means that its entry is the account. */
  entryId?: string | null
}

/** Builds a status event (docs/contributors/messaging-api.md#status-events). */
export const writeStatus = (
  message: Message,
  { status, at, code }: Message['statuses'][number],
  isFree: boolean,
  behaviour: Behaviour,
): object => ({
  id: message.id,
  status,
  timestamp: toSeconds(at),
  ...(message.isToUserId
    ? { recipient_user_id: toUserId(message.to) }
    : writePerson(behaviour, message.to, 'recipient_id', 'recipient_user_id')),
  ...(message.callback !== undefined && { biz_opaque_callback_data: message.callback }),
  ...(code === undefined ? writePrice(message, status, at, isFree) : { errors: [toError(code)] }),
})

const toSeconds = (at: number): string => String(Math.floor(at / 1000))

const toError = (code: number): object => ({
  code,
  title: findFacts(code).title,
  message: findFacts(code).title,
  error_data: { details: findDetails(code) },
  href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
})

/** Prices `sent`, `delivered`, and a `read` without `delivered` (docs/contributors/messaging-api.md#pricing). */
const writePrice = (message: Message, status: string, at: number, isFree: boolean): object => {
  if (status === 'read' && message.statuses.some(earlier => earlier.status === 'delivered')) return {}
  const category = findPriceCategory(message)
  const conversation = {
    id: message.id.slice(-32).toLowerCase(),
    ...(status === 'sent' && { expiration_timestamp: toSeconds(at + 86_400_000) }),
    origin: { type: category },
  }
  const type = isFree ? 'free_customer_service' : 'regular'
  return { conversation, pricing: { billable: !isFree, pricing_model: 'PMP', type, category } }
}

export const findPriceCategory = (message: Message): string => message.template?.category.toLowerCase() ?? 'service'

/** Builds the envelope of one number's updates. Adjacent statuses share a change. */
export const writeEnvelope = (number: PhoneNumber, updates: Update[]): object => {
  const changes: object[] = []
  const entries: object[] = []
  let statuses: object[] | undefined
  for (const update of updates) {
    const event = 'status' in update ? update.status : undefined
    if (event && statuses) statuses.push(event)
    else {
      statuses = event && [event]
      const { field, value, entryId }: Partial<FieldUpdate> = 'field' in update ? update : { field: 'messages' }
      if (entryId !== undefined) {
        entries.push(toEntry(entryId ?? number.waba_id, [{ field, value }]))
        continue
      }
      const content =
        value ?? ('contact' in update ? { contacts: [update.contact], messages: [update.message] } : { statuses })
      // A handover names the number as its recipient.
      const head = field === 'messaging_handovers' ? { messaging_product: 'whatsapp' } : writeHead(number)
      changes.push({ field, value: { ...head, ...content } })
    }
  }
  const own = changes.length > 0 ? [toEntry(number.waba_id, changes)] : []
  return { object: 'whatsapp_business_account', entry: [...own, ...entries] }
}

const toEntry = (id: string, changes: object[]): object => ({ id, time: Math.floor(Date.now() / 1000), changes })

export const writeHead = ({ display_phone_number, phone_number_id }: PhoneNumber) => ({
  messaging_product: 'whatsapp',
  metadata: { display_phone_number: display_phone_number.replace(/\D/g, ''), phone_number_id },
})
