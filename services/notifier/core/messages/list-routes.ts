import type { Staff } from '@courier/shared/access/staff.ts'
import { createBulkheads, refuseBusy } from '@courier/shared/edge/bulkheads.ts'
import { errorResponses, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { normalisePhone } from '@courier/shared/phone-number.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { findRecipient } from '../conversations/identities.ts'
import { findCountry } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { isUserId } from '../messaging-api/user-id.ts'
import {
  findMessage,
  findTimelines,
  hasNoIndex,
  listMessages,
  MessagesQuery,
  messageCursor,
  messageId,
} from './queries.ts'
import { createMessageSummary, MessageSummary } from './summary.ts'
import type { MessageFacet } from './view.ts'
import { defineViews, type Message, type MessageRow, messageView } from './view.ts'

export const ById = Type.Object({ id: Type.String({ ...messageId, must: 'be the id of a message' }) })

type Facets = readonly MessageFacet[]

/** Limits how many requests of a tenant wait for a list whose filter has no index. */
const maxWaiting = 20
const busy = 'Too many lists by template, channel or status are waiting. Repeat the request.'

interface ListOptions {
  readonly pool: pg.Pool
  readonly facets: Facets
}

export const listRoutes: FastifyPluginAsyncTypebox<ListOptions> = async (app, { pool, facets }) => {
  const { OneMessage, Page } = defineViews(facets)
  // A list whose filter has no index reads many rows: running one per tenant at a time leaves the cores to others.
  const inTurn = createBulkheads({ tenant: 1 }, maxWaiting)

  const ListMessages = {
    operationId: 'listMessages',
    summary: 'List messages, newest first',
    querystring: MessagesQuery.schema,
    response: { 200: Page },
  }
  app.get('/api/messages', { schema: ListMessages }, async ({ staff, query }) => {
    const { tenant } = staff
    const list = () => inTenant(pool, tenant, (tx: Tx) => readPage(tx, staff, query, facets))
    return hasNoIndex(MessagesQuery.read(query)) ? inTurn({ tenant }, list).catch(refuseBusy(busy)) : list()
  })

  const summarise = createMessageSummary(pool)
  const SummariseMessages = {
    operationId: 'summariseMessages',
    summary: 'Count the waiting and failed messages, and the messages sent per minute',
    description: 'The counts may be up to five seconds old.',
    response: { 200: Type.Object({ data: MessageSummary }) },
  }
  app.get('/api/messages/summary', { schema: SummariseMessages }, async request => ({
    data: await summarise(request.staff.tenant),
  }))

  const GetMessage = {
    operationId: 'getMessage',
    summary: 'Read a message with its timeline',
    params: ById,
    response: { 200: OneMessage, ...errorResponses(404) },
  }
  app.get('/api/messages/:id', { schema: GetMessage }, ({ staff, params: { id } }) =>
    inTenant(pool, staff.tenant, (tx: Tx) => readMessage(tx, staff, id, facets)),
  )
}

const readPage = async (tx: Tx, staff: Staff, query: Static<typeof MessagesQuery.schema>, facets: Facets) => {
  const { tenant } = staff
  const wanted = MessagesQuery.read(query)
  const to =
    wanted.to &&
    (isUserId(wanted.to)
      ? await findRecipient(tx, tenant, wanted.to)
      : normalisePhone(wanted.to, await findCountry(tx, tenant)))
  if (wanted.to && !to)
    throw invalid({ [MessagesQuery.findField(query, 'to')]: ['The to field must be a phone number.'] })
  const { after, limit } = messageCursor.read(query)
  const { rows, next } = await listMessages(tx, tenant, { ...wanted, to }, { after: after[0], limit })
  return { data: await readViews(tx, staff, rows, facets), next_cursor: next && messageCursor.write([next]) }
}

/** Reads a message. A change reads it within its own transaction, so that nothing can fail after the commit. */
export const readMessage = async (tx: Tx, staff: Staff, id: string, facets: Facets): Promise<{ data: Message }> => {
  const row = await findMessage(tx, staff.tenant, id)
  const [data] = await readViews(tx, staff, row ? [row] : [], facets)
  if (!data) throw notFound('message')
  return { data }
}

const readViews = async (tx: Tx, staff: Staff, rows: readonly MessageRow[], facets: Facets): Promise<Message[]> => {
  const ids = rows.map(row => row.id)
  const [timelines, ...found] = await Promise.all([
    findTimelines(tx, staff.tenant, ids),
    ...facets.map(async ({ read, absent }) => ({ fields: await read(tx, staff, ids), absent })),
  ])
  return rows.map(row => {
    const added = found.map(({ fields, absent }) => fields.get(row.id) ?? absent)
    return Object.assign(messageView(row, timelines.get(row.id)), ...added)
  })
}
