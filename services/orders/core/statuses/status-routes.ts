import { filterRows, flag, listQuery, part, whole } from '@courier/shared/lists/filters.ts'
import { ListBody, pageFields, writePage } from '@courier/shared/lists/pages.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { component, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { readScope } from '../access/merchant.ts'
import type { Tx } from '../database/tables.ts'
import { findStatuses, type StoredStatus } from './status-queries.ts'
import { findBooking, initialStatusKeys, merchantMoves, type Status, standardStatuses } from './statuses.ts'

const StatusRow = component('Status', {
  id: Type.Integer(),
  key: Type.String(),
  name: Type.String({ examples: ['CONFIRMED'] }),
  original_name: orNull(Type.String(), {
    description: 'The standard name, where the company gave the status another.',
  }),
  description: Type.String({ examples: ['The merchant wants the parcel to be picked up.'] }),
  color: Type.String(),
  icon: Type.Null(),
  is_merchant_status: Type.Literal(1, { description: 'Merchants see every status.' }),
  is_finance_status: Type.Integer({ description: '1 if something is booked for an order with this status, or soon.' }),
  is_core_status: Type.Boolean({ description: 'True for the standard statuses, false for those of the company.' }),
  is_branch_status: Type.Boolean({ description: 'True if staff move orders here.' }),
  is_walking_status: Type.Literal(1),
  is_reversal_status: Type.Boolean({ description: 'False for the first status, true for all others.' }),
  before_statuses: Type.Array(Type.String(), {
    description: 'The keys from which an order may be moved here: by staff, and in lists of merchants by the merchant.',
  }),
  after_statuses: Type.Array(Type.String(), {
    description:
      'The keys to which an order may be moved from here: by staff, and in lists of merchants by the merchant.',
  }),
  created_at: Type.String({ description: 'ISO 8601, UTC, with six decimals.' }),
  updated_at: Type.String({ description: 'The same as `created_at`: later changes of a name are not kept.' }),
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
      const listNext = request.merchant ? listNextForMerchants : listNextForStaff
      const rows = filterRows(filters, Query.read(query), toRows(statuses, listNext))
      return writePage(request, { ...query, per_page: query.per_page || wholeSet }, rows)
    })
  }

/** Serves the statuses that orders of the tenant may have, to merchants and to staff. */
export const statusRoutes = serveAt('/order/status-list', 'listStatuses')
export const staffStatusRoutes = serveAt('/status', 'listStaffStatuses')

const listNextForStaff = ({ moves }: Status): string[] => [...moves]

/** Lists the statuses to which staff or the merchant may move an order from a status. */
const listNextForMerchants = ({ key, moves }: Status): string[] => [
  ...new Set([...moves, ...(merchantMoves[key] ?? [])]),
]

const standardNames = new Map(standardStatuses.map(({ key, name }) => [key, name]))

/** Lists the standard statuses for which programs of the API family expect money. */
const financeKeys: readonly string[] = ['key_7', 'key_13', 'key_14', 'key_20', 'key_21']

const isFinance = (status: Status): boolean => financeKeys.includes(status.key) || findBooking(status) !== 'nothing'

const findOriginalName = ({ key, name }: Status): string | null => {
  const standard = standardNames.get(key) ?? name
  return standard === name ? null : standard
}

const toRows = (statuses: ReadonlyMap<string, StoredStatus>, listNext: (status: Status) => string[]): Row[] => {
  const all = [...statuses.values()]
  return all.map((status, index) => ({
    id: index + 1,
    key: status.key,
    name: status.name,
    description: status.description,
    color: status.color,
    icon: null,
    is_merchant_status: 1,
    original_name: findOriginalName(status),
    is_finance_status: isFinance(status) ? 1 : 0,
    is_core_status: standardNames.has(status.key),
    is_branch_status: !initialStatusKeys.some(key => key === status.key),
    is_walking_status: 1,
    is_reversal_status: status.key !== initialStatusKeys[0],
    before_statuses: all.filter(before => listNext(before).includes(status.key)).map(({ key }) => key),
    after_statuses: listNext(status),
    created_at: status.createdAt,
    updated_at: status.createdAt,
  }))
}
