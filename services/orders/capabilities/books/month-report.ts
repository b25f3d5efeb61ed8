import { cursorFields } from '@courier/shared/lists/cursor.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { accountsSql, recentSql } from '../money/ledger/balances.ts'
import { sum } from '../money/ledger/fields.ts'
import { foldedBalanceSql } from '../money/ledger/fold-and-seal.ts'
import { formatField, jsonOrCsv } from '../money/papers/csv.ts'
import { nextCursor, sendBook } from './book-pages.ts'
import { checkDays } from './days.ts'

/** Holds what the other accounts moved; `other` has the accounts that no column names. */
const columns = {
  collected: sum('The sum that recipients paid.', 41_800),
  charges: sum('Delivery charges and COD fees.', 20_210),
  returns: sum('Fees of returns.', 1050),
  tax: sum('Tax on both: all taxes together.', 3826.8),
  withholding: sum('The sum withheld for all tax offices.', 836),
  compensation: sum('Compensation for lost parcels.', 0),
  adjustments: sum('Adjustments of disputes, write-offs and corrections of what was collected.', 100),
  disputed: sum('The sum newly held for disputes, less what was released.', 0),
  paid: sum('The sum that left the bank for the merchant.', 15_977.2),
  received: sum('The sum that the merchant paid in, as charges, and that came back of transfers.', 0),
  other: sum('All other entries.', 0),
}
const MonthRow = Type.Object({
  merchant_id: Type.Union([Type.Integer(), Type.Null()], { description: 'null: the sums of all merchants.' }),
  merchant_name: Type.Union([Type.String(), Type.Null()]),
  opening: sum('The sum owed to the merchant before the month; below zero, owed by the merchant.', 0),
  ...columns,
  closing: sum('The sum owed after the month: opening, plus what adds to it, less what was deducted and paid out.', 0),
})
const ShownRow = Type.Object({
  ...MonthRow.properties,
  named: Type.Record(Type.String(), Type.Number(), {
    description: 'The parts of tax and withholding that have names, by account.',
    examples: [{ 'tax:VAT': 3083.4 }],
  }),
})
const MonthReport = Type.Object(
  { month: Type.String({ examples: ['2026-02'] }), totals: ShownRow, merchants: Type.Array(ShownRow) },
  { title: 'MonthReport' },
)
type ShownRow = Static<typeof ShownRow> & { position: string }

export const monthField = Type.String({
  maxLength: 7,
  pattern: '^20\\d\\d-(0[1-9]|1[0-2])$',
  must: 'be a month such as 2026-02',
  examples: ['2026-02'],
})
export const MonthQuery = Type.Object({
  ...cursorFields,
  month: monthField,
  format: formatField('json', 'csv'),
})

/** Serves staff the report of a month: what each merchant was owed, earned, was charged and paid. */
export const monthRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const schema = {
    operationId: 'getMonthReport',
    summary: 'Read what a month booked for each merchant',
    querystring: MonthQuery,
    response: { 200: jsonOrCsv('The report; CSV has it all in rows.', MonthReport, MonthRow, {}, nextCursor) },
  }
  app.get('/ledger/month', { schema }, async ({ staff: { tenant }, query }, reply) => {
    const { month, format } = query
    await checkDays(pool, tenant, query)
    const accounts = format === 'csv' ? await listNamed(pool, tenant) : []
    const columns = { ...MonthRow.properties, ...Object.fromEntries(accounts.map(name => [name, Type.Number()])) }
    const read = async (after: string | null, limit: number) => {
      const values = [tenant, `${month}-01`, after, limit]
      return readInTenant<ShownRow>(pool, tenant, { name: 'read_month', text: monthSql, values })
    }
    const toRows = ([totals, ...rows]: ShownRow[], _: boolean, isLast: boolean) =>
      [...rows, ...(isLast && totals ? [{ ...totals, merchant_name: 'total' }] : [])].map(row => ({
        ...Object.fromEntries(accounts.map(account => [account, 0])),
        ...{ ...row, ...row.named },
      }))
    const book = { file: `month-${month}`, row: Type.Object(columns), read, hasTotals: true, toRows }
    return sendBook(reply, query, book, (merchants, totals) => ({ month, totals, merchants }))
  })
}

const isNamedSql = (account: string): string => `${account} ~ '^(tax|withholding):'`

