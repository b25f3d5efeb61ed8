import { orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { list, record, text, words } from './read-json.ts'
import type { Failed, Received } from './responses.ts'

const word = (...examples: string[]) => orNull(Type.String(), { examples })

/** Describes a number; each field is the API's word or null (docs/contributors/messaging-api.md#numbers-and-tokens). */
export const PhoneNumber = Type.Object({
  display_phone_number: word('+94 11 200 0000'),
  verified_name: word('Demo Couriers'),
  /** Must be CONNECTED, or the number cannot send. */
  status: word('CONNECTED'),
  /** Is GREEN, YELLOW, RED or UNKNOWN. */
  quality_rating: word('GREEN'),
  code_verification_status: word('VERIFIED'),
  name_status: word('APPROVED'),
  throughput: word('STANDARD'),
  /** Is AVAILABLE, LIMITED or BLOCKED. */
  can_send_message: word('AVAILABLE'),
})
/** `health_problems` says why a number is limited or blocked. */
export type PhoneNumber = Static<typeof PhoneNumber> & { readonly id: string; readonly health_problems: string[] }

export const phoneNumberFields =
  'id,display_phone_number,verified_name,quality_rating,code_verification_status,name_status,status,platform_type,throughput,health_status'

export const readPhoneNumber = (body: unknown): PhoneNumber | undefined => {
  const fields = record(body)
  const id = text(fields.id, /^\d{1,64}$/)
  if (id === undefined) return undefined
  const health = record(fields.health_status)
  const direct = Object.keys(PhoneNumber.properties).map(name => [name, words(fields[name])])
  return {
    id,
    ...(Object.fromEntries(direct) as Static<typeof PhoneNumber>),
    throughput: words(record(fields.throughput).level),
    can_send_message: words(health.can_send_message),
    health_problems: list(health.entities).map(record).flatMap(listProblems),
  }
}

const listProblems = ({ entity_type, errors, additional_info }: Record<string, unknown>): string[] => {
  const problems = [...list(errors).map(error => record(error).error_description), ...list(additional_info)]
  return problems.flatMap(problem => words(problem) ?? []).map(problem => `${words(entity_type) ?? 'API'}: ${problem}`)
}

/** Describes a token's rights and expiry; null means never (docs/contributors/messaging-api.md#numbers-and-tokens). */
export const TokenInfo = Type.Object({
  is_valid: Type.Boolean(),
  app_id: word('670843887433847'),
  expires_at: word(),
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
  const { is_valid, app_id, expires_at, scopes, granular_scopes } = record(record(body).data)
  if (typeof is_valid !== 'boolean') return undefined
  return {
    is_valid,
    app_id: words(app_id),
    expires_at: readSeconds(expires_at),
    scopes: list(scopes).flatMap(scope => words(scope) ?? []),
    accounts: list(granular_scopes).flatMap(entry => list(record(entry).target_ids).map(String)),
  }
}

interface TemplatePage {
  readonly entries: unknown[]
  /** Leads to the next page; null on the last page, undefined if the cursor is missing or invalid. */
  readonly after: string | null | undefined
}

const readTemplatePage = (body: unknown): TemplatePage | undefined => {
  const { data, paging } = record(body)
  if (!Array.isArray(data)) return undefined
  const { next, cursors } = record(paging)
  const after = typeof next === 'string' ? text(record(cursors).after, /^[\x21-\x7e]{1,2048}$/) : null
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
