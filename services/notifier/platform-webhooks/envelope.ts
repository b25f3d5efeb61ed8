import { marketingStopped } from '../messaging-api/errors.ts'
import { isLanguage, isStatus, normaliseLanguage, readTemplateId } from '../templates/catalogue.ts'
import { type CategoryFact, readCategoryEvent } from './category-change.ts'
import { id, integer, type Json, list, object, text, time } from './json.ts'
import { type Pricing, readPricing } from './pricing.ts'
import { type ReportedStatus, reportedStatuses } from './settle.ts'

/** A status of a message. */
export interface StatusFact {
  readonly kind: 'status'
  readonly phoneNumberId: string
  readonly providerMessageId: string
  /** Our callback data: the message's id. */
  readonly callbackData?: string | undefined
  readonly status: ReportedStatus
  readonly at: Date
  readonly errors?: readonly { code?: number | undefined; title?: string | undefined }[] | undefined
  readonly pricing?: Pricing | undefined
}

/** A person wrote, or tapped a button. */
export interface InboundFact {
  readonly kind: 'inbound'
  readonly phoneNumberId: string
  /** Digits, as the API spells the number. */
  readonly from: string
  readonly messageId: string
  readonly at: Date
  /** As the API names it, such as text or image. */
  readonly type: string
  readonly text?: string | undefined
  /** What staff read of anything else: a place, the label of a button, a caption, the name of a file. */
  readonly label?: string | undefined
  /** By which the API has its file. */
  readonly mediaId?: string | undefined
  /** The name, the address and the coordinates of a place that the person shared. */
  readonly location?: string | undefined
  /** Of a button alone: what stands behind its text. */
  readonly payload?: string | undefined
  /** Of a button or an item of a list: its text, and what stands behind it. */
  readonly buttons: readonly string[]
}

/** A person stopped or resumed marketing messages, or an error says so. */
export interface PreferenceFact {
  readonly kind: 'preference'
  readonly phoneNumberId: string
  readonly from: string
  readonly at: Date
  readonly isStopped: boolean
  /** Where it stands. */
  readonly source: string
}

/** The status of a template. */
export interface TemplateFact {
  readonly kind: 'template'
  readonly wabaId: string
  readonly name: string
  readonly language: string
  readonly status: string
  readonly reason?: string | undefined
  readonly templateId?: string | undefined
  readonly at: Date
}

export type Fact = StatusFact | InboundFact | PreferenceFact | TemplateFact | CategoryFact

/** The numbers and accounts that a request names. */
export interface Origins {
  readonly phoneNumberIds: string[]
  /** Accounts, of the changes that name no number. */
  readonly wabaIds: string[]
}

/** The API sends at most 1,000 updates per request. */
const maxOrigins = 1000

interface Change {
  readonly wabaId: string | undefined
  readonly at: unknown
  readonly field: unknown
  readonly value: Json
  readonly phoneNumberId: string | undefined
}

function* changesOf(document: unknown): Generator<Change> {
  for (const entry of list(object(document).entry).map(object))
    for (const change of list(entry.changes).map(object)) {
      const value = object(change.value)
      const phoneNumberId = id(object(value.metadata).phone_number_id)
      yield { wabaId: id(entry.id), at: entry.time, field: change.field, value, phoneNumberId }
    }
}

export const originsOf = (document: unknown): Origins => {
  const phoneNumberIds = new Set<string>()
  const wabaIds = new Set<string>()
  for (const { phoneNumberId, wabaId } of changesOf(document)) {
    if (phoneNumberId !== undefined) phoneNumberIds.add(phoneNumberId)
    else if (wabaId !== undefined) wabaIds.add(wabaId)
    if (phoneNumberIds.size + wabaIds.size >= maxOrigins) break
  }
  return { phoneNumberIds: [...phoneNumberIds], wabaIds: [...wabaIds] }
}

/** The updates of a webhook that we know (docs/contributors/messaging-api.md#webhooks); the rest is left out. Never throws. */
export const factsOf = (document: unknown, now: Date): Fact[] => {
  const facts: (Fact | undefined)[] = []
  for (const { wabaId, at, field, value, phoneNumberId } of changesOf(document)) {
    if (field === 'message_template_status_update') facts.push(readTemplateEvent(wabaId, value, time(at, now)))
    if (field === 'template_category_update') facts.push(readCategoryEvent(wabaId, value, time(at, now)))
    if (phoneNumberId === undefined) continue
    if (field === 'user_preferences')
      for (const each of list(value.user_preferences)) facts.push(readPreference(phoneNumberId, object(each), now))
    if (field !== 'messages') continue
    for (const status of list(value.statuses).map(object))
      facts.push(readStatus(phoneNumberId, status, now), readMarketingStop(phoneNumberId, status, now))
    for (const message of list(value.messages)) facts.push(readInbound(phoneNumberId, object(message), now))
  }
  return facts.filter(fact => fact !== undefined)
}