/** Lists the accounts of taxes and withholdings that have names. */
const listNamed = async (pool: pg.Pool, tenant: string): Promise<string[]> => {
  const text = `with recursive ${accountsSql(`'infinity'::date`)}
    select account from account where ${isNamedSql('account')} order by account`
  const rows = await readInTenant<{ account: string }>(pool, tenant, { name: 'list_named', text, values: [tenant] })
  return rows.map(({ account }) => account)
}

/** Tells what a column sums, and of which other accounts. */
const parts: readonly (readonly [keyof typeof columns, amount: string, isOf: string])[] = [
  ['collected', 'credit - debit', `counter_account like 'rider:%' or counter_account like 'clearing%'`],
  ['charges', 'debit - credit', `counter_account = 'delivery_revenue'`],
  ['returns', 'debit - credit', `counter_account = 'returns_revenue'`],
  ['tax', 'debit - credit', `counter_account = 'tax' or counter_account like 'tax:%'`],
  ['withholding', 'debit - credit', `counter_account = 'withholding' or counter_account like 'withholding:%'`],
  ['compensation', 'credit - debit', `counter_account = 'compensation'`],
  ['adjustments', 'credit - debit', `counter_account = 'differences'`],
  ['disputed', 'debit - credit', `counter_account like 'held:%'`],
  ['paid', 'debit', `counter_account = 'bank'`],
  ['received', 'credit', `counter_account = 'bank'`],
]
const others = `not (${parts.map(([, , isOf]) => isOf).join(' or ')})`
const sumsSql = [...parts, ['other', 'credit - debit', others] as const]
  .map(([name, amount, isOf]) => `coalesce(sum(${amount}) filter (where ${isOf}), 0) as ${name}`)
  .join(',\n      ')
const shown = ['opening', ...Object.keys(columns), 'closing']

const namedSql = `coalesce(jsonb_object_agg(counter_account, amount::float8), '{}')`

const nextMonthSql = `($2::date + interval '1 month')::date`
const isInMonth = `booked_on >= $2::date and booked_on < ${nextMonthSql}`

const positionSql = `lpad(merchant_id::text, 18, '0')`

/**
 * Selects a `MonthRow` of all merchants, then at most $4 of merchants after the position $3, of the month that begins
 * on $2. Leaves out merchants without entries and balance.
 */
const monthSql = `
  with ${recentSql(nextMonthSql)}, owed as (
    select merchant_id, name, 'merchant:' || merchant_id as account from merchants where tenant_id = $1
  ), entry as (
    select owed.account, counter_account, debit, credit from owed join ledger_days day on day.tenant_id = $1
      and day.account = owed.account and ${isInMonth}
    union all
    select account, counter_account, debit, credit from owed join recent using (account) where ${isInMonth}
  ), booked as (
    select account, ${sumsSql}, coalesce(sum(credit - debit), 0) as change from entry group by 1
  ), named as (
    select account, counter_account, sum(debit - credit) as amount from entry
    where ${isNamedSql('counter_account')} group by 1, 2
  ), merchant as (
    select merchant_id, name, -(${foldedBalanceSql('owed.account', '$2::date')} + coalesce(amount, 0)) as opening,
      booked.*
    from owed left join booked on booked.account = owed.account left join (
      select account, sum(debit - credit) as amount from recent where booked_on < $2::date group by 1
    ) before on before.account = owed.account
  ), reported as (
    select *, opening + coalesce(change, 0) as closing from merchant where change is not null or opening <> 0
  )
  select * from (
    select null::float8 as merchant_id, null as merchant_name,
      ${shown.map(name => `coalesce(sum(${name}), 0)::float8 as ${name}`).join(', ')},
      (select ${namedSql} from (select counter_account, sum(amount) as amount from named group by 1) each) as named,
      null as position
    from reported
    union all
    (
      select merchant_id::float8, name, ${shown.map(name => `coalesce(${name}, 0)::float8`).join(', ')},
        coalesce(parts.named, '{}'), ${positionSql} from reported
      left join (select account, ${namedSql} as named from named group by 1) parts on parts.account = reported.account
      where $3::text is null or ${positionSql} > $3 collate "C" order by reported.merchant_id limit $4
    )
  ) row order by merchant_id nulls first`
