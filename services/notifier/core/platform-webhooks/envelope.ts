import { marketingStopped } from '../messaging-api/error-table.ts'
import { type Json, toInteger, toList, toRecord } from '../messaging-api/read-json.ts'
import { readCall, readChange, readEcho, readHandover, readInbound } from './inbound.ts'
import { readId, readText, readTime, readWord } from './json.ts'
import { type NamedPerson, readPerson } from './person.ts'
import { type Pricing, reportedStatuses } from './settle.ts'
import { type CategoryFact, readCategoryEvent, readTemplateEvent, type TemplateFact } from './template-events.ts'

type StatusFact = NonNullable<ReturnType<typeof readStatus>>
/** `isStandby` is true while another responder answers the person. */
export type InboundFact = NonNullable<ReturnType<typeof readInbound>> & { readonly isStandby?: boolean }
export type EchoFact = NonNullable<ReturnType<typeof readEcho>> & { readonly isStandby?: boolean }
/** Reports who answers a person. */
export type OwnerFact = Omit<NonNullable<ReturnType<typeof readHandover>>, keyof NamedPerson> & NamedPerson
/** Reports that a person has a new phone number, and so a new user id. */
export type ChangeFact = NonNullable<ReturnType<typeof readChange>>
/** Reports that a person stops or resumes marketing messages. `source` is `user_preferences` or names an error. */
type PreferenceFact = NonNullable<ReturnType<typeof readPreference>>

/** Holds what a capability reads in a change of an account. */
export interface AccountFact {
  readonly kind: 'account'
  readonly wabaId: string
  readonly at: Date
  readonly field: unknown
  readonly news: object
}

/** Reads fields of changes that concern accounts. Must not throw. */
export interface AccountReader {
  readonly fields: readonly unknown[]
  readonly read: (field: unknown, value: Json) => readonly object[]
}

export type Fact =
  | StatusFact
  | InboundFact
  | EchoFact
  | OwnerFact
  | ChangeFact
  | PreferenceFact
  | TemplateFact
  | CategoryFact
  | AccountFact

interface Change {
  readonly wabaId: string | undefined
  readonly at: unknown
  readonly field: unknown
  readonly value: Json
  readonly phoneNumberId: string | undefined
}

function* listChanges(document: unknown): Generator<Change> {
  for (const entry of toList(toRecord(document).entry).map(toRecord))
    for (const change of toList(entry.changes).map(toRecord)) {
      const value = toRecord(change.value)
      const phoneNumberId = readId(
        toRecord(value.metadata).phone_number_id ?? toRecord(value.recipient).phone_number_id,
      )
      // News of partners stands under the portfolio, and names the account.
      const named = change.field === 'account_update' ? readId(toRecord(value.waba_info).waba_id) : undefined
      yield { wabaId: named ?? readId(entry.id), at: entry.time, field: change.field, value, phoneNumberId }
    }
}

/** The API sends at most 1,000 updates per request. */
const maxOrigins = 1000

/** Returns the ids of the numbers that a request names, and of the accounts of its changes that name none. */
export const listOrigins = (document: unknown): string[] => {
  const ids = new Set<string>()
  for (const { phoneNumberId, wabaId } of listChanges(document)) {
    const id = phoneNumberId ?? wabaId
    if (id !== undefined) ids.add(id)
    if (ids.size === maxOrigins) break
  }
  return [...ids]
}

/**
 * Scans an unverified body for ids: those of numbers or, if it names none, any that may be an account's. A few are
 * enough, since one app signs a whole request; the body need not be JSON.
 */
