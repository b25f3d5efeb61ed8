import { errorResponses, notFound } from '@courier/shared/errors/errors.ts'
import { cursorFields, listCursor } from '@courier/shared/lists/cursor.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchema } from 'fastify'
import type pg from 'pg'
import { readScope } from '../../core/access/merchant.ts'
import { Day } from '../../core/actions/fields.ts'
import { forBoth } from '../money/ledger/balance-routes.ts'
import { recentSql } from '../money/ledger/balances.ts'
import { nullable, sum } from '../money/ledger/fields.ts'
import { foldedBalanceSql } from '../money/ledger/fold-and-seal.ts'
import { netSql, paymentsSql } from '../money/ledger/ledger.ts'
import { formatField, jsonOrCsv, streamCsv } from '../money/papers/csv.ts'
import { nextCursor, readAll } from './book-pages.ts'
import { checkDays } from './days.ts'

const Line = Type.Object({
  booked_on: Day,
  kind: Type.String({
    description:
      'delivered, returned, …; paid: the company paid; charges_paid, payment_received: you paid; other: none.',
    examples: ['delivered'],
  }),
  waybill_number: nullable(),
  document: nullable('The invoice that has the line or was paid; null: none was submitted yet.'),
  collected: sum('The sum that the recipient paid.', 1000),
  charges: sum('Delivery charge, COD fee and fee of a return.', 470),
  tax: sum('Tax on the charges.', 84.6),
  withholding: sum('The sum withheld for the tax office.', 20),
  other: sum('Compensation and adjustments, less what a dispute holds.', 0),
  paid: sum('The payment; below zero, you paid.', 0),
  amount: sum('The amount that the line adds to the balance.', 425.4),
  balance: sum('The balance after the line.', 425.4),
})
const MerchantAccount = Type.Object(
  {
    currency: Type.String(),
    opening: sum('The sum that the company owed before; below zero, the merchant owed.', 0),
    lines: Type.Array(Line),
    closing: sum('The sum that the company owes after the last day.', 425.4),
  },
  { title: 'MerchantAccount' },
)
const AccountQuery = Type.Object({ ...cursorFields, from: Day, to: Day, format: formatField('json', 'csv') })
type AccountQuery = Static<typeof AccountQuery>
type Row = Static<typeof Line> &
  Record<'journal_id' | 'line_no' | 'currency', string> &
  Record<'opening' | 'closing', number>

const cursors = listCursor(/^\d{4}-\d\d-\d\d$/, /^[0-9a-f-]{36}$/, /^(-|[!-~]{1,50})$/, /^\d{1,9}$/)
const toPosition = ({ booked_on, journal_id, waybill_number, line_no }: Row): string[] => [
  ...[booked_on, journal_id, waybill_number ?? '-', String(line_no)],
]

const addAccount = (app: FastifyInstance, pool: pg.Pool, path: string, about: FastifySchema): void => {
  const schema = {
    ...about,
    querystring: AccountQuery,
    response: {
      200: jsonOrCsv('The statement; CSV has it all in rows.', MerchantAccount, Line, {}, nextCursor),
      ...errorResponses(404, 422),
    },
  }
  app.get<{ Params: { merchant_id?: string }; Querystring: AccountQuery }>(path, { schema }, async (request, reply) => {
    const { tenant, merchantId } = readScope(request)
    const { from, to, format } = request.query
    await checkDays(pool, tenant, request.query)
    const read = async (after: readonly string[] | null, limit: number) => {
      const values = [tenant, merchantId ?? request.params.merchant_id, from, to, ...(after ?? nowhere), limit]
      const rows = await readInTenant<Row>(pool, tenant, { name: 'read_account', text: accountSql, values })
      if (rows.length === 0) throw notFound('merchant')
      return rows
    }
    const isLine = ({ booked_on }: Row) => booked_on !== null
    const toRows = (rows: Row[], isFirst: boolean, isLast: boolean) => [
      ...(isFirst ? [{ booked_on: from, kind: 'opening', balance: rows[0]?.opening }] : []),
      ...rows.filter(isLine),
      ...(isLast ? [{ booked_on: to, kind: 'closing', balance: rows[0]?.closing }] : []),
    ]
    if (format === 'csv') return streamCsv(reply, `account-${from}-${to}.csv`, readAll(read, toPosition, toRows), Line)
    const { after, limit } = cursors.read(request.query)
    const rows = await read(after.length > 0 ? after : null, limit + 1)
    const { data: lines, next_cursor } = cursors.toPage(rows.filter(isLine), limit, toPosition)
    const { currency, opening, closing } = rows[0] as Row
    return { data: { currency, opening, lines, closing }, next_cursor }
  })
}

