import { type Static, Type } from '@sinclair/typebox'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import { isoTime } from '../../../core/database/iso-time.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { findInvoice, type InvoiceRow } from '../invoices/invoices.ts'
import { findCollection, insertCharges, insertLineSql, returnTransfer } from '../ledger/correction-lines.ts'
import { decidedFields } from '../ledger/decided-routes.ts'
import { Amount, BankReference, mostSummed, nullable, Waybill } from '../ledger/fields.ts'
import { bookJournal } from '../ledger/ledger.ts'
import { lockName, lockParcels, readClock } from '../ledger/parcels.ts'
import { insertSql } from './asked-corrections.ts'
import { chargeNames, computeRight, findDue, readRight, refuseCharges, rightFields } from './charges.ts'
import { joinReasons, refuseCompensation, ValueReason } from './compensation.ts'
import { settleApproved } from './settlements.ts'

// Corrects the books by entries that two people make (docs/money.md#corrections).

/** Says what each kind corrects: the field of a request that names it. */
const subjects = {
  compensation: ['waybill_number'],
  collection: ['waybill_number'],
  write_off: ['merchant_id', 'waybill_number'],
  payment_received: ['merchant_id'],
  opening_balance: ['merchant_id'],
  returned_transfer: ['invoice_no'],
  charges: ['waybill_number'],
} as const
type Kind = keyof typeof subjects
const kinds = Object.keys(subjects) as Kind[]
/** Names the kind that a settlement of a dispute with an amount asks for. */
const settlement = 'settlement'

const kindField = Type.Union(
  kinds.map(kind => Type.Literal(kind)),
  { must: `be ${kinds.join(', ')}`, examples: ['write_off'] },
)
const rightCharge = Type.Union([Type.Number(), Type.Null()], { description: 'The right charge; null: not corrected.' })
export const Correction = Type.Object(
  {
    correction_id: Type.Integer({ examples: [1] }),
    kind: Type.Union([...kindField.anyOf, Type.Literal(settlement)], { examples: ['write_off'] }),
    merchant_id: Type.Integer(),
    merchant_name: Type.String(),
    waybill_number: nullable('null: the correction is of no parcel.'),
    invoice_no: nullable('The invoice whose payment came back, or on which the settled parcel is disputed.'),
    amount: Type.Number({ description: 'The amount added to what the merchant is owed.', examples: [236] }),
    delivery: rightCharge,
    cod_fee: rightCharge,
    return_fee: rightCharge,
    reason: Type.String(),
    bank_reference: nullable(),
    ...decidedFields,
  },
  { title: 'Correction' },
)
export type Correction = Static<typeof Correction>

export const NewCorrection = defineBody('NewCorrection', {
  kind: kindField,
  waybill_number: Type.Optional({ ...Waybill, description: 'For compensation, collection, charges or write_off.' }),
  merchant_id: Type.Optional(
    Type.Integer({
      ...{ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, examples: [1] },
      description: 'For payment_received, opening_balance or write_off.',
    }),
  ),
  invoice_no: Type.Optional(Type.String({ maxLength: 100, description: 'For returned_transfer, a paid invoice.' })),
  amount: Type.Optional({
    ...{ ...Amount, minimum: -mostSummed, must: 'be an amount', examples: [236] },
    description:
      'Adds to what the merchant is owed, below zero takes from it. Charges and a returned transfer have none.',
  }),
  ...rightFields(),
  bank_reference: Type.Optional({ ...BankReference, description: 'A payment that was received needs one.' }),
  reason: { ...Reason, description: 'The merchant reads it on its invoice or statement.' },
  value_reason: ValueReason,
})
type NewCorrection = Static<typeof NewCorrection>

const columns = `correction_id::float8, kind, merchant_id::float8, (
    select name from merchants where merchants.tenant_id = $1 and merchants.merchant_id = corrections.merchant_id
  ) as merchant_name, waybill_number, (
    select invoice_no from invoices where invoices.tenant_id = $1
      and invoices.invoice_id = coalesce(corrections.invoice_id, disputed_on)
  ) as invoice_no, amount::float8,
  right_delivery::float8 as delivery, right_cod_fee::float8 as cod_fee, right_return_fee::float8 as return_fee,
  reason, bank_reference, made_by, ${isoTime('made_at')} as made_at, state,
  decided_by, ${isoTime('decided_at')} as decided_at, booked_on::text`

/** Selects at most $4 corrections below the id $3, newest first; null: of any state and id. */
export const listSql = `select ${columns} from corrections where tenant_id = $1 and ($2::text is null or state = $2)
  and ($3::bigint is null or correction_id < $3) order by corrections.correction_id desc limit $4`

