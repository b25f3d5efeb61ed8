import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { nullable, sum } from '../money/ledger/fields.ts'
import { jsonOrCsv } from '../money/papers/csv.ts'
import { nextCursor, sendBook } from './book-pages.ts'
import { checkDays } from './days.ts'
import { MonthQuery, monthField } from './month-report.ts'

/** Sums what a month withheld of a merchant at one rate; corrections and reversals count in their own month. */
export const Withheld = Type.Object({
  name: nullable('The withholding, each for its tax office; null: that of withholding_percent.'),
  percent: Type.Union([Type.Number(), Type.Null()], {
    description: 'null: booked before rates were stored.',
    examples: [2],
  }),
  parcels: Type.Integer({ examples: [40] }),
  collected: sum('What recipients paid for them.', 41_800),
  withheld: sum('The sum withheld for the tax office.', 836),
})
export type Withheld = Static<typeof Withheld>
const Row = Type.Object({
  ...Withheld.properties,
  merchant_id: Type.Union([Type.Integer(), Type.Null()]),
  merchant_name: nullable(),
  merchant_tax_number: nullable(),
})
type Row = Static<typeof Row> & { position: string }
const Totals = Type.Omit(Withheld, ['percent'])
const Statement = Type.Object(
  { month: monthField, totals: Type.Array(Totals), merchants: Type.Array(Row) },
  { title: 'WithholdingStatement' },
)

/** Serves staff the statement of a month for the tax offices: a row for each withholding, merchant and rate. */
export const withholdingRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const schema = {
    operationId: 'getWithholdingStatement',
    summary: 'List what a month withheld of each merchant, for each tax office',
    querystring: MonthQuery,
    response: { 200: jsonOrCsv('The statement; CSV has it all in rows.', Statement, Row, {}, nextCursor) },
  }
  app.get('/ledger/month/withholding', { schema }, async ({ staff: { tenant }, query }, reply) => {
    const { month } = query
    await checkDays(pool, tenant, query)
    const read = (after: string | null, limit: number) => readWithheld(pool, tenant, month, { after, limit })
    const totals = await readTotals(pool, tenant, month)
    const toRows = (rows: Row[], _: boolean, isLast: boolean) =>
      isLast ? [...rows, ...totals.map(total => ({ ...total, merchant_name: 'total' }))] : rows
    const book = { file: `withholding-${month}`, row: Row, read, toRows }
    return sendBook(reply, query, book, merchants => ({ month, totals, merchants }))
  })
}

/** Reads rows of a month, of one merchant or all, after a position. */
export const readWithheld = (
  pool: pg.Pool,
  tenant: string,
  month: string,
  { merchant = null, after = null, limit }: { merchant?: string | null; after?: string | null; limit: number },
) => {
  const values = [tenant, `${month}-01`, merchant, after, limit]
  return readInTenant<Row>(pool, tenant, { name: 'read_withheld', text: rowsSql, values })
}

const readTotals = (pool: pg.Pool, tenant: string, month: string) =>
  readInTenant<Static<typeof Totals>>(pool, tenant, {
    ...{ name: 'sum_withheld', text: totalsSql, values: [tenant, `${month}-01`, null] },
  })

/** Selects the withholdings of the month that begins on $2, of the merchant $3 or, if it is null, of all. */
const withheldSql = `
    select name, percent, merchant_id, waybill_number, taxable, amount
    from money_lines line cross join lateral (
      select name, percent, taxable, amount from jsonb_to_recordset(line.withheld)
        as named (name text, percent numeric, taxable numeric, amount numeric)
      union all
      select null, withholding_percent, cod, withholding where line.withheld is null and withholding <> 0
    ) named
    where line.tenant_id = $1 and line.booked_on >= $2::date and line.booked_on < ($2::date + interval '1 month')::date
      and ($3::bigint is null or line.merchant_id = $3) and (taxable <> 0 or amount <> 0)`
const sumsSql = `count(distinct waybill_number)::int as parcels, sum(taxable)::float8 as collected,
    sum(amount)::float8 as withheld`

const totalsSql = `select name, ${sumsSql} from (${withheldSql}) line group by 1 order by 1`

const rowsSql = `
  select * from (
    select summed.name, percent::float8, merchant_id::float8, merchants.name as merchant_name,
      tax_number as merchant_tax_number, parcels, collected, withheld,
      (coalesce(summed.name, '-') || ' ' || lpad(merchant_id::text, 18, '0') || ' '
        || to_char(coalesce(percent, 0), 'FM000.0000')) collate "C" as position
    from (
      select name, percent, merchant_id, ${sumsSql} from (${withheldSql}) line group by 1, 2, 3
    ) summed (name, percent, merchant_id, parcels, collected, withheld)
      join (
        select merchant_id, name, tax_number from merchants where tenant_id = $1
      ) merchants (merchant_id, name, tax_number) using (merchant_id)
  ) row where $4::text is null or position > $4 collate "C" order by position limit $5`
