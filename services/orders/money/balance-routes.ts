import { errorResponses } from '@courier/shared/errors/errors.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { amountFields, sumsSql } from './amounts.ts'

const Balance = Type.Object(
  {
    currency: Type.String(),
    parcels: Type.Integer({ description: 'Parcels delivered or returned.' }),
    ...amountFields,
    balance: Type.Number({ description: 'What the courier company owes you; below zero you owe it.' }),
  },
  { title: 'Balance' },
)

const example: Static<typeof Balance> = {
  currency: 'LKR',
  parcels: 43,
  collected: 118500,
  delivery: 15050,
  cod_fee: 1185,
  return_fee: 0,
  tax: 2922.3,
  withholding: 0,
  balance: 99342.7,
}

/** Serves what a merchant's parcels add up to. */
export const balanceRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  app.get(
    '/balance',
    {
      schema: {
        tags: ['orders'],
        operationId: 'getBalance',
        summary: 'What was collected for you, and what it cost',
        description: 'The sums over your parcels that were delivered or returned.',
        security: [{ token: [] }],
        response: {
          200: Type.Object({ data: Balance }, { examples: [{ data: example }] }),
          ...errorResponses(400, 401, 405, 429, 503),
        },
      },
    },
    async request => {
      const { tenant, merchantId } = request.merchant
      const query = { name: 'read_balance', text: balanceSql, values: [tenant, merchantId] }
      const [data] = await readInTenant<Static<typeof Balance>>(pool, tenant, query)
      return { data: data as Static<typeof Balance> }
    },
  )
}

const balanceSql = `
  select (select currency from tenants where tenant_id = $1) as currency, count(distinct waybill_number)::int as parcels, ${sumsSql('balance')}
  from money_lines line where tenant_id = $1 and merchant_id = $2`
