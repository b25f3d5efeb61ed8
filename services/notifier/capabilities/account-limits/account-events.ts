import { readTier } from '../../core/messaging-api/account-responses.ts'
import { type Json, toInteger, toList, toRecord } from '../../core/messaging-api/read-json.ts'
import type { AccountReader } from '../../core/platform-webhooks/envelope.ts'
import { readContent, readText, readWord } from '../../core/platform-webhooks/json.ts'
import { readTemplate } from '../../core/platform-webhooks/template-events.ts'
import type { Notice } from './notices.ts'

/** Is news kept for staff, or the messaging limit of an account's portfolio, null for unlimited. */
export type AccountNews = { readonly maxPeople: number | null } | Words

/** Reads what limits an account, and news kept for staff (docs/contributors/messaging-api.md#account-events). */
const readNews = (field: unknown, value: Json): AccountNews[] => {
  const maxPeople = readLimit(value.max_daily_conversations_per_business)
  const isLimit = field === 'business_capability_update' || field === 'phone_number_quality_update'
  const notice = readers.get(field)?.(value)
  return [...(isLimit && maxPeople !== undefined ? [{ maxPeople }] : []), ...(notice ? [notice] : [])]
}

/** The platform writes the limit as a number, -1 for unlimited, or as a tier such as TIER_2K. */
const readLimit = (value: unknown): number | null | undefined => {
  const count = toInteger(value)
  if (count === undefined) return readTier(value)
  return count === -1 ? null : count > 0 && count <= 1_000_000_000 ? count : undefined
}

type Words = Pick<Notice, 'kind' | 'subject' | 'isProblem' | 'text'>

const readNumberEvent = (value: Json): Words | undefined => {
  const event = readWord(value.event)
  const number = readNumber(value)
  if (event === undefined || number === undefined) return undefined
  const kind = event.endsWith('flagged') ? 'quality' : 'throughput'
  const [isProblem, words] = numberEvents.get(event) ?? [false, `reports ${event} of`]
  return { kind, subject: number, isProblem, text: `The platform ${words} +${number}.` }
}
const numberEvents = new Map<string, readonly [isProblem: boolean, words: string]>([
  ['flagged', [true, 'finds the quality low and may limit']],
  ['unflagged', [false, 'finds the quality good again of']],
  ['downgrade', [true, 'lowered the limit of']],
  ['upgrade', [false, 'raised the limit of']],
  ['throughput_upgrade', [false, 'raised the messages per second of']],
])

const readAccountUpdate = (value: Json): Words | undefined => {
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
    // A partner that is added again ends the trouble of its removal.
    subject: event.startsWith('partner_') ? 'partner' : event,
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
  ['partner_removed', 'The account was taken from the partner of the platform: messages and webhooks of it may stop.'],
  ['partner_app_uninstalled', 'The app was removed from the account: no webhook of it comes.'],
])

const readTemplateQuality = (value: Json): Words | undefined => {
  const template = readTemplate('', value)
  const score = readWord(value.new_quality_score)?.toUpperCase()
  if (!template || score === undefined) return undefined
  const text = `The quality of the template ${template.name} (${template.language}) is ${score}.`
  const advice = ' Customers block or report it: change it, or send it less.'
  const isProblem = score === 'RED'
  const subject = `${template.name} ${template.language}`
  return { kind: 'template', subject, isProblem, text: isProblem ? text + advice : text }
}

const readNumber = (value: Json): string | undefined =>
  /^\+?([\d ()-]{5,30})$/.exec(readText(value.display_phone_number, 40) ?? '')?.[1]?.replace(/\D/g, '')

const tellAccount = (subject: string, isProblem: boolean, text: string, ...more: unknown[]): Words => {
  const rest = more.flatMap(each => readContent(each, 300) ?? []).join(' ')
  return { kind: 'account', subject, isProblem, text: rest ? `${text} ${rest}` : text }
}

const readSecurity = (value: Json): Words | undefined => {
  const [event, number] = [readWord(value.event), readNumber(value)]
  if (event === undefined || number === undefined) return undefined
  const advice = 'If nobody of yours did it, set a new PIN.'
  return tellAccount(`security ${number}`, true, `Two-step verification of +${number}: ${event}. ${advice}`)
}

const readName = (value: Json): Words | undefined => {
  const [decision, number, reason] = [readWord(value.decision), readNumber(value), readWord(value.rejection_reason)]
  if (decision === undefined || number === undefined) return undefined
  const why = decision === 'approved' || !reason || reason === 'none' ? undefined : `(${reason})`
  const text = `The display name of +${number} is ${decision}.`
  return tellAccount(`name ${number}`, decision === 'rejected', text, why)
}

const readReview = (value: Json): Words | undefined => {
  const decision = readWord(value.decision)
  if (decision === undefined) return undefined
  return tellAccount('review', decision === 'rejected', `The review of the account: ${decision}.`)
}

const readAlert = (value: Json): Words | undefined => {
  const { alert_type, alert_severity, alert_description } = { ...value, ...toRecord(value.alert_info) }
  const [type, severity] = [readWord(alert_type), readWord(alert_severity)]
  if (type === undefined) return undefined
  return tellAccount(
    `alert ${type}`,
    severity !== 'informational',
    `Alert of the platform: ${type}.`,
    alert_description,
  )
}

const readBusiness = (value: Json): Words | undefined => {
  const event = readWord(value.event)
  if (event === undefined) return undefined
  return tellAccount('business', true, `The status of the business: ${event}.`)
}

const readFlow = (value: Json): Words | undefined => {
  const [event, id] = [readWord(value.event), readText(value.flow_id, 40) ?? '']
  if (event === undefined) return undefined
  return tellAccount(`flow ${event} ${id}`.trim(), true, `A flow reports ${event}.`, value.message)
}

/** Reads the errors of a webhook that concern no message. */
const readErrors = (value: Json): Words | undefined => {
  const { code, title, message } = toRecord(toList(value.errors)[0])
  const number = toInteger(code)
  const text = readContent(title ?? message, 300)
  if (number === undefined || text === undefined) return undefined
  return tellAccount(`error ${number}`, true, `The platform reports error ${number}: ${text}.`)
}

const readers = new Map<unknown, (value: Json) => Words | undefined>([
  ['phone_number_quality_update', readNumberEvent],
  ['account_update', readAccountUpdate],
  ['message_template_quality_update', readTemplateQuality],
  ['security', readSecurity],
  ['phone_number_name_update', readName],
  ['account_review_update', readReview],
  ['account_alerts', readAlert],
  ['business_status_update', readBusiness],
  ['flows', readFlow],
  ['messages', readErrors],
])

export const accountReader: AccountReader = {
  fields: [...readers.keys(), 'business_capability_update'],
  read: readNews,
}
