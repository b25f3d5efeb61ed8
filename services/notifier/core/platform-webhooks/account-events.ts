import type { Notice } from '../channels/notices.ts'
import { readTier } from '../messaging-api/account-responses.ts'
import { type Json, toInteger, toList, toRecord } from '../messaging-api/read-json.ts'
import { readText, readWord } from './json.ts'
import { readTemplate } from './template-events.ts'

/** Reports the messaging limit of an account's portfolio; null means unlimited. */
export interface LimitFact {
  readonly kind: 'limit'
  readonly wabaId: string
  readonly maxPeople: number | null
  readonly at: Date
}
export interface NoticeFact {
  readonly kind: 'notice'
  readonly wabaId: string
  readonly at: Date
  readonly notice: Pick<Notice, 'kind' | 'subject' | 'isProblem' | 'text'>
}

/** Reads what limits an account, and news kept for staff (docs/contributors/messaging-api.md#account-events). */
export const readAccountEvent = (
  field: unknown,
  wabaId: string | undefined,
  value: Json,
  at: Date,
): (LimitFact | NoticeFact)[] => {
  if (wabaId === undefined) return []
  const limit = readLimit(value.max_daily_conversations_per_business)
  const isLimit = field === 'business_capability_update' || field === 'phone_number_quality_update'
  const limits = isLimit && limit !== undefined ? [{ kind: 'limit' as const, wabaId, maxPeople: limit, at }] : []
  const notice = readers.get(field)?.(value)
  return [...limits, ...(notice ? [{ kind: 'notice' as const, wabaId, at, notice }] : [])]
}

/** The platform writes the limit as a number, -1 for unlimited, or as a tier such as TIER_2K. */
const readLimit = (value: unknown): number | null | undefined => {
  const count = toInteger(value)
  if (count === undefined) return readTier(value)
  return count === -1 ? null : count > 0 && count <= 1_000_000_000 ? count : undefined
}

type Words = NoticeFact['notice'] | undefined

const readNumberEvent = (value: Json): Words => {
  const event = readWord(value.event)
  const number = /^\+?([\d ()-]{5,30})$/.exec(readText(value.display_phone_number, 40) ?? '')?.[1]
  if (event === undefined || number === undefined) return undefined
  const kind = event.endsWith('flagged') ? 'quality' : 'throughput'
  const [isProblem, words] = numberEvents.get(event) ?? [false, `reports ${event} of`]
  return { kind, subject: number.replace(/\D/g, ''), isProblem, text: `The platform ${words} +${number}.` }
}
const numberEvents = new Map<string, readonly [isProblem: boolean, words: string]>([
  ['flagged', [true, 'finds the quality low and may limit']],
  ['unflagged', [false, 'finds the quality good again of']],
  ['downgrade', [true, 'lowered the limit of']],
  ['upgrade', [false, 'raised the limit of']],
  ['throughput_upgrade', [false, 'raised the messages per second of']],
])

const readAccountUpdate = (value: Json): Words => {
  const event = readWord(value.event)
  if (event === undefined) return undefined
  const state = readWord(toRecord(value.ban_info).waba_ban_state)
  const name = event === 'disabled_update' ? `${event} ${state}` : event
  const kinds = toList(value.restriction_info).flatMap(each => readWord(toRecord(each).restriction_type) ?? [])
  const violation = readText(toRecord(value.violation_info).violation_type, 100)
  const reason = [...kinds, ...(violation ? [violation.toLowerCase()] : [])].slice(0, 5).join(', ')
  const words = accountEvents.get(name)
  const text = words ?? `The platform reports of the account: ${name}.`
  return {
    kind: 'account',
    subject: event,
    isProblem: words !== undefined,
    text: reason ? `${text} (${reason})` : text,
  }
}
/** Lists the events that stop or limit messages; others are kept as they are. */
const accountEvents = new Map([
  ['account_deleted', 'The account was deleted.'],
  ['account_restriction', 'The platform restricts the account.'],
  ['account_violation', 'The account violates a policy of the platform: it may be restricted.'],
  ['disabled_update disable', 'The platform disabled the account.'],
  ['disabled_update schedule_for_disable', 'The platform is about to disable the account.'],
  ['partner_app_uninstalled', 'The app was removed from the account: no webhook of it comes.'],
])

const readTemplateQuality = (value: Json): Words => {
  const template = readTemplate('', value)
  const score = readWord(value.new_quality_score)?.toUpperCase()
  if (!template || score === undefined) return undefined
  const text = `The quality of the template ${template.name} (${template.language}) is ${score}.`
  const advice = ' Customers block or report it: change it, or send it less.'
  const isProblem = score === 'RED'
  const subject = `${template.name} ${template.language}`
  return { kind: 'template', subject, isProblem, text: isProblem ? text + advice : text }
}

const readers = new Map<unknown, (value: Json) => Words>([
  ['phone_number_quality_update', readNumberEvent],
  ['account_update', readAccountUpdate],
  ['message_template_quality_update', readTemplateQuality],
])
