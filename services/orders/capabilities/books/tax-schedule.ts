import { addAmounts } from '@courier/shared/currency.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { Day } from '../../core/actions/fields.ts'
import { nullable, sum } from '../money/ledger/fields.ts'
import { jsonOrCsv } from '../money/papers/csv.ts'
import { BookedTax } from '../money/taxes/tax-sums.ts'
import { nextCursor, sendBook } from './book-pages.ts'
import { checkDays } from './days.ts'
import { MonthQuery, monthField } from './month-report.ts'

const Row = Type.Object({
  issued_on: Type.Union([Day, Type.Null()], { description: 'null: the sums of the month.' }),
  number: Type.String({ examples: ['CFX-26-02-00001'] }),
  kind: Type.String({ description: 'invoice, tax_invoice, credit_note or debit_note.', examples: ['tax_invoice'] }),
  corrects: nullable('The invoice that a note corrects or takes back.'),
  merchant_id: Type.Union([Type.Integer(), Type.Null()]),
  merchant_name: nullable(),
  merchant_tax_number: nullable(),
  merchant_tax_status: nullable('registered, exempt or zero_rated.'),
  tax_percent: Type.Union([Type.Number(), Type.Null()], {
    description: 'The rate; null: nothing was charged, or it was booked before rates were stored.',
    examples: [18],
  }),
  taxable: sum('The charges without tax; of a credit note below zero.', 20_210),
  tax: sum('The tax on them.', 3637.8),
  total: sum('Both.', 23_847.8),
  tax_name: nullable('The tax, if the company has several: a document has a row for each; null: its only one.'),
})
const Totals = Type.Object({
  ...Type.Pick(Row, ['taxable', 'tax', 'total']).properties,
  taxes: Type.Array(BookedTax, { description: 'The sums of each tax that has a name, by rate.', examples: [[]] }),
})
type Row = Static<typeof Row> & { position: string; taxes: BookedTax[] }
const Schedule = Type.Object(
  { month: monthField, totals: Totals, documents: Type.Array(Row) },
  { title: 'TaxSchedule' },
)

/** Serves staff the schedule of output tax: a row for each document of a month, and each rate on it. */
export const taxScheduleRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const schema = {
    operationId: 'getTaxSchedule',
    summary: 'List the taxable value and the tax of each document that a month issued',
    querystring: MonthQuery,
    response: { 200: jsonOrCsv('The schedule; CSV has it all in rows.', Schedule, Row, {}, nextCursor) },
  }
  app.get('/ledger/month/documents', { schema }, async ({ staff: { tenant }, query }, reply) => {
    const { month } = query
    await checkDays(pool, tenant, query)
    const read = async (after: string | null, limit: number) => {
      const values = [tenant, `${month}-01`, after, limit]
      return readInTenant<Row>(pool, tenant, { name: 'read_tax_schedule', text: scheduleSql, values })
    }
    const toRows = ([totals, ...rows]: Row[], _: boolean, isLast: boolean) =>
      isLast && totals ? [...rows, ...listTotals(totals), { ...totals, number: 'total' }] : rows
    const book = { file: `tax-${month}`, row: Row, read, hasTotals: true, toRows }
    return sendBook(reply, query, book, (documents, totals) => ({ month, totals, documents }))
  })
}

/** Makes the last rows of the file: the sums of each tax that has a name. */
const listTotals = ({ taxes }: Row) =>
  taxes.map(({ name, percent, taxable, amount: tax }) => {
    const total = addAmounts([taxable, tax])
    return { number: 'total', tax_percent: percent, taxable, tax, total, tax_name: name }
  })

/**
 * Selects the sums of the month that begins on $2, then at most $4 rows after the position $3. The first version of a
 * document has its charges, each later one what it adds to them, and a cancellation takes all back. Documents without
 * charges have a row too, so that no number of a series is missing.
 */
