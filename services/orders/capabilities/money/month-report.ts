import { cursorFields, listCursor } from '@courier/shared/lists/cursor.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { recentSql } from './accounts.ts'
import { nextCursor, readAll } from './book-pages.ts'
import { formatField, jsonOrCsv, streamCsv } from './csv.ts'
import { sum } from './fields.ts'
import { foldedBalanceSql } from './fold.ts'

/** Sums what the other accounts moved, `other`, in a merchant's favour; `rest` takes accounts that none names. */
const columns = {
  collected: sum('The sum that recipients paid.', 41_800),
  charges: sum('Delivery charges and COD fees.', 20_210),
  returns: sum('Fees of returns.', 1050),
  tax: sum('Tax on both.', 3826.8),
  withholding: sum('The sum withheld for the tax office.', 836),
  compensation: sum('Compensation for lost parcels.', 0),
  adjustments: sum('Adjustments of disputes.', 100),
  disputed: sum('The sum newly held for disputes, less what was released.', 0),
  paid: sum('The sum paid to the merchant, less what the merchant paid.', 15_977.2),
  other: sum('All other entries.', 0),
}
const MonthRow = Type.Object({
  merchant_id: Type.Union([Type.Integer(), Type.Null()], { description: 'null: the sums of all merchants.' }),
  merchant_name: Type.Union([Type.String(), Type.Null()]),
  opening: sum('The sum owed to the merchant before the month; below zero, owed by the merchant.', 0),
  ...columns,
  closing: sum('The sum owed after the month: opening, plus what adds to it, less what was deducted and paid.', 0),
})
const MonthReport = Type.Object(
  { month: Type.String({ examples: ['2026-02'] }), totals: MonthRow, merchants: Type.Array(MonthRow) },
  { title: 'MonthReport' },
)
type MonthRow = Static<typeof MonthRow>

const MonthQuery = Type.Object({
  ...cursorFields,
  month: Type.String({ maxLength: 7, pattern: '^20\\d\\d-(0[1-9]|1[0-2])$', must: 'be a month such as 2026-02' }),
  format: formatField('json', 'csv'),
})
const cursors = listCursor(/^\d{1,18}$/)

/** Serves staff the report of a month: what each merchant was owed, earned, was charged and paid. */
export const monthRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const schema = {
    operationId: 'getMonthReport',
    summary: 'Read what a month booked for each merchant',
    querystring: MonthQuery,
    response: { 200: jsonOrCsv('The report; CSV has all merchants.', MonthReport, MonthRow, {}, nextCursor) },
  }
  app.get('/ledger/month', { schema }, async ({ staff: { tenant }, query }, reply) => {
    const { month, format } = query
    const read = async (after: string | null, limit: number) => {
      const values = [tenant, `${month}-01`, after, limit]
      return readInTenant<MonthRow>(pool, tenant, { name: 'read_month', text: monthSql, values })
    }
    const readMerchants = async (after: string | null, limit: number) => (await read(after, limit)).slice(1)
    const pages = readAll(readMerchants, ({ merchant_id }) => String(merchant_id))
    if (format === 'csv') return streamCsv(reply, `month-${month}.csv`, pages, MonthRow)
    const { after, limit } = cursors.read(query)
    const [totals, ...rows] = await read(after[0] ?? null, limit + 1)
    const { data, next_cursor } = cursors.toPage(rows, limit, ({ merchant_id }) => [String(merchant_id)])
    return { data: { month, totals: totals as MonthRow, merchants: data }, next_cursor }
  })
}

/** Tells which other accounts a column sums, and its sign in the merchant's favour. */
const parts: readonly (readonly [keyof typeof columns, sign: '' | '-', isOf: string])[] = [
  ['collected', '', `counter_account like 'rider:%' or counter_account like 'clearing%'`],
  ['charges', '-', `counter_account = 'delivery_revenue'`],
  ['returns', '-', `counter_account = 'returns_revenue'`],
  ['tax', '-', `counter_account = 'tax'`],
  ['withholding', '-', `counter_account = 'withholding'`],
  ['compensation', '', `counter_account = 'compensation'`],
  ['adjustments', '', `counter_account = 'differences'`],
  ['disputed', '-', `counter_account like 'held:%'`],
  ['paid', '-', `counter_account = 'bank'`],
]
const others = `not (${parts.map(([, , isOf]) => isOf).join(' or ')})`
const sumsSql = [...parts, ['other', '', others] as const]
  .map(([name, sign, isOf]) => `${sign}coalesce(sum(credit - debit) filter (where ${isOf}), 0) as ${name}`)
  .join(',\n      ')
const shown = ['opening', ...Object.keys(columns), 'closing']

/**
 * Selects a `MonthRow` of all merchants, then one for each merchant after $3, at most $4, of the month that begins on
 * $2. Leaves out merchants without entries and balance.
 */
const monthSql = `
  with month as (
    select $2::date as first, ($2::date + interval '1 month')::date as next
  ), ${recentSql('(select next from month)')}, merchant as (
    select merchant_id, name, -(${foldedBalanceSql('owed.account', '(select first from month)')} + coalesce((
        select sum(debit - credit) from recent where recent.account = owed.account and booked_on < first
      ), 0)) as opening, booked.*
    from month cross join (
      select merchant_id, name, 'merchant:' || merchant_id as account from merchants where tenant_id = $1
    ) owed cross join lateral (
      select ${sumsSql}, coalesce(sum(credit - debit), 0) as change, count(*) as entries from (
        select counter_account, debit, credit from ledger_days day
        where day.tenant_id = $1 and day.account = owed.account and day.booked_on >= first and day.booked_on < next
        union all
        select counter_account, debit, credit from recent
        where recent.account = owed.account and booked_on >= first and booked_on < next
      ) entry
    ) booked
  ), reported as (
    select *, opening + change as closing from merchant where entries > 0 or opening <> 0
  )
  select * from (
    select null::float8 as merchant_id, null as merchant_name,
      ${shown.map(name => `coalesce(sum(${name}), 0)::float8 as ${name}`).join(', ')} from reported
    union all
    (
      select merchant_id::float8, name, ${shown.map(name => `${name}::float8`).join(', ')} from reported
      where $3::bigint is null or merchant_id > $3 order by reported.merchant_id limit $4
    )
  ) row order by merchant_id nulls first`
