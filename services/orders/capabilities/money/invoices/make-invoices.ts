import { type Static, Type } from '@sinclair/typebox'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import { Day } from '../../../core/actions/fields.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { chargesSql } from '../ledger/ledger.ts'
import { hasLaterSql, lockTakeBacks, readClock } from '../ledger/parcels.ts'
import { isUninvoicedSql, paidSql, payableOnSql, releasedSql, termsSql } from '../ledger/payable.ts'
import { takeNumber } from '../papers/invoice-numbers.ts'

export const Made = Type.Object(
  {
    merchant_id: Type.Integer(),
    kind: Type.Union([Type.Literal('made'), Type.Literal('nothing_payable')]),
    invoice_no: Type.Optional(Type.String()),
    invoice_ref_no: Type.Optional(Type.String()),
    total: Type.Number({
      description: 'The amount owed to the merchant; below zero, the next invoice takes it.',
    }),
  },
  { title: 'MadeInvoice' },
)
export type Made = Static<typeof Made>

export const NewInvoices = defineBody('NewInvoices', {
  merchant_id: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  all: Type.Optional(Type.Literal(true, { must: 'be true', examples: [true] })),
  until: { ...Day, description: 'The last day whose lines to take; today at the latest.' },
})
type Wanted = Call<Static<typeof NewInvoices>>

/**
 * Invoices the payable amounts of one merchant or all, with a draft for each. The lines of a merchant to whom nothing
 * is payable wait for a later invoice.
 */
export const makeInvoices = async (tx: Tx, wanted: Wanted): Promise<Acted<Made[]>> => {
  const { merchant_id: wantedId, all, until } = wanted.body
  if ((wantedId === undefined) === (all === undefined)) return refuse('merchant_id', 'Give either merchant_id or all.')
  const { today } = await readClock(tx, wanted.tenant)
  if (until > today) return refuse('until', `The day must be ${today} or before: later lines are not payable yet.`)
  const { rows: merchants } = await tx.client.query(merchantsSql, [wanted.tenant, wantedId])
  if (!all && merchants.length === 0) return { kind: 'unknown', what: 'merchant' }
  const data: Made[] = []
  for (const { merchant_id } of merchants) data.push(await makeInvoice(tx, merchant_id, wanted))
  return { kind: 'done', data, objects: data.flatMap(({ invoice_no }) => invoice_no ?? []) }
}

const merchantsSql = `
  select merchant_id::float8 from merchants
  where tenant_id = $1 and case when $2::bigint is not null then merchant_id = $2
    else merchant_id in (select merchant_id from money_lines line where line.tenant_id = $1 and ${isUninvoicedSql}) end
  order by merchants.merchant_id`

const makeInvoice = async (tx: Tx, merchant_id: number, { tenant, by, body: { until } }: Wanted): Promise<Made> => {
  await lockTakeBacks(tx, tenant, merchant_id, 'shared')
  const clock = await readClock(tx, tenant)
  // A rollback to the savepoint frees the lines if there is nothing to pay.
  await tx.client.query('savepoint invoice')
  const { rows } = await tx.client.query(takeSql, [tenant, merchant_id, clock.journalId, until])
  const { total, charges_due, ...sums } = rows[0]
  if (total < 0 || (total === 0 && charges_due <= 0)) {
    await tx.client.query('rollback to savepoint invoice')
    return { merchant_id, kind: 'nothing_payable', total }
  }
  const invoice_no = await takeNumber(tx, tenant, 'invoice_mask', clock)
  const invoice_ref_no = await takeNumber(tx, tenant, 'invoice_ref_mask', clock)
  const values = [tenant, clock.journalId, merchant_id, invoice_no, invoice_ref_no, until, sums.parcels]
  await tx.client.query(insertSql, [...values, total, charges_due, by.name, clock.now])
  return { merchant_id, kind: 'made', invoice_no, invoice_ref_no, total }
}

const isReversed = hasLaterSql('delivery_reversed')

/**
 * Is true of a line, `line`, if something undid it after the day $4: its reversal, the reversal of the delivery that
 * it disputes, or a dispute of its parcel that is on no invoice yet. An invoice takes such lines together with what
 * undid them, so one up to the day $4 leaves them out.
 */
const isUndoneLaterSql = `exists (
    select from money_lines later where later.tenant_id = $1 and later.waybill_number = line.waybill_number
      and later.booked_on > $4::date and later.line_no > line.line_no and (
        later.kind in ('delivery_reversed', 'return_reversed') and later.refers_to <= line.line_no
          and line.kind not in ('compensated', 'compensation', 'write_off')
        or later.kind = 'disputed' and later.invoice_id is null))`

/** Takes the lines up to the day $4 for the invoice $3, except those that another invoice takes meanwhile. */
const takeSql = `
  with terms as (${termsSql} and merchants.merchant_id = $2
  ), line as (
    update money_lines line set invoice_id = $3 from terms
    where line.tenant_id = $1 and line.merchant_id = $2 and ${isUninvoicedSql}
      and ${payableOnSql(isReversed)} <= $4::date and not ${isUndoneLaterSql}
      and ${releasedSql(hasLaterSql('handed_over'), isReversed)}
    returning line.*
  )
  select count(distinct nullif(line.waybill_number, ''))::int as parcels,
    coalesce(sum(${paidSql}), 0)::float8 as total,
    coalesce(sum(case when charges_apart then ${chargesSql} end), 0)::float8 as charges_due
  from line cross join terms`

const insertSql = `
  insert into invoices (tenant_id, invoice_id, merchant_id, invoice_no, invoice_ref_no, until, state, parcels,
    total, charges_due, made_by, made_at)
  values ($1, $2, $3, $4, $5, $6, 'draft', $7, $8, $9, $10, $11)`
