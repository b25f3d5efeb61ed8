import type { Actor } from '@courier/shared/audit.ts'
import { inTenant } from '@courier/shared/database.ts'
import { DomainError, errorAnswers, invalid } from '@courier/shared/http/errors.ts'
import { goodText } from '@courier/shared/http/faults.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { normaliseLanguage } from './catalogue.ts'
import { listTemplates, type TemplateKey, type TemplateRow } from './queries.ts'
import type { SyncAnswer } from './sync.ts'

export interface TemplatesOptions {
  pool: pg.Pool
  staffOf: (request: FastifyRequest) => { tenant: string; actor: Actor }
  /** Syncs the account of a channel of the tenant, without an id of its default one. */
  syncChannel: (tenant: string, phoneNumberId: string | undefined, by: Actor) => Promise<SyncAnswer>
}

const text = (maxLength: number, description: string) =>
  Type.Optional(
    Type.String({ maxLength, pattern: goodText, must: `be a text of at most ${maxLength} characters`, description }),
  )

const TemplatesQuery = Type.Object({
  name: text(512, 'Only templates of this name.'),
  status: text(50, 'Only templates of this status, such as APPROVED.'),
  language: text(20, 'Only templates in this language, such as en_US.'),
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9]|[1-9][0-9]|1[0-9][0-9]|200)$',
      description: 'How many at most; 50 without it.',
      must: 'be a whole number, 1 to 200',
    }),
  ),
  cursor: text(2000, 'The next_cursor of the page before.'),
})

const orNull = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) => Type.Union([schema, Type.Null()])

const Template = Type.Object(
  {
    waba_id: Type.String({ description: 'The account.' }),
    name: Type.String(),
    language: Type.String(),
    status: Type.String({ description: 'Only an APPROVED template may be sent.' }),
    category: orNull(Type.String()),
    parameter_format: Type.String({ description: 'POSITIONAL or NAMED.' }),
    components: Type.Array(Type.Unknown(), { description: 'As the messaging API lists them.' }),
    held: Type.Union([Type.Object({ at: Type.String(), code: orNull(Type.Integer()) }), Type.Null()], {
      description: 'Set while the messaging API refuses the template: nothing is sent with it.',
    }),
    synced_at: Type.String(),
  },
  { title: 'Template' },
)

const Templates = Type.Object({ data: Type.Array(Template), next_cursor: orNull(Type.String()) })

const SyncBody = orNull(
  Type.Object({ channel: Type.Optional(orNull(Type.String({ maxLength: 64, description: 'Phone number id.' }))) }),
)

const Counts = Type.Object({
  message: Type.String(),
  data: Type.Object({
    templates: Type.Integer(),
    added: Type.Integer(),
    changed: Type.Integer(),
    removed: Type.Integer(),
    skipped: Type.Integer({ description: 'Entries that are no templates as we know them.' }),
  }),
})

const tags = ['templates']
const security = [{ token: [] }]

/** The account's catalogue of templates. */
export const templates: FastifyPluginAsyncTypebox<TemplatesOptions> = async (app, { pool, staffOf, syncChannel }) => {
  app.get(
    '/api/templates',
    {
      schema: {
        tags,
        summary: 'List the templates',
        security,
        querystring: TemplatesQuery,
        response: { 200: Templates, ...errorAnswers(400, 401, 422, 429, 503) },
      },
    },
    request => findPage(pool, staffOf(request).tenant, request.query),
  )

  app.post(
    '/api/templates/sync',
    {
      schema: {
        tags,
        summary: 'Read the catalogue of the account anew',
        security,
        body: SyncBody,
        response: { 200: Counts, ...errorAnswers(400, 401, 413, 415, 422, 429, 503) },
      },
    },
    async request => {
      const { tenant, actor } = staffOf(request)
      return synced(await syncChannel(tenant, request.body?.channel ?? undefined, actor))
    },
  )
}

const findPage = async (
  pool: pg.Pool,
  tenant: string,
  { limit = '50', cursor, ...wanted }: Static<typeof TemplatesQuery>,
): Promise<Static<typeof Templates>> => {
  const filter = {
    name: wanted.name || undefined,
    status: wanted.status?.toUpperCase() || undefined,
    language: wanted.language ? normaliseLanguage(wanted.language) : undefined,
  }
  const after = readCursor(cursor)
  const count = Number(limit)
  const rows = await inTenant(pool, tenant, (tx: Tx) => listTemplates(tx, tenant, filter, after, count + 1))
  const last = rows.length > count ? rows[count - 1] : undefined
  return {
    data: rows.slice(0, count).map(shown),
    next_cursor: last ? writeCursor([last.waba_id, last.name, last.language]) : null,
  }
}

const shown = ({ template_id, held_at, held_code, ...row }: TemplateRow): Static<typeof Template> => ({
  ...row,
  components: row.components as unknown[],
  held: held_at && { at: held_at.toISOString(), code: held_code },
  synced_at: row.synced_at.toISOString(),
})

const writeCursor = (key: TemplateKey): string => Buffer.from(JSON.stringify(key)).toString('base64url')

const readCursor = (cursor: string | undefined): TemplateKey => {
  if (!cursor) return ['', '', '']
  const fields = Buffer.from(cursor, 'base64url')
    .toString()
    .match(/^\["([\w.-]*)","(\w*)","(\w*)"\]$/)
  if (!fields) throw invalid({ cursor: ['The cursor field must be the next_cursor of an earlier answer.'] })
  return [fields[1] ?? '', fields[2] ?? '', fields[3] ?? '']
}

const synced = (answer: SyncAnswer): Static<typeof Counts> => {
  switch (answer.kind) {
    case 'synced': {
      const { kind, ...data } = answer
      return { message: 'Templates Synced Successfully', data }
    }
    case 'unknown_channel':
      throw invalid({ channel: ['The selected channel is invalid.'] })
    case 'no_account':
      throw invalid({ channel: ['The channel has no waba_id: set it, it names the account that owns the templates.'] })
    case 'refused':
      throw invalid({ channel: [`The messaging API refused to list the templates: ${answer.code}, ${answer.details}`] })
    case 'failed':
      throw new DomainError('unavailable', `The templates could not be read: ${answer.reason}`, {
        retryAfterSeconds: 5,
      })
  }
}
