import { orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { matchText, toLine, toList, toRecord } from './read-json.ts'
import type { Failed, Received } from './responses.ts'

const wordOrNull = (...examples: string[]) => orNull(Type.String(), { examples })

/** Describes a number; each field is the API's word or null (docs/contributors/messaging-api.md#numbers-and-tokens). */
export const PhoneNumber = Type.Object({
  display_phone_number: wordOrNull('+94 11 200 0000'),
  verified_name: wordOrNull('Demo Couriers'),
  /** Must be CONNECTED, or the number cannot send. */
  status: wordOrNull('CONNECTED'),
  /** Is GREEN, YELLOW, RED or UNKNOWN. */
  quality_rating: wordOrNull('GREEN'),
  code_verification_status: wordOrNull('VERIFIED'),
  name_status: wordOrNull('APPROVED'),
  throughput: wordOrNull('STANDARD'),
  /** Is AVAILABLE, LIMITED or BLOCKED. */
  can_send_message: wordOrNull('AVAILABLE'),
})
/** `health_problems` says why a number is limited or blocked. */
export type PhoneNumber = Static<typeof PhoneNumber> & { readonly id: string; readonly health_problems: string[] }

export const phoneNumberFields =
  'id,display_phone_number,verified_name,quality_rating,code_verification_status,name_status,status,platform_type,throughput,health_status'

export const readPhoneNumber = (body: unknown): PhoneNumber | undefined => {
  const fields = toRecord(body)
  const id = matchText(fields.id, /^\d{1,64}$/)
  if (id === undefined) return undefined
  const health = toRecord(fields.health_status)
  const direct = Object.keys(PhoneNumber.properties).map(name => [name, toLine(fields[name])])
  return {
    id,
    ...(Object.fromEntries(direct) as Static<typeof PhoneNumber>),
    throughput: toLine(toRecord(fields.throughput).level),
    can_send_message: toLine(health.can_send_message),
    health_problems: toList(health.entities).map(toRecord).flatMap(listProblems),
  }
}

/** Describes what the platform says of the limit of a number's portfolio, and of the number's quality. */
export interface PortfolioResponse {
  readonly id: string
  /** Are the ids of the business and the account of the number; null if the response has none. */
  readonly businessId: string | null
  readonly accountId: string | null
  /** null means unlimited; undefined, that the response does not say. */
  readonly maxPeople: number | null | undefined
  readonly quality: string | null
  readonly displayNumber: string | null
}

export const ownerFields = 'quality_rating,display_phone_number,health_status'
export const portfolioFields = `whatsapp_business_manager_messaging_limit,${ownerFields}`

export const readPortfolio = (body: unknown): PortfolioResponse | undefined => {
  const fields = toRecord(body)
  const id = matchText(fields.id, /^\d{1,64}$/)
  if (id === undefined) return undefined
  const entities = toList(toRecord(fields.health_status).entities).map(toRecord)
  const findId = (type: string) =>
    matchText(entities.find(({ entity_type }) => entity_type === type)?.id, /^\d{1,64}$/) ?? null
  return {
    id,
    businessId: findId('BUSINESS'),
    accountId: findId('WABA'),
    maxPeople: readTier(fields.whatsapp_business_manager_messaging_limit),
    quality: toLine(fields.quality_rating),
    displayNumber: toLine(fields.display_phone_number),
  }
}

/** Reads a tier such as TIER_2K; null means unlimited, undefined that the word is none. */
export const readTier = (tier: unknown): number | null | undefined => {
  if (tier === 'TIER_UNLIMITED') return null
  const [, digits, thousands] = /^TIER_(\d{1,7})(K?)$/.exec(typeof tier === 'string' ? tier : '') ?? []
  return digits === undefined ? undefined : Number(digits) * (thousands ? 1000 : 1)
}

const listProblems = ({ entity_type, errors, additional_info }: Record<string, unknown>): string[] => {
  const problems = [...toList(errors).map(error => toRecord(error).error_description), ...toList(additional_info)]
  const source = toLine(entity_type) ?? 'API'
  return problems.flatMap(problem => toLine(problem) ?? []).map(problem => `${source}: ${problem}`)
}

/** Describes a token's rights and expiry; null means never (docs/contributors/messaging-api.md#numbers-and-tokens). */
export const TokenInfo = Type.Object({
  is_valid: Type.Boolean(),
  app_id: wordOrNull('670843887433847'),
  expires_at: wordOrNull(),
  scopes: Type.Array(Type.String({ examples: ['whatsapp_business_messaging'] })),
})
/** `accounts` lists the accounts to which the token's scopes apply; an empty list means all. */
export type TokenInfo = Static<typeof TokenInfo> & { readonly accounts: string[] }

/** Reads seconds since 1970. Returns null for 0, which means never, and for a time outside the calendar of Date. */
const readSeconds = (value: unknown): string | null => {
  const at = new Date(typeof value === 'number' && value > 0 ? value * 1000 : Number.NaN)
  return Number.isNaN(at.getTime()) ? null : at.toISOString()
}

export const readTokenInfo = (body: unknown): TokenInfo | undefined => {
  const { is_valid, app_id, expires_at, scopes, granular_scopes } = toRecord(toRecord(body).data)
  if (typeof is_valid !== 'boolean') return undefined
  return {
    is_valid,
    app_id: toLine(app_id),
    expires_at: readSeconds(expires_at),
    scopes: toList(scopes).flatMap(scope => toLine(scope) ?? []),
    accounts: toList(granular_scopes).flatMap(entry => toList(toRecord(entry).target_ids).map(String)),
  }
}

/** Reads the callback in force: that of the number wins over that of its account, and that over the app's. */
export const readCallback = (body: unknown): { url: string | null } | undefined => {
  const { id, webhook_configuration } = toRecord(body)
  if (matchText(id, /^\d{1,64}$/) === undefined) return undefined
  const { phone_number, whatsapp_business_account, application } = toRecord(webhook_configuration)
  return { url: toLine(phone_number) ?? toLine(whatsapp_business_account) ?? toLine(application) }
}

/** Reads whether an account has a payment method: an account without one lacks the field. */
export const readPaymentMethod = (body: unknown): boolean | undefined => {
  const { id, primary_funding_id } = toRecord(body)
  return matchText(id, /^\d{1,64}$/) === undefined ? undefined : toLine(primary_funding_id) !== null
}

export const readSubscribedApps = (body: unknown): string[] | undefined => {
  const { data } = toRecord(body)
  if (!Array.isArray(data)) return undefined
  return data.flatMap(entry => toLine(toRecord(toRecord(entry).whatsapp_business_api_data).id) ?? [])
}

export const readSubscribedFields = (body: unknown): string[] | undefined => {
  const { data } = toRecord(body)
  if (!Array.isArray(data)) return undefined
  const active = data
    .map(toRecord)
    .filter(({ object, active }) => object === 'whatsapp_business_account' && active !== false)
  const fields = active.flatMap(({ fields }) => toList(fields))
  return fields.flatMap(field => toLine(typeof field === 'string' ? field : toRecord(field).name) ?? [])
}

interface TemplatePage {
  readonly entries: unknown[]
  /** Leads to the next page; null on the last page, undefined if the cursor is missing or invalid. */
  readonly after: string | null | undefined
}

const readTemplatePage = (body: unknown): TemplatePage | undefined => {
  const { data, paging } = toRecord(body)
  if (!Array.isArray(data)) return undefined
  const { next, cursors } = toRecord(paging)
  const after = typeof next === 'string' ? matchText(toRecord(cursors).after, /^[\x21-\x7e]{1,2048}$/) : null
  return { entries: data, after }
}

type ReadPage = (query: string, read: typeof readTemplatePage) => Promise<Received<TemplatePage> | Failed>

/** An account has at most 6,000 templates. */
const mostPages = 1000

/** A page of the longest templates fits into `maxResponseBytes`. */
const templateQuery = 'fields=id,name,language,status,category,parameter_format,components&limit=25'

/**
 * Reads page after page by the cursor. Never requests the address in `next`, which may be outside our base address and
 * carry the token. A list that breaks off is a failure, not a shorter list.
 */
export const collectTemplates = async (readPage: ReadPage): Promise<Received<unknown[]> | Failed> => {
  const templates: unknown[] = []
  const cursors = new Set<string>()
  let query = templateQuery
  while (cursors.size < mostPages) {
    const response = await readPage(query, readTemplatePage)
    if (response.kind !== 'received') return response
    const { after, entries } = response.value
    templates.push(...entries)
    if (after === null) return { ...response, value: templates }
    if (after === undefined || cursors.has(after)) break
    cursors.add(after)
    query = `${templateQuery}&after=${encodeURIComponent(after)}`
  }
  return { kind: 'no_response', reason: 'a list of templates with missing, invalid or endless cursors' }
}
