import { filterRows, flag, listQuery, part, whole } from '@courier/shared/lists/filters.ts'
import { ListBody, pageFields, writePage } from '@courier/shared/lists/pages.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { component } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { readScope } from '../access/merchant.ts'
import type { Tx } from '../database/tables.ts'
import { findStatuses, type StoredStatus } from './status-queries.ts'
import { merchantMoves, type Status } from './statuses.ts'

const StatusRow = component('Status', {
  id: Type.Integer(),
  key: Type.String(),
  name: Type.String({ examples: ['CONFIRMED'] }),
  description: Type.String({ examples: ['The merchant wants the parcel to be picked up.'] }),
  color: Type.String(),
  icon: Type.Null(),
  is_merchant_status: Type.Literal(1, { description: 'Merchants see every status.' }),
  is_finance_status: Type.Literal(0),
  before_statuses: Type.Array(Type.String(), {
    description: 'The keys from which staff may move an order here, or the merchant by confirming or cancelling it.',
  }),
  after_statuses: Type.Array(Type.String(), {
    description: 'The keys to which staff may move an order from here, or the merchant by confirming or cancelling it.',
  }),
  created_at: Type.String({ description: 'ISO 8601, UTC, with six decimals.' }),
})

type Row = Static<typeof StatusRow>

const filters = {
  id: whole<Row>(row => row.id, 'The id.'),
  key: whole<Row>(row => row.key, 'The key.'),
  name: part<Row>(row => row.name, 'Part of the name, in any letter case.'),
  color: whole<Row>(row => row.color, 'The colour.'),
  is_merchant_status: flag<Row>(row => row.is_merchant_status, 'Selects statuses by is_merchant_status.'),
  is_finance_status: flag<Row>(row => row.is_finance_status, 'Selects statuses by is_finance_status.'),
}
const Query = listQuery(pageFields, filters)

/** A page holds the whole set unless `per_page` says otherwise: clients read it as one list. */
const wholeSet = '1000'

const response = { 200: ListBody(StatusRow) }
const common = { summary: 'List the statuses with their moves', querystring: Query.schema, response }

const serveAt =
  (path: string, operationId: string): FastifyPluginAsyncTypebox<{ pool: pg.Pool }> =>
  async (app, { pool }) => {
    app.get(path, { schema: { ...common, operationId } }, async request => {
      const { tenant } = readScope(request)
      const statuses = await inTenant(pool, tenant, (tx: Tx) => findStatuses(tx, tenant))
      const { query } = request
      const rows = filterRows(filters, Query.read(query), toRows(statuses))
      return writePage(request, { ...query, per_page: query.per_page || wholeSet }, rows)
    })
  }

/** Serves the statuses that orders of the tenant may have, to merchants and to staff. */
export const statusRoutes = serveAt('/order/status-list', 'listStatuses')
export const staffStatusRoutes = serveAt('/status', 'listStaffStatuses')

/** Lists the statuses to which staff or the merchant may move an order from a status. */
const listNext = ({ key, moves }: Status): string[] => [...new Set([...moves, ...(merchantMoves[key] ?? [])])]

const toRows = (statuses: ReadonlyMap<string, StoredStatus>): Row[] => {
  const all = [...statuses.values()]
  return all.map((status, index) => ({
    id: index + 1,
    key: status.key,
    name: status.name,
    description: status.description,
    color: status.color,
    icon: null,
    is_merchant_status: 1,
    is_finance_status: 0,
    before_statuses: all.filter(before => listNext(before).includes(status.key)).map(({ key }) => key),
    after_statuses: listNext(status),
    created_at: status.createdAt,
  }))
}
