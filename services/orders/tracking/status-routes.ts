import { inTenant } from '@courier/shared/database.ts'
import { errorAnswers } from '@courier/shared/http/errors.ts'
import { ListOf, pageFields, pageOf } from '@courier/shared/http/pages.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { merchantOf } from '../access/merchant.ts'
import type { Tx } from '../database/tables.ts'
import { findStatuses } from './status-queries.ts'
import { merchantStatusKeys, type Statuses } from './statuses.ts'

const StatusRow = Type.Object(
  {
    id: Type.Integer(),
    key: Type.String(),
    name: Type.String(),
    description: Type.String(),
    color: Type.String(),
    is_merchant_status: Type.Boolean({ description: 'A merchant may give it to an order.' }),
    before_statuses: Type.Array(Type.String(), { description: 'The keys that staff may move an order from to here.' }),
    after_statuses: Type.Array(Type.String(), { description: 'The keys that staff may move an order to from here.' }),
  },
  { title: 'Status' },
)

const example = {
  id: 1,
  key: 'key_1',
  name: 'DRAFT',
  description: 'The merchant has not confirmed the order yet.',
  color: 'secondary',
  is_merchant_status: true,
  before_statuses: [],
  after_statuses: ['key_2'],
}

/** A page holds the whole set unless a call wants smaller ones: programs read it as one list. */
const wholeSet = '1000'

/** The statuses that orders of the tenant may have. */
export const statusList: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  app.get(
    '/order/status-list',
    {
      schema: {
        tags: ['orders'],
        summary: 'List the statuses with their moves',
        security: [{ token: [] }],
        querystring: Type.Object(pageFields),
        response: { 200: ListOf(StatusRow, example), ...errorAnswers(400, 401, 405, 422, 429, 503) },
      },
    },
    async request => {
      const { tenant } = merchantOf(request)
      const statuses = await inTenant(pool, tenant, (tx: Tx) => findStatuses(tx, tenant))
      const { per_page } = request.query
      return pageOf(request, { ...request.query, per_page: per_page || wholeSet }, toRows(statuses))
    },
  )
}

const toRows = (statuses: Statuses): Static<typeof StatusRow>[] =>
  [...statuses.values()].map(({ key, name, description, color, moves }, index) => ({
    id: index + 1,
    key,
    name,
    description,
    color,
    is_merchant_status: merchantStatusKeys.includes(key),
    before_statuses: [...statuses.values()].filter(before => before.moves.includes(key)).map(before => before.key),
    after_statuses: [...moves],
  }))
