import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { httpError } from '@courier/shared/errors/errors.ts'
import { textPattern } from '@courier/shared/lists/filters.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { component, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { findActiveBusinesses } from '../../core/access/queries.ts'
import { type Acted, addAction, type Call, defineBody, refuse } from '../../core/actions/action.ts'
import { textField } from '../../core/actions/fields.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { ChangeOptions } from '../../core/moves/move.ts'
import { listAddresses } from './addresses.ts'
import { pickable, storeRequest } from './requests.ts'
import { Id, IdParams, Nothing } from './schema.ts'

/** Is the type by which merchants' programs ask for a pickup of all confirmed parcels. */
const pickupType = 4
const maxReplies = 50

const NewTicket = Type.Object(
  {
    ticket_type_id: {
      ...Id,
      examples: [2],
      description: '4: a pickup of all confirmed parcels; any other: a message.',
    },
    subject: textField(255, 'be text of at most 255 characters', 'A question'),
    message: Type.Optional(
      Type.Union(
        [Type.String({ maxLength: 800, pattern: textPattern, examples: ['When do you come?'] }), Type.Null()],
        {
          must: 'be text of at most 800 characters',
        },
      ),
    ),
  },
  { title: 'NewTicket' },
)
const time = Type.String({ examples: ['2026-02-19T10:03:00.000000Z'] })
const Ticket = component('Ticket', {
  id: Type.Integer({ examples: [5] }),
  ticket_type_id: Type.Integer({ examples: [2] }),
  merchant: Type.Object({ id: Type.Integer(), name: Type.String() }),
  subject: Type.String(),
  message: Type.String(),
  created_at: time,
  closed_at: orNull(time),
  replies: Type.Array(Type.Object({ text: Type.String(), by: Type.String(), at: Type.String() })),
})
type Ticket = Static<typeof Ticket>
const listResponse = { 200: Type.Object({ data: Type.Array(Ticket) }) }
const Reply = defineBody('TicketReply', { text: textField(1000, 'be text of at most 1000 characters', 'At noon.') })

const readTickets = (tx: Tx, tenant: string, merchantId: string | null, id: string | null = null) =>
  tx.rows<Ticket>({ name: 'list_tickets', text: listSql, values: [tenant, merchantId, id] })

const listSql = `
  select ticket_id::float8 as id, type_id as ticket_type_id, subject, message, ${isoTime('t.created_at')} as created_at,
    ${isoTime('closed_at')} as closed_at, replies, json_build_object('id', t.merchant_id, 'name', m.name) as merchant
  from tickets t join merchants m on m.tenant_id = t.tenant_id and m.merchant_id = t.merchant_id
  where t.tenant_id = $1 and ($2::bigint is null or t.merchant_id = $2) and ($3::bigint is null or ticket_id = $3)
  order by closed_at is not null, ticket_id desc limit 500`

/** Accepts forms beside JSON: merchants' programs send either. */
const acceptForms = (app: FastifyInstance): void => {
  acceptJson(app)
  app.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: { headers: object }, body: Buffer) => {
      const headers = { 'content-type': (request.headers as Record<string, string>)['content-type'] ?? '' }
      const form = await new Response(new Uint8Array(body), { headers }).formData().catch(() => undefined)
      if (!form) throw httpError('malformed_request', 'The body is not a valid form.')
      const fields = [...form].filter(([, value]) => typeof value === 'string')
      if (new Set(fields.map(([name]) => name)).size < fields.length)
        throw httpError('malformed_request', 'The body has a field twice.')
      return Object.fromEntries(fields)
    },
  )
}

/** Serves the messages of a merchant to the company (docs/merchants/pickups.md#messages). */
export const merchantTicketRoutes: FastifyPluginAsyncTypebox<Pick<ChangeOptions, 'pool' | 'onChanged'>> = async (
  app,
  { pool, onChanged },
) => {
  acceptForms(app)
  addAction(app, pool, {
    path: '/ticket',
    operationId: 'createTicket',
    action: 'ticket.created',
    summary: 'Write to the company, or ask for a pickup of all confirmed parcels',
    message: 'Ticket Created Successfully',
    body: NewTicket,
    data: Type.Object({ id: Type.Integer({ examples: [5] }) }),
    act: createTicket,
    onDone: onChanged,
  })
  const schema = { operationId: 'listTickets', summary: 'List your messages to the company', response: listResponse }
  app.get('/ticket', { schema }, async ({ merchant: { tenant, merchantId } }) => ({
    data: await inTenant(pool, tenant, (tx: Tx) => readTickets(tx, tenant, merchantId)),
  }))
}