const nowhere = [null, null, null, null]

export const [accountRoutes, merchantAccountRoutes] = forBoth(
  '/account',
  ['getAccount', 'Read the statement of your account: what was booked, invoiced and paid'],
  ['getMerchantAccount', "Read the statement of a merchant's account"],
  addAccount,
)

const accountName = `('merchant:' || $2::bigint)`
const isInDays = (day: string): string => `${day} >= $3::date and ${day} <= $4::date`
const isPayment = `kind = 'payment_received'`
const balanceSql = (day: string): string => `-(${foldedBalanceSql(accountName, day)} + coalesce((
      select sum(debit - credit) from recent where account = ${accountName} and booked_on < ${day}
    ), 0))`

/**
 * Selects a `MerchantAccount` of the merchant $2 from $3 to $4 with at most $9 lines after the line $8 of the parcel $7
 * in the journal $6 of the day $5. Money in dispute is on an account of its own. A line `other` at the end of a day has
 * the amounts that neither lines nor payments explain, so that the statement adds up.
 */
const accountSql = `
  with ${recentSql('$4::date')}, line as (
    select booked_on, journal_id, nullif(waybill_number, '') as waybill_number, line_no, kind, invoice_id,
      cod as collected, delivery + cod_fee + return_fee as charges, tax, withholding, case when ${isPayment} then 0
        else compensation + adjustment - held end as other, case when ${isPayment} then -adjustment else 0 end as paid,
      ${netSql} as amount
    from money_lines line
    where tenant_id = $1 and merchant_id = $2 and ${isInDays('booked_on')} and kind <> 'handed_over'
    union all
    select booked_on, journal_id, null, 0, 'paid', invoice_id, 0, 0, 0, 0, 0, total, -total
    from ${paymentsSql} payment where merchant_id = $2 and ${isInDays('booked_on')}
    union all
    select booked_on, journal_id, null, 0, kind, invoice_id, 0, 0, 0, 0, 0, -amount, amount from corrections
    where tenant_id = $1 and merchant_id = $2 and kind = 'returned_transfer' and ${isInDays('booked_on')}
    union all
    select charges_booked_on, charges_journal_id, null, 0, 'charges_paid', invoice_id, 0, 0, 0, 0, 0,
      -coalesce(charges_paid, charges_due), coalesce(charges_paid, charges_due)
    from invoices where tenant_id = $1 and merchant_id = $2 and ${isInDays('charges_booked_on')}
  ), rest as (
    select booked_on, sum(amount) as amount from (
      select booked_on, credit - debit as amount from ledger_days
      where tenant_id = $1 and account = ${accountName} and ${isInDays('booked_on')}
      union all
      select booked_on, credit - debit from recent where account = ${accountName} and ${isInDays('booked_on')}
      union all
      select booked_on, -amount from line
    ) booked group by 1 having sum(amount) <> 0
  ), statement as (
    select * from line
    union all
    select booked_on, 'ffffffff-ffff-ffff-ffff-ffffffffffff', null, 0, 'other', null, 0, 0, 0, 0, amount, 0, amount
    from rest
  ), edge as (
    select currency, ${balanceSql('$3::date')} as opening, ${balanceSql('($4::date + 1)')} as closing
    from merchants join tenants on tenants.tenant_id = merchants.tenant_id
    where merchants.tenant_id = $1 and merchant_id = $2
  ), numbered as (
    select statement.*, opening + sum(amount) over (
      order by booked_on, journal_id, coalesce(waybill_number, '-'), line_no) as balance
    from statement cross join edge
  )
  select currency, opening::float8, closing::float8, line.* from edge left join (
    select numbered.booked_on::text, numbered.journal_id, waybill_number, line_no, numbered.kind,
      invoice_no as document,
      collected::float8, charges::float8, numbered.tax::float8, withholding::float8, other::float8, paid::float8,
      amount::float8, balance::float8
    from numbered left join invoices on invoices.tenant_id = $1 and invoices.invoice_id = numbered.invoice_id
      and submitted_at is not null
    where $5::date is null or (numbered.booked_on, numbered.journal_id, coalesce(waybill_number, '-'), line_no)
      > ($5::date, $6::uuid, $7::text collate "C", $8::integer)
    order by numbered.booked_on, numbered.journal_id, coalesce(waybill_number, '-'), line_no limit $9
  ) line on true order by line.booked_on, line.journal_id, coalesce(line.waybill_number, '-'), line.line_no`
