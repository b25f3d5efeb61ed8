import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { checkEach, refuse } from '../../../core/actions/action.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { Waybills } from '../ledger/fields.ts'
import { hasLaterSql, lockName, lockParcels } from '../ledger/parcels.ts'
import type { DocumentKind } from '../papers/amounts.ts'

// Names, locks, inserts and finds the lines of disputes.

const LineNos = Type.Array(Type.Integer({ minimum: 1, maximum: 2_147_483_647, must: 'be the line_no of a line' }), {
  minItems: 1,
  maxItems: 1000,
  description: 'Lines without a parcel, by their `line_no`.',
  examples: [[1]],
})
/** Defines what a dispute is about: parcels, lines without a parcel, or both. */
export const disputed = { waybill_numbers: Type.Optional(Waybills), line_nos: Type.Optional(LineNos) }
type Disputed = Static<TObject<typeof disputed>>

/** Names what a dispute is about, as responses and the audit do. No waybill has a blank. */
export const toKeys = ({ waybill_numbers = [], line_nos = [] }: Disputed): string[] => [
  ...waybill_numbers,
  ...line_nos.map(toLineKey),
]
const toLineKey = (line: number | string) => `line ${line}`

export const checkDisputed = (body: Disputed, check: (key: string) => string | false | undefined): FieldErrors => ({
  ...checkEach(body.waybill_numbers, check),
  ...checkEach(body.line_nos?.map(String), line => check(toLineKey(line)), 'line_nos'),
})

/** Locks what a dispute is about, or refuses a request without it. */
export const lockDisputed = async (tx: Tx, tenant: string, body: Disputed) => {
  if (toKeys(body).length === 0)
    return refuse('waybill_numbers', 'Give waybill_numbers, or line_nos of lines without a parcel.')
  await lockParcels(tx, tenant, body.waybill_numbers ?? [])
  if (body.line_nos) await lockName(tx, tenant, 'corrections')
  return undefined
}

/** Tests whether a line is one that $3 names. `no` is the number of the line that is disputed. */
export const isNamedSql = (no: string) =>
  `(waybill_number = any($3::text[]) or waybill_number = '') and ${keySql(no)} = any($3::text[])`
export const keySql = (no: string) => `case when waybill_number = '' then 'line ' || ${no} else waybill_number end`

export const hasTotal = (document: DocumentKind) => document === 'invoice' || document === 'remittance'

/** Disputed charges may be of parcels that are not on the remittance. */
export const addToTotalSql = `
  update invoices set total = total + $3, parcels = counted.parcels
  from (
    select count(distinct nullif(waybill_number, '')) as parcels from money_lines
    where tenant_id = $1 and invoice_id = $2
  ) counted where tenant_id = $1 and invoice_id = $2`

interface Line {
  readonly waybill_number: string
  /** Is the amount to hold, or below zero to release. */
  readonly held: number
  readonly refers_to: number
}

/** Inserts lines of one kind, each after the newest one of its waybill. */
export const insertLines = (tx: Tx, tenant: string, lines: readonly Line[], about: readonly unknown[]) =>
  tx.client.query(insertSql, [
    tenant,
    ...[lines.map(line => line.waybill_number), lines.map(line => line.held), lines.map(line => line.refers_to)],
    ...about,
  ])

const insertSql = `
  insert into money_lines (tenant_id, waybill_number, line_no, held, refers_to, kind, merchant_id, journal_id,
    booked_on, reason, invoice_id, disputed_on, staff_name, adjustment)
  select $1, waybill_number, newest.line_no + row_number() over (partition by waybill_number order by refers_to), held,
    refers_to, $5, $6, $7, $8, $9, $10, $11, $12, $13
  from unnest($2::text[], $3::numeric[], $4::integer[]) as taken (waybill_number, held, refers_to)
    cross join lateral (
      select line_no from money_lines newest where newest.tenant_id = $1
        and newest.waybill_number = taken.waybill_number
      order by newest.tenant_id desc, newest.waybill_number desc, newest.line_no desc limit 1
    ) newest
  returning tenant_id`

/** Selects the invoice of a dispute. An earlier version forgot it once the invoice was cancelled: any settles it. */
const isOwnSql = (invoice: string) => `coalesce(line.disputed_on, line.invoice_id, ${invoice}::uuid) = ${invoice}::uuid`

const isOpenSql = `tenant_id = $1 and merchant_id = $2 and kind = 'disputed' and not ${hasLaterSql('released')}`

const heldSql = `
  select ${keySql('refers_to')} as key, waybill_number, held::float8, line_no as refers_to from money_lines line
  where ${isOpenSql} and ${isNamedSql('refers_to')}
    and ($4::uuid is null or ${isOwnSql('$4')})`

/** Holds the open dispute of each parcel or line; `refers_to` is the line that holds the amount. */
export type OpenLines = ReadonlyMap<string, Line>

/**
 * Finds the open disputes of parcels or lines, on one invoice or on any. A parcel has one open dispute at a time, on
 * whichever of its invoices.
 */
export const findOpen = async (
  tx: Tx,
  values: readonly unknown[],
  invoiceId: string | null = null,
): Promise<OpenLines> => {
  const { rows } = await tx.client.query(heldSql, [...values, invoiceId])
  return new Map(rows.map(row => [row.key, row]))
}