/** Refuses fields that do not belong to a kind. */
const refuseFields = (body: NewCorrection) => {
  const { kind, amount, bank_reference, value_reason } = body
  const fields: readonly ('merchant_id' | 'waybill_number' | 'invoice_no')[] = subjects[kind]
  const given = (['merchant_id', 'waybill_number', 'invoice_no'] as const).filter(field => body[field] !== undefined)
  const wrong = given.find(field => !fields.includes(field)) ?? given[1]
  if (wrong) return refuse(wrong, `Leave this out: ${kind} is corrected by its ${fields.join(' or its ')}.`)
  if (given.length === 0) return refuse(fields[0] as string, `Give the ${fields.join(' or the ')} to correct.`)
  if (kind === 'returned_transfer' && amount !== undefined)
    return refuse('amount', 'Leave this out: the whole payment of the invoice came back.')
  const charges = [...chargeNames, 'weight' as const].filter(name => body[name] !== undefined)
  if (kind === 'charges') return refuseCharges(charges, amount)
  if (charges[0]) return refuse(charges[0], 'Leave this out: only a correction of charges states them.')
  if (kind !== 'returned_transfer' && !amount) return refuse('amount', 'Give an amount above or below zero.')
  if (kind === 'payment_received' && bank_reference === undefined)
    return refuse('bank_reference', 'Give the reference that the bank has of the payment.')
  if (kind !== 'compensation' && value_reason !== undefined)
    return refuse('value_reason', 'Leave this out: only compensation is limited by the COD.')
  return undefined
}

interface Subject {
  readonly merchant_id: number | string
  readonly waybill_number: string | null
  readonly invoice: InvoiceRow | undefined
}

/** Finds what a correction is of, and locks its parcel or invoice. */
const findSubject = async (tx: Tx, tenant: string, body: NewCorrection): Promise<Subject | string> => {
  const { waybill_number, merchant_id, invoice_no } = body
  if (waybill_number !== undefined) {
    const [order] = await lockParcels(tx, tenant, [waybill_number])
    return order ? { merchant_id: order.merchant_id, waybill_number, invoice: undefined } : 'waybill'
  }
  if (invoice_no !== undefined) {
    const invoice = await findInvoice(tx, tenant, invoice_no, { lock: true })
    return invoice ? { merchant_id: invoice.merchant_id, waybill_number: null, invoice } : 'invoice'
  }
  const text = 'select merchant_id from merchants where tenant_id = $1 and merchant_id = $2'
  const { rows } = await tx.client.query(text, [tenant, merchant_id])
  return rows[0] ? { ...rows[0], waybill_number: null, invoice: undefined } : 'merchant'
}

/** Refuses a correction that the books contradict, when it is made and again when it is approved. */
const refuseBooks = async (
  tx: Tx,
  tenant: string,
  { kind, waybill_number, amount, exceeds_cod }: Pick<Stored, 'kind' | 'waybill_number' | 'amount' | 'exceeds_cod'>,
) => {
  if (waybill_number === null) return undefined
  if (kind === 'compensation') return refuseCompensation(tx, tenant, waybill_number, amount, exceeds_cod)
  if (kind !== 'collection') return undefined
  const collected = await findCollection(tx, tenant, waybill_number, amount)
  if (!collected) return refuse('waybill_number', `${waybill_number} is not booked as delivered.`)
  if (collected.after < 0)
    return refuse('amount', `Take at most the ${collected.before} collected for ${waybill_number}.`)
  return undefined
}

/** Stores a correction. It changes nothing until a second person approves it. */
export const makeCorrection = async (tx: Tx, { tenant, by, body }: Call<NewCorrection>): Promise<Acted<Correction>> => {
  const wrong = refuseFields(body)
  if (wrong) return wrong
  const subject = await findSubject(tx, tenant, body)
  if (typeof subject === 'string') return { kind: 'unknown', what: subject }
  const { merchant_id, waybill_number, invoice } = subject
  if (invoice && invoice.state !== 'deposited')
    return refuse('invoice_no', `The invoice is ${invoice.state}: only the payment of a deposited one comes back.`)
  const { delivery, cod_fee, return_fee, weight } = body
  const charges = weight
    ? await computeRight(tx, tenant, waybill_number ?? '', weight)
    : { delivery, cod_fee, return_fee }
  if ('kind' in charges) return charges
  const right = readRight({ ...charges, kind: body.kind })
  const due = right && (await findDue(tx, tenant, waybill_number ?? '', right))
  if (typeof due === 'object') return due
  const amount = due ?? invoice?.total ?? body.amount ?? 0
  if (amount === 0) return refuse('invoice_no', 'Nothing was paid for the invoice.')
  const exceeds_cod = body.value_reason !== undefined
  const refused = await refuseBooks(tx, tenant, { kind: body.kind, waybill_number, amount, exceeds_cod })
  if (refused) return refused
  const { now } = await readClock(tx, tenant)
  const { rows } = await tx.client.query(insertSql, [
    ...[tenant, body.kind, merchant_id, waybill_number, amount, joinReasons(body.reason, body.value_reason)],
    ...[body.bank_reference, by.name, now, exceeds_cod],
    ...(invoice ? await readPayment(tx, tenant, invoice) : Array(5).fill(null)),
    ...[null, charges.delivery, charges.cod_fee, charges.return_fee],
  ])
  return done(tx, tenant, rows[0].correction_id)
}

