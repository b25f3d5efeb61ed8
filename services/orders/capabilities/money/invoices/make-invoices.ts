import { addAmounts } from '@courier/shared/currency.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import { Day } from '../../../core/actions/fields.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { correctionKindsSql } from '../ledger/correction-lines.ts'
import { chargesSql } from '../ledger/ledger.ts'
import { hasLaterSql, lockTakeBacks, readClock } from '../ledger/parcels.ts'
import { isUninvoicedSql, paidSql, payableOnSql, releasedSql, termsSql } from '../ledger/payable.ts'
import type { DocumentKind } from '../papers/amounts.ts'
import { type Draft, insertDraft, isUndoneLaterSql, type Made, taxSumsSql } from './drafts.ts'
import { setOff } from './set-offs.ts'
import { draftNotes, draftTaxInvoice } from './tax-invoices.ts'

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
  for (const merchant of merchants) data.push(...(await makeFor(tx, merchant, wanted)))
  return { kind: 'done', data, objects: data.flatMap(({ id }) => id ?? []) }
}

interface Terms {
  readonly merchant_id: number
  readonly has_two: boolean
  readonly sets_off: boolean
}

const merchantsSql = `
  select merchant_id::float8, has_two, sets_off from (${termsSql}) terms
  where case when $2::bigint is not null then merchant_id = $2
    else merchant_id in (select merchant_id from money_lines line where line.tenant_id = $1 and ${isUninvoicedSql}) end
  order by terms.merchant_id`

const makeFor = async (tx: Tx, terms: Terms, { tenant, by, body: { until } }: Wanted): Promise<Made[]> => {
  const { merchant_id } = terms
  await lockTakeBacks(tx, tenant, merchant_id, 'shared')
  const draft: Draft = { tenant, merchant_id, until, by: by.name }
  if (!terms.has_two) return [await makeInvoice(tx, draft, 'invoice')]
  const made = [...(await draftNotes(tx, draft)), ...(await draftTaxInvoice(tx, draft))]
  const remittance = await makeInvoice(tx, draft, 'remittance', terms.sets_off)
  return [...made, ...(remittance.kind === 'made' || made.length === 0 ? [remittance] : [])]
}

/** Drafts an invoice, or a remittance, which sets tax invoices and notes off. */
const makeInvoice = async (tx: Tx, draft: Draft, document: DocumentKind, setsOff = false): Promise<Made> => {
  const { tenant, merchant_id, until } = draft
  const clock = await readClock(tx, tenant)
  const take = async (isWanted: string) =>
    (await tx.client.query(takeSql(isWanted), [tenant, merchant_id, clock.journalId, until])).rows[0]
  // A rollback to the savepoint frees the lines if there is nothing to pay.
  await tx.client.query('savepoint invoice')
  let sums = await take(document === 'invoice' ? 'true' : hasPaperSql)
  if (document === 'invoice' && sums.charges_due < 0) {
    await tx.client.query('rollback to savepoint invoice')
    sums = await take(raisesChargesSql)
  }
  if (document === 'remittance') {
    const off = await setOff(tx, draft, clock.journalId, sums.total, setsOff)
    sums = { ...sums, taxable: 0, tax: 0, tax_lists: null, charges_due: 0, total: addAmounts([sums.total, -off]), off }
  }
  const { total, charges_due, off = 0 } = sums
  if (total > 0 || (total === 0 && (charges_due > 0 || off !== 0))) return insertDraft(tx, draft, clock, document, sums)
  await tx.client.query('rollback to savepoint invoice')
  return { merchant_id, kind: 'nothing_payable', total }
}

const isReversed = hasLaterSql('delivery_reversed')

/** Leaves out corrections that lower charges which the merchant pays separately: they wait for charges to lower. */
const raisesChargesSql = `not (kind in ${correctionKindsSql} and ${chargesSql} < 0)`

/** Is true of a line, `line`, without charges, or whose charges are on a tax invoice or note. */
const hasPaperSql = `(line.tax_invoice_id is not null or ${chargesSql} = 0)`

/** Takes the lines up to the day $4 for the invoice $3, except those that another invoice takes meanwhile. */
const takeSql = (isWanted: string) => `
  with terms as (${termsSql} and merchants.merchant_id = $2
  ), line as (
    update money_lines line set invoice_id = $3 from terms
    where line.tenant_id = $1 and line.merchant_id = $2 and ${isUninvoicedSql} and ${isWanted}
      and ${payableOnSql(isReversed)} <= $4::date and not ${isUndoneLaterSql}
      and ${releasedSql(hasLaterSql('handed_over'), isReversed)}
    returning line.*)
  select ${taxSumsSql}, coalesce(sum(${paidSql}), 0)::float8 as total,
    coalesce(sum(case when charges_apart then ${chargesSql} end), 0)::float8 as charges_due
  from line cross join terms`