const readStatus = (phoneNumberId: string, value: Json, now: Date): StatusFact | undefined => {
  const providerMessageId = id(value.id)
  const status = reportedStatuses.find(known => known === value.status)
  if (providerMessageId === undefined || status === undefined) return undefined
  const callbackData = text(value.biz_opaque_callback_data, 512)
  const errors = list(value.errors)
    .map(object)
    .map(error => ({ code: integer(error.code), title: text(error.title, 200) }))
  return {
    kind: 'status',
    phoneNumberId,
    providerMessageId,
    callbackData,
    status,
    at: time(value.timestamp, now),
    errors,
    pricing: readPricing(object(value.pricing)),
  }
}

const digitsOf = (value: unknown): string | undefined => /^\+?(\d{5,20})$/.exec(id(value) ?? '')?.[1]

const readPreference = (phoneNumberId: string, value: Json, now: Date): PreferenceFact | undefined => {
  const from = digitsOf(value.wa_id)
  if (from === undefined || value.category !== 'marketing_messages') return undefined
  if (value.value !== 'stop' && value.value !== 'resume') return undefined
  const at = time(value.timestamp, now)
  return { kind: 'preference', phoneNumberId, from, at, isStopped: value.value === 'stop', source: 'user_preferences' }
}

const readMarketingStop = (phoneNumberId: string, status: Json, now: Date): PreferenceFact | undefined => {
  const from = digitsOf(status.recipient_id)
  const isStopped = list(status.errors).some(error => integer(object(error).code) === marketingStopped)
  if (from === undefined || status.status !== 'failed' || !isStopped) return undefined
  const at = time(status.timestamp, now)
  return { kind: 'preference', phoneNumberId, from, at, isStopped, source: `error ${marketingStopped}` }
}

const readInbound = (phoneNumberId: string, value: Json, now: Date): InboundFact | undefined => {
  const from = digitsOf(value.from)
  const messageId = id(value.id)
  // A system message reports a changed number; the person did not write.
  if (from === undefined || messageId === undefined || value.type === 'system') return undefined
  const { button_reply, list_reply } = object(value.interactive)
  const [button, reply, item] = [object(value.button), object(button_reply), object(list_reply)]
  const type = text(value.type, 30) ?? 'unknown'
  const content = object(value[type])
  const location = readLocation(object(value.location))
  const label = button.text ?? reply.title ?? item.title ?? content.caption ?? content.filename ?? content.emoji
  const tapped = [button.text, button.payload, reply.title, reply.id, item.title, item.id]
  return {
    kind: 'inbound',
    phoneNumberId,
    from,
    messageId,
    at: time(value.timestamp, now),
    type,
    text: text(object(value.text).body, 5000),
    label: location ?? text(label, 1024),
    mediaId: id(content.id),
    location,
    payload: text(button.payload ?? reply.id, 500),
    buttons: tapped.map(label => text(label, 500)).filter(label => label !== undefined),
  }
}

const readLocation = ({ latitude, longitude, name, address }: Json): string | undefined => {
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return undefined
  const words = [text(name, 1000), text(address, 1000)].filter(part => part !== undefined).join(', ')
  return `${words} (${latitude}, ${longitude})`.trim()
}

/** Events that leave a template in the status APPROVED, and those that leave its status as it is. */
const approvals = ['APPROVED', 'REINSTATED']
const remarks = ['FLAGGED', 'UNARCHIVED']

const readTemplateEvent = (wabaId: string | undefined, value: Json, at: Date): TemplateFact | undefined => {
  const name = text(value.message_template_name, 512)
  const language = text(value.message_template_language, 20)
  const event = text(value.event, 50)?.toUpperCase()
  if (wabaId === undefined || name === undefined || language === undefined || event === undefined) return undefined
  if (!isLanguage(language) || !isStatus(event) || remarks.includes(event)) return undefined
  return {
    kind: 'template',
    wabaId,
    name,
    language: normaliseLanguage(language),
    status: approvals.includes(event) ? 'APPROVED' : event,
    reason: text(value.reason, 200),
    templateId: readTemplateId(value.message_template_id),
    at,
  }
}