/** Reads the payment of an invoice, in the order of the columns above. */
const readPayment = async (tx: Tx, tenant: string, { invoice_id, bank_reference, paid_on }: InvoiceRow) => {
  const text = 'select journal_id, booked_on::text from invoices where tenant_id = $1 and invoice_id = $2'
  const { rows } = await tx.client.query(text, [tenant, invoice_id])
  return [invoice_id, rows[0].journal_id, rows[0].booked_on, bank_reference, paid_on]
}

type Stored = Correction & { invoice_id: string | null; payment_journal_id: string | null; exceeds_cod: boolean }

const findCorrection = async (tx: Tx, tenant: string, id: string): Promise<Stored | undefined> => {
  const text = `select ${columns}, invoice_id, payment_journal_id, exceeds_cod from corrections
    where tenant_id = $1 and correction_id = $2`
  return (await tx.client.query<Stored>(text, [tenant, id])).rows[0]
}

/** Returns a correction as the transaction wrote it; a repeated request changed nothing. */
const done = async (tx: Tx, tenant: string, id: string, isRepeated = false): Promise<Acted<Correction>> => ({
  kind: 'done',
  data: (await findCorrection(tx, tenant, id)) as Stored,
  objects: isRepeated ? [] : [`correction ${id}`],
})

/** Approves a correction, which books it, or rejects it. Whoever made it may only reject it. */
export const decideCorrection = async (
  tx: Tx,
  to: 'approved' | 'rejected',
  { tenant, by, id }: Call<object>,
): Promise<Acted<Correction>> => {
  const lockSql = 'select from corrections where tenant_id = $1 and correction_id = $2 for update'
  await tx.client.query(lockSql, [tenant, id])
  const found = await findCorrection(tx, tenant, id)
  if (!found) return { kind: 'unknown', what: 'correction' }
  const { state, made_by, decided_by } = found
  if (state === to && decided_by === by.name) return done(tx, tenant, id, true)
  if (state !== 'waiting') return refuse('correction_id', `The correction is ${state}: make another one.`)
  if (to === 'approved' && made_by === by.name)
    return refuse('correction_id', `${by.name} made it: a second person must approve it.`)
  const refused = to === 'approved' && (await lockBooks(tx, tenant, found))
  if (refused) return refused
  const { now, journalId, today } = await readClock(tx, tenant)
  const booking = to === 'approved' ? [found.kind === settlement ? null : journalId, today] : [null, null]
  await tx.client.query(decideSql, [tenant, id, to, by.name, now, ...booking])
  if (to === 'approved' && found.kind !== settlement) {
    const waybill = found.waybill_number ?? ''
    const right = readRight(found)
    if (right) await insertCharges(tx, tenant, waybill, right, id)
    else if (!found.invoice_id) await tx.client.query(insertLineSql, [tenant, waybill, id, found.amount])
    await bookJournal(tx, tenant, journalId, [waybill])
  }
  return done(tx, tenant, id)
}

const decideSql = `
  update corrections set state = $3, decided_by = $4, decided_at = $5, journal_id = $6, booked_on = $7
  where tenant_id = $1 and correction_id = $2`

/** Settles a dispute with the amount that waited; a refusal says why that is no longer possible. */
const settle = async (tx: Tx, tenant: string, { invoice_no, waybill_number, amount, reason, made_by }: Stored) => {
  const body = { waybill_numbers: [waybill_number ?? ''], adjustment: amount, reason }
  const by = { kind: 'staff', name: made_by } as const
  const acted = await settleApproved(tx, { tenant, by, id: invoice_no ?? '', body })
  return acted.kind === 'refused' ? refuse('correction_id', Object.values(acted.errors).flat().join(' ')) : undefined
}

/** Locks what a correction changes, or settles its dispute; refuses it if that changed meanwhile. */
const lockBooks = async (tx: Tx, tenant: string, correction: Stored) => {
  if (correction.kind === settlement) return settle(tx, tenant, correction)
  if (correction.invoice_id)
    return (await returnTransfer(tx, tenant, correction))
      ? undefined
      : refuse('correction_id', 'The invoice is no longer paid by that transfer: reject the correction.')
  if (correction.waybill_number === null) await lockName(tx, tenant, 'corrections')
  else await lockParcels(tx, tenant, [correction.waybill_number])
  const right = readRight(correction)
  const due = right && (await findDue(tx, tenant, correction.waybill_number ?? '', right))
  if (typeof due === 'object') return due
  if (due !== undefined && due !== correction.amount)
    return refuse('correction_id', 'What is charged changed meanwhile: reject the correction.')
  return refuseBooks(tx, tenant, correction)
}
