import { errorResponses, invalid } from '@courier/shared/errors/errors.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { isWaybill } from '../tracking/read-orders.ts'
import { amountFields, sumsSql } from './amounts.ts'

const maxNumbers = 500
/** A waybill has at most 50 characters, and a comma after it. */
const maxLength = maxNumbers * 51
const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const ParcelMoney = Type.Object(
  {
    waybill_number: Type.String(),
    ...amountFields,
    method: nullable('cash, card, qr or transfer; null: nothing was paid.'),
    owed: Type.Number({ description: 'What the courier company owes you for the parcel; below zero you owe it.' }),
    booked_on: nullable('The day of the delivery or return; null: nothing is booked yet.'),
  },
  { title: 'ParcelMoney' },
)
type ParcelMoney = Static<typeof ParcelMoney>

const example: ParcelMoney = {
  ...{ waybill_number: 'DM00000001', collected: 2500, method: 'cash', delivery: 450, cod_fee: 25, return_fee: 0 },
  ...{ tax: 85.5, withholding: 50, owed: 1889.5, booked_on: '2026-02-19' },
}

const FinanceQuery = Type.Object({
  waybill_numbers: Type.String({ maxLength, description: `At most ${maxNumbers}, separated by commas.` }),
})

/** Shows merchants what was booked for their parcels. */
export const parcelMoneyRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  app.get(
    '/order/finance',
    {
      schema: {
        tags: ['orders'],
        operationId: 'getParcelMoney',
        summary: 'What was collected for up to 500 orders, and what each cost',
        description: 'Those that you do not have are listed as missing.',
        security: [{ token: [] }],
        querystring: FinanceQuery,
        response: {
          200: Type.Object(
            { data: Type.Array(ParcelMoney), missing: Type.Array(Type.String()) },
            { examples: [{ data: [example], missing: ['DM00000009'] }] },
          ),
          ...errorResponses(400, 401, 405, 422, 429, 503),
        },
      },
    },
    async request => {
      const { tenant, merchantId } = request.merchant
      const wanted = readNumbers(request.query.waybill_numbers)
      const values = [tenant, merchantId, wanted.filter(number => isWaybill.test(number))]
      const query = { name: 'read_parcel_money', text: parcelMoneySql, values }
      const rows = await readInTenant<ParcelMoney>(pool, tenant, query)
      const found = new Map(rows.map(row => [row.waybill_number, row]))
      return {
        data: wanted.flatMap(number => found.get(number) ?? []),
        missing: wanted.filter(number => !found.has(number)),
      }
    },
  )
}

const readNumbers = (text: string): string[] => {
  const numbers = text.split(',').flatMap(number => number.trim() || [])
  if (numbers.length === 0 || numbers.length > maxNumbers)
    throw invalid({ waybill_numbers: [`Give 1 to ${maxNumbers} waybill numbers, separated by commas.`] })
  return [...new Set(numbers)]
}

const parcelMoneySql = `
  select waybill_number, max(method) as method, max(booked_on)::text as booked_on, ${sumsSql('owed')}
  from orders left join money_lines line using (tenant_id, waybill_number)
  where tenant_id = $1 and orders.merchant_id = $2 and waybill_number = any($3::text[])
  group by waybill_number`
