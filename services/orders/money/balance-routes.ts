import { errorResponses } from '@courier/shared/errors/errors.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { netSql } from './ledger.ts'

const amount = (description: string) => Type.Number({ description })

const Balance = Type.Object(
  {
    currency: Type.String(),
    parcels: Type.Integer({ description: 'Parcels delivered or returned.' }),
    collected: amount('What recipients paid.'),
    delivery: amount('Delivery charges.'),
    cod_fee: amount('Fees on what recipients paid.'),
    return_fee: amount('Fees of returns.'),
    tax: amount('Tax on the charges and fees.'),
    withholding: amount('Withheld for the tax office.'),
    balance: amount('What the courier company owes you; below zero you owe it.'),
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

const sum = (expression: string): string => `coalesce(sum(${expression}), 0)::float8`

const balanceSql = `
  select (select currency from tenants where tenant_id = $1) as currency, count(distinct waybill_number)::int as parcels,
    ${sum('cod')} as collected, ${sum('delivery')} as delivery, ${sum('cod_fee')} as cod_fee, ${sum('return_fee')} as return_fee,
    ${sum('tax')} as tax, ${sum('withholding')} as withholding, ${sum(netSql('line'))} as balance
  from money_lines line where tenant_id = $1 and merchant_id = $2`