export const scanOrigins = (bytes: Buffer): string[] => {
  const body = bytes.toString('latin1')
  const numbers = scanIds(body, /"phone_number_id"[ \t\r\n]{0,8}:[ \t\r\n]{0,8}("[\w.-]{1,64}"|\d{1,16}(?![\w.]))/g)
  return numbers.length > 0
    ? numbers
    : scanIds(body, /(?<="|"waba_)id"[ \t\r\n]{0,8}:[ \t\r\n]{0,8}("[\w.-]{1,64}"|\d{1,16}(?![\w.]))/g)
}

const scanIds = (body: string, pattern: RegExp): string[] => {
  const ids = body.matchAll(pattern).map(([, id = '']) => id.replaceAll('"', ''))
  return [...new Set(ids.take(2_000))].slice(0, 32)
}

const readFields = new Set<unknown>([
  ...['messages', 'standby', 'messaging_handovers', 'calls', 'smb_message_echoes', 'user_preferences'],
  ...['message_template_status_update', 'template_category_update'],
])

/** Lists fields that no company needs, with their reasons in docs/contributors/messaging-api.md#ignored-fields. */
const ignoredFields = `history smb_app_state_sync message_template_components_update partner_solutions
  template_correct_category_detection payment_configuration_update tracking_events automatic_events
  group_lifecycle_update group_participants_update group_settings_update group_status_update`.split(/\s+/)

/** Counts the changes whose fields are not read, by name; `metric` is `other` for a name that nobody documents. */
export const listIgnored = (document: unknown, readers: readonly AccountReader[]) => {
  const isRead = (field: unknown) => readFields.has(field) || readers.some(({ fields }) => fields.includes(field))
  const names = [...listChanges(document)].flatMap(({ field }) => (isRead(field) ? [] : (readWord(field) ?? 'other')))
  return [...Map.groupBy(names, name => name)].map(([field, { length: count }]) => {
    return { field, metric: ignoredFields.includes(field) ? field : 'other', count }
  })
}

/** Reads the known updates and skips others (docs/contributors/messaging-api.md#webhooks). Never throws. */
export const readFacts = (document: unknown, now: Date, readers: readonly AccountReader[] = []): Fact[] => {
  const facts: (Fact | undefined)[] = []
  for (const { wabaId, at, field, value, phoneNumberId } of listChanges(document)) {
    if (field === 'message_template_status_update') facts.push(readTemplateEvent(wabaId, value, readTime(at, now)))
    if (field === 'template_category_update') facts.push(readCategoryEvent(wabaId, value, readTime(at, now)))
    if (wabaId !== undefined)
      for (const { read } of readers.filter(({ fields }) => fields.includes(field)))
        for (const news of read(field, value))
          facts.push({ kind: 'account', wabaId, at: readTime(at, now), field, news })
    if (phoneNumberId === undefined) continue
    if (field === 'user_preferences')
      for (const each of toList(value.user_preferences)) facts.push(readPreference(phoneNumberId, toRecord(each), now))
    const isStandby = field === 'standby'
    // The content of standby is one level deeper.
    const content = isStandby ? { ...value, ...toRecord(value.standby) } : value
    const contacts = toList(content.contacts).map(toRecord)
    const readAll = (list: unknown, read: (...given: [string, Json, Json[], Date]) => Fact | undefined) => {
      for (const each of toList(list)) facts.push(read(phoneNumberId, toRecord(each), contacts, now))
    }
    if (field === 'calls') readAll(content.calls, readCall)
    if (field === 'messaging_handovers') facts.push(readHandover(phoneNumberId, value, contacts, now))
    if (field === 'smb_message_echoes') readAll(content.message_echoes, readEcho)
    if (field !== 'messages' && !isStandby) continue
    for (const status of toList(content.statuses).map(toRecord))
      facts.push(readStatus(phoneNumberId, status, contacts, now), readMarketingStop(phoneNumberId, status, now))
    readAll(content.messages, readChange)
    readAll(content.messages, (...given) => withOwner(readInbound(...given), isStandby))
    if (isStandby) readAll(content.message_echoes, (...given) => withOwner(readEcho(...given), isStandby))
  }
  return facts.filter(fact => fact !== undefined)
}

const withOwner = <F extends object>(fact: F | undefined, isStandby: boolean) => fact && { ...fact, isStandby }

const readStatus = (phoneNumberId: string, value: Json, contacts: readonly Json[], now: Date) => {
  const providerMessageId = readId(value.id)
  const status = reportedStatuses.find(known => known === value.status)
  if (providerMessageId === undefined || status === undefined) return undefined
  const isFailed = status === 'failed'
  const error = toRecord(toList(value.errors)[0])
  return {
    kind: 'status' as const,
    phoneNumberId,
    ...readPerson([value.recipient_id], [value.recipient_user_id, value.recipient_parent_user_id], contacts),
    /** Is our id of the message, unless another program sent the message. */
    messageId: readText(value.biz_opaque_callback_data, 512),
    providerMessageId,
    status,
    at: readTime(value.timestamp, now),
    errorCode: isFailed ? (toInteger(error.code) ?? null) : null,
    errorMeaning: isFailed ? (readText(error.title, 200) ?? 'The messaging API gave no reason.') : null,
    // The platform bills delivered messages; `sent` carries the price in advance.
    pricing: status === 'delivered' || status === 'read' ? readPricing(toRecord(value.pricing)) : undefined,
  }
}

const readPricing = ({ category: given, type: givenType, billable }: Json): Pricing | undefined => {
  const [category, type] = [readWord(given), readWord(givenType)]
  if (category === undefined) return undefined
  return { category, type, isFree: type === undefined ? billable === false : type.startsWith('free_') }
}

const readPreference = (phoneNumberId: string, value: Json, now: Date) => {
  const person = readPerson([value.wa_id], [value.user_id, value.parent_user_id])
  if (!person || value.category !== 'marketing_messages') return undefined
  if (value.value !== 'stop' && value.value !== 'resume') return undefined
  const fact = { kind: 'preference' as const, phoneNumberId, ...person, at: readTime(value.timestamp, now) }
  return { ...fact, isStopped: value.value === 'stop', source: 'user_preferences' }
}

const readMarketingStop = (phoneNumberId: string, status: Json, now: Date): PreferenceFact | undefined => {
  const person = readPerson([status.recipient_id], [status.recipient_user_id, status.recipient_parent_user_id])
  const isStopped = toList(status.errors).some(error => toInteger(toRecord(error).code) === marketingStopped)
  if (!person || status.status !== 'failed' || !isStopped) return undefined
  const at = readTime(status.timestamp, now)
  return { kind: 'preference', phoneNumberId, ...person, at, isStopped, source: `error ${marketingStopped}` }
}
