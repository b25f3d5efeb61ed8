import { list, record, text, words } from './read-json.ts'
import type { Failed, Received } from './responses.ts'

/** A number in the API's own words (docs/contributors/messaging-api.md#numbers-and-tokens); null where it says nothing. */
export interface PhoneNumber {
  readonly id: string
  readonly displayPhoneNumber: string | null
  readonly verifiedName: string | null
  /** GREEN, YELLOW, RED, UNKNOWN. */
  readonly qualityRating: string | null
  readonly codeVerificationStatus: string | null
  readonly nameStatus: string | null
  /** CONNECTED, or it cannot send. */
  readonly status: string | null
  readonly throughput: string | null
  /** AVAILABLE, LIMITED, BLOCKED. */
  readonly canSendMessage: string | null
  /** Why it is limited or blocked. */
  readonly healthProblems: readonly string[]
}

export const phoneNumberFields =
  'id,display_phone_number,verified_name,quality_rating,code_verification_status,name_status,status,platform_type,throughput,health_status'

export const readPhoneNumber = (body: unknown): PhoneNumber | undefined => {
  const fields = record(body)
  const id = text(fields.id, idForm)
  if (id === undefined) return undefined
  const health = record(fields.health_status)
  return {
    id,
    displayPhoneNumber: words(fields.display_phone_number),
    verifiedName: words(fields.verified_name),
    qualityRating: words(fields.quality_rating),
    codeVerificationStatus: words(fields.code_verification_status),
    nameStatus: words(fields.name_status),
    status: words(fields.status),
    throughput: words(record(fields.throughput).level),
    canSendMessage: words(health.can_send_message),
    healthProblems: list(health.entities).flatMap(entity => problemsOf(record(entity))),
  }
}

const problemsOf = ({ entity_type, errors, additional_info }: Record<string, unknown>): string[] => {
  const problems = [...list(errors).map(error => record(error).error_description), ...list(additional_info)]
  return problems.flatMap(problem => words(problem) ?? []).map(problem => `${words(entity_type) ?? 'API'}: ${problem}`)
}

/** What a token may do, and until when (docs/contributors/messaging-api.md#numbers-and-tokens). */
export interface TokenInfo {
  readonly isValid: boolean
  readonly appId: string | null
  /** null: never. */
  readonly expiresAt: Date | null
  readonly scopes: readonly string[]
  /** targetIds: the accounts that the scope is for; null: all. */
  readonly granularScopes: readonly { readonly scope: string; readonly targetIds: readonly string[] | null }[]
}

export const readTokenInfo = (body: unknown): TokenInfo | undefined => {
  const { is_valid, app_id, expires_at, scopes, granular_scopes } = record(record(body).data)
  if (typeof is_valid !== 'boolean') return undefined
  return {
    isValid: is_valid,
    appId: words(app_id),
    expiresAt: typeof expires_at === 'number' && expires_at > 0 ? new Date(expires_at * 1000) : null,
    scopes: list(scopes).flatMap(scope => words(scope) ?? []),
    granularScopes: list(granular_scopes).flatMap(entry => {
      const { scope, target_ids } = record(entry)
      const targetIds = Array.isArray(target_ids) ? target_ids.map(String) : null
      return typeof scope === 'string' ? [{ scope, targetIds }] : []
    }),
  }
}

/** A template of the account's catalogue (docs/contributors/messaging-api.md#templates). */
export interface CatalogueTemplate {
  readonly id: string | null
  readonly name: string
  /** As in sends: en_US. */
  readonly language: string
  /** In capitals; only APPROVED may be sent. */
  readonly status: string
  readonly category: string | null
  readonly parameterFormat: 'POSITIONAL' | 'NAMED'
  /** As the API has them, types in capitals. */
  readonly components: readonly unknown[]
}

interface TemplatePage {
  readonly templates: readonly CatalogueTemplate[]
  /** The cursor of the next page; null on the last one, undefined where one is due and missing. */
  readonly after: string | null | undefined
}

const readTemplatePage = (body: unknown): TemplatePage | undefined => {
  const { data, paging } = record(body)
  if (!Array.isArray(data)) return undefined
  const { next, cursors } = record(paging)
  const after = typeof next === 'string' ? text(record(cursors).after, /^[\x21-\x7e]{1,2048}$/) : null
  return { templates: data.flatMap(readTemplate), after }
}

const readTemplate = (value: unknown): CatalogueTemplate[] => {
  const fields = record(value)
  const name = text(fields.name, /^[a-z0-9_]{1,512}$/)
  const language = text(fields.language, /^[A-Za-z]{2,3}([_-][A-Za-z]{2,4})?$/)
  if (name === undefined || language === undefined) return []
  return [
    {
      id: text(String(fields.id), idForm) ?? null,
      name,
      language: language.replace('-', '_'),
      status: (words(fields.status) ?? 'UNKNOWN').toUpperCase(),
      category: words(fields.category),
      parameterFormat: String(fields.parameter_format).toUpperCase() === 'NAMED' ? 'NAMED' : 'POSITIONAL',
      components: list(fields.components),
    },
  ]
}

const idForm = /^\d{1,64}$/

type ReadPage = (
  query: string,
  read: (body: unknown) => TemplatePage | undefined,
) => Promise<Received<TemplatePage> | Failed>

/** A page of the longest templates fits into `maxResponseBytes`. */
const pageSize = 25

/** An account has at most 6,000 templates. */
const mostPages = 1000

const fields = 'id,name,language,status,category,parameter_format,components'

/**
 * Reads page after page by the cursor. The address in `next` is never requested: it leaves our base
 * address, and may carry the token. A list that breaks off is a failure, not a shorter list.
 */
export const collectTemplates = async (readPage: ReadPage): Promise<Received<CatalogueTemplate[]> | Failed> => {
  const templates: CatalogueTemplate[] = []
  const cursors = new Set<string>()
  let query = `fields=${fields}&limit=${pageSize}`
  while (cursors.size < mostPages) {
    const response = await readPage(query, readTemplatePage)
    if (response.kind !== 'received') return response
    const { after } = response.value
    templates.push(...response.value.templates)
    if (after === null) return { ...response, value: templates }
    if (after === undefined || cursors.has(after)) break
    cursors.add(after)
    query = `fields=${fields}&limit=${pageSize}&after=${encodeURIComponent(after)}`
  }
  return { kind: 'no_response', reason: 'a list of templates whose cursors lead nowhere' }
}
