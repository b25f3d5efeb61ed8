import { invalid } from '@courier/shared/errors/errors.ts'
import { cursorFields, listCursor } from '@courier/shared/lists/cursor.ts'
import { isDate } from '@courier/shared/lists/dates.ts'
import { auditNouns } from '@courier/shared/postgres/audit.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { oneOf } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { Day, textField } from '../../core/actions/fields.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import { nullable, Waybill } from '../money/ledger/fields.ts'
import { formatField, jsonOrCsv, streamCsv } from '../money/papers/csv.ts'
import { nextCursor, readAll } from './book-pages.ts'
import { checkDays } from './days.ts'

const Entry = Type.Object(
  {
    at: Type.String({ examples: ['2026-02-19T08:30:00.000000Z'] }),
    actor_kind: Type.String({ description: 'operator, staff, merchant or customer.', examples: ['staff'] }),
    actor: Type.String({ description: 'Who did it; of a merchant, the id.', examples: ['Chamari'] }),
    action: Type.String({ description: 'A noun and a verb.', examples: ['payout.released'] }),
    object_id: nullable('The parcel, invoice, batch or other thing that it was done to.'),
    token_id: nullable('The token that was used.'),
    request_id: nullable('The `x-request-id` of the request.'),
    details: Type.Union([Type.Array(Type.String({ examples: ['company tax_percent: 0 -> 18'] })), Type.Null()], {
      description: 'Settings that a company file changed, with their old and new values; null: another action.',
    }),
  },
  { title: 'AuditEntry' },
)
type Entry = Static<typeof Entry> & { audit_id: string }

const maxDays = 366
const Query = Type.Object({
  ...cursorFields,
  from: Day,
  to: { ...Day, description: `The last day; at most ${maxDays} days are read at once.` },
  noun: Type.Optional(oneOf(auditNouns, { description: 'The noun of the action. Default: all.' })),
  person: Type.Optional({ ...textField(200, 'be the name of a person', 'Chamari'), description: 'Default: all.' }),
  waybill_number: Type.Optional({ ...Waybill, description: 'What was done to this parcel. Default: to anything.' }),
  format: formatField('json', 'csv'),
})
const time = /^[12]\d{3}-\d\d-\d\dT([01]\d|2[0-3])(:[0-5]\d){2}\.\d{6}Z$/
const cursors = listCursor({ test: text => time.test(text) && isDate(text.slice(0, 10)) }, /^\d{1,18}$/)
type Position = readonly [at: string, id: string]

/** Serves staff the audit: who did what, newest first. */
export const auditRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const schema = {
    operationId: 'listAudit',
    summary: 'List who did what, newest first',
    querystring: Query,
    response: { 200: jsonOrCsv('The entries; CSV has all.', Type.Array(Entry), Entry, {}, nextCursor) },
  }
  app.get('/audit', { schema }, async ({ staff: { tenant }, query }, reply) => {
    const { from, to, noun = null, person = null, waybill_number = null, format } = query
    await checkDays(pool, tenant, query)
    if ((Date.parse(to) - Date.parse(from)) / 86_400_000 >= maxDays)
      throw invalid({ to: [`Give at most ${maxDays} days.`] })
    const read = (after: Position | null, limit: number) => {
      const values = [tenant, from, to, noun, person, waybill_number, ...(after ?? [null, null]), limit]
      return readInTenant<Entry>(pool, tenant, { name: 'read_audit', text: auditSql, values })
    }
    const toPosition = ({ at, audit_id }: Entry): Position => [at, audit_id]
    if (format === 'csv') {
      const toRows = (rows: Entry[]) => rows.map(row => ({ ...row, details: row.details?.join('; ') }))
      return streamCsv(reply, `audit-${from}-${to}.csv`, readAll(read, toPosition, toRows), Entry)
    }
    const { after, limit } = cursors.read(query)
    const [at, id] = after
    const rows = await read(at !== undefined && id !== undefined ? [at, id] : null, limit + 1)
    return cursors.toPage(rows, limit, toPosition)
  })
}

const auditSql = `
  select ${isoTime('happened_at')} as at, audit_id::text, actor_kind, actor, action, object_id, token_id, request_id,
    details
  from audit join tenants on tenants.tenant_id = $1
  where audit.tenant_id = $1 and happened_at >= $2::date::timestamp at time zone time_zone
    and happened_at < ($3::date + 1)::timestamp at time zone time_zone
    and ($4::text is null or split_part(action, '.', 1) = $4) and ($5::text is null or actor = $5)
    and ($6::text is null or object_id = $6)
    and ($7::timestamptz is null or (happened_at, audit_id) < ($7::timestamptz, $8::bigint))
  order by happened_at desc, audit.audit_id desc limit $9`
