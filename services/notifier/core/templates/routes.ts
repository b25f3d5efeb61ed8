import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { httpError, invalid } from '@courier/shared/errors/errors.ts'
import { goodText } from '@courier/shared/errors/field-errors.ts'
import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { listQuery, matching } from '@courier/shared/lists/filters.ts'
import type { Actor } from '@courier/shared/postgres/audit.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import { orNull, Time } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { normaliseLanguage, templateStatuses } from './catalogue.ts'
import type { SyncResult } from './sync.ts'

interface TemplatesOptions {
  pool: pg.Pool
  /** Syncs the account of the tenant's channel with that id or, without an id, of its default channel. */
  syncChannel: (tenant: string, phoneNumberId: string | undefined, by: Actor) => Promise<SyncResult>
}

const text = (maxLength: number, description: string) =>
  matching({ maxLength, pattern: goodText, must: `be a text of at most ${maxLength} characters`, description })

const filters = {
  name: text(512, 'Only templates of this name.'),
  status: text(50, 'Only templates of this status, such as APPROVED.'),
  language: text(20, 'Only templates in this language, such as en_US.'),
  category: text(50, 'Only templates of this category, such as UTILITY.'),
  waba_id: text(64, 'Only templates of this account.'),
}

const TemplatesQuery = listQuery(cursorFields, filters)
const cursors = listCursor(/^[\w.-]+$/, /^\w+$/, /^\w+$/)

const Template = Type.Object(
  {
    waba_id: Type.String({ description: 'The account.', examples: ['102290129340398'] }),
    name: Type.String({ examples: ['order_created'] }),
    language: Type.String({ examples: ['en_US'] }),
    status: Type.String({ description: 'Only an APPROVED template may be sent.', examples: ['APPROVED'] }),
    category: orNull(Type.String(), { examples: ['UTILITY'] }),
    parameter_format: Type.String({ description: 'POSITIONAL or NAMED.', examples: ['POSITIONAL'] }),
    components: Type.Array(Type.Unknown(), {
      description: 'The components as the messaging API lists them.',
      examples: [[{ type: 'BODY', text: 'Hello {{1}}, your parcel {{2}} is on its way.' }]],
    }),
    held: orNull(Type.Object({ at: Time(), code: orNull(Type.Integer()) }), {
      examples: [null],
      description: 'Set while the messaging API refuses the template: nothing is sent with it.',
    }),
    category_change: orNull(Type.Object({ from: orNull(Type.String()), to: Type.String(), at: Time() }), {
      description: 'The latest change that the platform made or announced; `at` may lie ahead.',
      examples: [null],
    }),
    budget_paused_at: orNull(Time(), {
      description: "Set while the tenant's budget is used up: the template is sent only about parcels.",
    }),
    synced_at: Time(),
  },
  { title: 'Template' },
)

const Templates = PageOf(Template, 'TemplateList')

const SyncBody = orNull(
  Type.Object({ channel: Type.Optional(orNull(Type.String({ maxLength: 64, description: 'Phone number id.' }))) }),
  { examples: [{ channel: '106540352242922' }] },
)

const Counts = Type.Object(
  {
    message: Type.String({ examples: ['Templates Synced Successfully'] }),
    data: Type.Object({
      templates: Type.Integer(),
      added: Type.Integer(),
      changed: Type.Integer(),
      removed: Type.Integer(),
      skipped: Type.Integer({ description: 'Entries that are not valid templates, or repeat one.' }),
    }),
  },
  { title: 'TemplatesSynced' },
)

export const templateRoutes: FastifyPluginAsyncTypebox<TemplatesOptions> = async (app, { pool, syncChannel }) => {
  const ListTemplates = {
    operationId: 'listTemplates',
    summary: 'List the templates',
    querystring: TemplatesQuery.schema,
    response: { 200: Templates },
  }
  app.get('/api/templates', { schema: ListTemplates }, request => findPage(pool, request.staff.tenant, request.query))

  const SyncTemplates = {
    operationId: 'syncTemplates',
    summary: 'Read the catalogue of the account again',
    body: SyncBody,
    response: { 200: Counts },
  }
  app.post('/api/templates/sync', { ...refusesKeys, schema: SyncTemplates }, async request => {
    const { tenant, actor } = request.staff
    return toResponse(await syncChannel(tenant, request.body?.channel ?? undefined, actor))
  })
}

const findPage = async (pool: pg.Pool, tenant: string, given: Static<typeof TemplatesQuery.schema>) => {
  const wanted = TemplatesQuery.read(given)
  const filter = {
    ...wanted,
    status: wanted.status?.toUpperCase(),
    category: wanted.category?.toUpperCase(),
    language: wanted.language && normaliseLanguage(wanted.language),
  }
  const { after, limit } = cursors.read(given)
  const rows = await inTenant(pool, tenant, (tx: Tx) => listTemplates(tx, tenant, filter, after, limit + 1))
  // The messaging API may have statuses that this service does not know.
  if (filter.status && rows.length === 0 && !templateStatuses.includes(filter.status))
    throw invalid({ [TemplatesQuery.findField(given, 'status')]: [unknownStatus] })
  const { data, next_cursor } = cursors.toPage(rows, limit, row => [row.waba_id, row.name, row.language])
  return { data: data.map(show), next_cursor }
}

interface TemplateRow extends Omit<Static<typeof Template>, 'held' | 'category_change'> {
  readonly held_at: Date | null
  readonly held_code: number | null
  readonly category_from: string | null
  readonly category_to: string | null
  readonly category_at: Date | null
}

type TemplateFilter = Partial<Record<'name' | 'status' | 'language' | 'category' | 'waba_id', string | undefined>>

/** Lists the tenant's templates after a position, by account, name and language. */
const listTemplates = (tx: Tx, tenant: string, filter: TemplateFilter, after: readonly string[], limit: number) => {
  const [account = '', name = '', language = ''] = after
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined)
  const conditions = wanted.map(([column, value]) => sql`and ${sql.ref(column)} = ${value}`)
  return query<TemplateRow>(tx)`
    select * from templates
    where tenant_id = ${tenant} and (waba_id, name, language) > (${account}, ${name}, ${language})
      ${sql.join(conditions, sql` `)}
    order by waba_id, name, language limit ${limit}`
}

const unknownStatus = `The selected status is invalid. The statuses are ${templateStatuses.join(', ')}.`

const show = ({ held_at, held_code, category_from: from, category_to: to, category_at: at, ...row }: TemplateRow) => ({
  ...row,
  held: held_at && { at: held_at, code: held_code },
  category_change: to !== null && at !== null ? { from, to, at } : null,
})

const toResponse = (result: SyncResult): Static<typeof Counts> => {
  if (result.kind === 'refused') throw invalid({ channel: [result.reason] })
  if (result.kind === 'failed') throw httpError('unavailable', result.reason, { retryAfterSeconds: 5 })
  const { kind, ...data } = result
  return { message: 'Templates Synced Successfully', data }
}