const scheduleSql = `
  with issued as (
    select version.invoice_id, version.version, version.issued_on, version.kind, version.credit_note_no,
      version.letterhead, version.waybill_numbers, version.line_nos, earlier.waybill_numbers as earlier_waybills,
      earlier.line_nos as earlier_nos, invoices.kind as document, invoice_no, merchant_id, corrects_id
    from invoice_versions version
      join invoices on invoices.tenant_id = version.tenant_id and invoices.invoice_id = version.invoice_id
      left join invoice_versions earlier on earlier.tenant_id = version.tenant_id
        and earlier.invoice_id = version.invoice_id and earlier.version = version.version - 1
        and version.kind <> 'cancelled'
    where version.tenant_id = $1 and invoices.kind <> 'remittance' and version.issued_on >= $2::date
      and version.issued_on < ($2::date + interval '1 month')::date
      and (version.version = 1 or version.kind = 'cancelled' or version.credit_note_no is not null)
  ), charged as (
    select invoice_id, issued.version, tax_percent, tax_name,
      sum(case when kind = 'cancelled' then -1 else 1 end * charges) as charges,
      sum(case when kind = 'cancelled' then -1 else 1 end * taxable) as taxable,
      sum(case when kind = 'cancelled' then -1 else 1 end * tax) as tax
    from issued cross join lateral (
      select coalesce(named.percent, line.tax_percent) as tax_percent, named.name as tax_name,
        case when coalesce(named.nr, 1) = 1 then line.delivery + line.cod_fee + line.return_fee else 0 end as charges,
        coalesce(named.taxable, line.delivery + line.cod_fee + line.return_fee) as taxable,
        coalesce(named.amount, line.tax) as tax
      from (
        select unnest(waybill_numbers) as waybill_number, unnest(line_nos) as line_no
        except select unnest(earlier_waybills), unnest(earlier_nos)
      ) listed join money_lines line on line.tenant_id = $1 and line.waybill_number = listed.waybill_number
        and line.line_no = listed.line_no
        left join lateral rows from (jsonb_to_recordset(line.taxes)
          as (name text, percent numeric, taxable numeric, amount numeric)
        ) with ordinality as named (name, percent, taxable, amount, nr) on true
      where line.delivery <> 0 or line.cod_fee <> 0 or line.return_fee <> 0 or line.tax <> 0
    ) line group by 1, 2, 3, 4
  ), row as (
    select issued_on, coalesce(credit_note_no, invoice_no) as number,
      case when issued.version > 1 then 'credit_note' else document end as kind,
      case when issued.version > 1 then invoice_no else (select invoice_no from invoices corrected
        where corrected.tenant_id = $1 and corrected.invoice_id = issued.corrects_id) end as corrects,
      merchant_id, letterhead ->> 'merchant_name' as merchant_name,
      letterhead ->> 'merchant_tax_number' as merchant_tax_number,
      letterhead ->> 'merchant_tax_status' as merchant_tax_status, tax_percent, tax_name,
      coalesce(taxable, 0) as taxable,
      coalesce(charges, 0) as charges, coalesce(tax, 0) as tax, (issued_on || ' '
        || coalesce(credit_note_no, invoice_no) || ' ' || issued.version || ' ' || coalesce(tax_name || ' ', '')
        || to_char(coalesce(tax_percent, 0), 'FM000.0000')) collate "C" as position
    from issued left join charged on charged.invoice_id = issued.invoice_id and charged.version = issued.version
  )
  select * from (
    select null as issued_on, null as number, null as kind, null as corrects, null::float8 as merchant_id,
      null as merchant_name, null as merchant_tax_number, null as merchant_tax_status, null::float8 as tax_percent,
      coalesce(sum(charges), 0)::float8 as taxable, coalesce(sum(tax), 0)::float8 as tax,
      coalesce(sum(charges + tax), 0)::float8 as total, null as tax_name, (
        select coalesce(jsonb_agg(named), '[]') from (
          select tax_name as name, tax_percent as percent, sum(taxable)::float8 as taxable, sum(tax)::float8 as amount
          from row where tax_name is not null group by 1, 2 order by 1, 2
        ) named
      ) as taxes, null as position from row
    union all
    (
      select issued_on::text, number, kind, corrects, merchant_id::float8, merchant_name, merchant_tax_number,
        merchant_tax_status, tax_percent::float8, taxable::float8, tax::float8, (taxable + tax)::float8, tax_name, null,
        position
      from row where $3::text is null or position > $3 collate "C" order by position limit $4
    )
  ) listed order by position collate "C" nulls first`