const createTicket = async (tx: Tx, call: Call<Static<typeof NewTicket>>): Promise<Acted<{ id: number }>> => {
  const { tenant, merchantId, body } = call
  const isPickup = Number(body.ticket_type_id) === pickupType
  const text = body.message?.trim() ?? ''
  const refused = isPickup ? await pickUpAll(tx, call, [body.subject, text].filter(Boolean).join('\n')) : undefined
  if (refused) return refused
  const values = [tenant, merchantId, Number(body.ticket_type_id), body.subject, text, isPickup]
  const [added] = await tx.rows<{ id: number }>(createSql, values)
  const id = Number(added?.id)
  return { kind: 'done', data: { id }, objects: [String(id)] }
}

const createSql = `
  insert into tickets (tenant_id, merchant_id, type_id, subject, message, created_at, closed_at, replies)
  values ($1, $2, $3, $4, $5, now(), case when $6::boolean then now() end, '[]') returning ticket_id as id`

/** Asks for a pickup today at each business with confirmed parcels, or at the default business. */
const pickUpAll = async (tx: Tx, { tenant, merchantId, by }: Call<unknown>, note: string) => {
  const of = merchantId ?? ''
  const businesses = await findActiveBusinesses(tx, tenant, of)
  const [addresses, rows, [company]] = [
    await listAddresses(tx, tenant, of),
    await tx.rows<{ business_id: number }>(confirmedSql, [tenant, of, pickable]),
    await tx.rows<{ day: string }>(todaySql, [tenant]),
  ]
  const full = businesses.filter(each => rows.some(row => row.business_id === each.business_id))
  const wanted = full.length > 0 ? full : businesses.filter(each => each.is_default || businesses.length === 1)
  if (wanted.length === 0) return refuse('ticket_type_id', 'There are no confirmed parcels.')
  for (const { business_id: businessId } of wanted) {
    const usual = addresses.find(row => row.merchant_business_id === businessId && row.is_default)
    const place = { tenant, merchantId: of, businessId, addressId: usual?.id ?? 0, day: company?.day ?? '' }
    const stored = await storeRequest(tx, { ...place, all: true, parcels: 0, waybills: [], note }, by.kind)
    if (stored.kind === 'refused') return stored
  }
  return undefined
}

const confirmedSql = `
  select distinct business_id from orders where tenant_id = $1 and merchant_id = $2 and status_key = any($3::text[])`
const todaySql = 'select (now() at time zone time_zone)::date::text as day from tenants where tenant_id = $1'

/** Lets staff answer and close what merchants wrote (docs/staff/pickups.md#messages). */
export const staffTicketRoutes: FastifyPluginAsyncTypebox<Pick<ChangeOptions, 'pool' | 'onChanged'>> = async (
  app,
  { pool },
) => {
  acceptJson(app)
  const schema = {
    operationId: 'listAllTickets',
    summary: 'List what merchants wrote, the open ones first',
    response: listResponse,
  }
  app.get('/ticket', { schema }, async ({ staff: { tenant } }) => ({
    data: await inTenant(pool, tenant, (tx: Tx) => readTickets(tx, tenant, null)),
  }))
  const change = async (
    tx: Tx,
    { tenant, id }: Call<unknown>,
    sql: string,
    values: unknown[],
  ): Promise<Acted<Ticket>> => {
    const { rowCount } = await tx.client.query(sql, [tenant, id, ...values])
    const [data] = await readTickets(tx, tenant, null, id)
    if (!data) return { kind: 'unknown', what: 'ticket' }
    if (rowCount) return { kind: 'done', data, objects: [id] }
    return refuse('ticket', data.closed_at ? 'The ticket is closed.' : `A ticket has at most ${maxReplies} replies.`)
  }
  const common = { params: IdParams, data: Ticket }
  addAction(app, pool, {
    ...common,
    path: '/ticket/:id/reply',
    operationId: 'replyToTicket',
    action: 'ticket.replied',
    summary: 'Reply to a merchant',
    message: 'Reply Stored Successfully',
    body: Reply,
    act: (tx, call) => change(tx, call, replySql, [call.body.text, call.by.name]),
  })
  addAction(app, pool, {
    ...common,
    path: '/ticket/:id/close',
    operationId: 'closeTicket',
    action: 'ticket.closed',
    summary: 'Close what a merchant wrote',
    message: 'Ticket Closed Successfully',
    body: Nothing,
    act: (tx, call) => change(tx, call, closeSql, []),
  })
}

const replySql = `
  update tickets set replies = replies || jsonb_build_array(jsonb_build_object('text', $3::text, 'by', $4::text,
    'at', ${isoTime('now()')}))
  where tenant_id = $1 and ticket_id = $2::bigint and closed_at is null and jsonb_array_length(replies) < ${maxReplies}`
const closeSql = `
  update tickets set closed_at = now() where tenant_id = $1 and ticket_id = $2::bigint and closed_at is null`
