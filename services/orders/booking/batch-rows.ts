import { type IdempotencyKey, lockNumber } from '@courier/shared/idempotency.ts'
import type { CheckedBatch, PricedOrder } from './check-batch.ts'

/** A batch as it is written: its waybills in the order of its orders. */
export interface NewBatch {
  readonly merchantId: string
  readonly batch: CheckedBatch
  readonly waybills: readonly string[]
  /** Kept with the waybills in the same transaction. */
  readonly key?: IdempotencyKey | undefined
}

interface Row {
  readonly priced: PricedOrder
  readonly waybill: string
  readonly of: NewBatch
}
type Cell = string | number | undefined

interface Column {
  readonly name: string
  readonly type: string
  readonly read: (row: Row) => Cell
}

/** What differs from order to order: name, type and where the value comes from. The outbox takes the first two. */
export const orderColumns: readonly Column[] = [
  { name: 'waybill_number', type: 'text', read: row => row.waybill },
  { name: 'status_key', type: 'text', read: row => row.priced.order.statusKey },
  { name: 'order_no', type: 'text', read: row => row.priced.order.orderNo },
  { name: 'customer_name', type: 'text', read: row => row.priced.order.customerName },
  { name: 'customer_address', type: 'text', read: row => row.priced.order.customerAddress },
  { name: 'customer_phone', type: 'text', read: row => row.priced.order.customerPhone },
  { name: 'customer_secondary_phone', type: 'text', read: row => row.priced.order.customerSecondaryPhone },
  { name: 'customer_email', type: 'text', read: row => row.priced.order.customerEmail },
  { name: 'destination_city_id', type: 'integer', read: row => row.priced.destination.id },
  { name: 'cod', type: 'integer', read: row => row.priced.order.cod },
  { name: 'weight', type: 'double precision', read: row => row.priced.order.weightKg },
  { name: 'description', type: 'text', read: row => row.priced.order.description },
  { name: 'remark', type: 'text', read: row => row.priced.order.remark },
  // Hundredths: Postgres moves the point.
  { name: 'delivery_charge', type: 'numeric', read: row => `${row.priced.charge}e-2` },
]

/** What the orders of a batch have in common. */
export const batchColumns: readonly Column[] = [
  { name: 'merchant_id', type: 'bigint', read: row => row.of.merchantId },
  { name: 'business_id', type: 'integer', read: row => row.of.batch.businessId },
  { name: 'origin_city_id', type: 'integer', read: row => row.of.batch.origin.id },
]

/** Of several batches every column is an array; of one, what its orders have in common is a plain value. */
export const orderValues = (batches: readonly NewBatch[]): (string | null)[] => {
  const rows = toRows(batches)
  const arrays = orderColumns.map(column => arrayOf(rows, column))
  const common = batchColumns.map(column =>
    batches.length > 1 ? arrayOf(rows, column) : String(column.read(rows[0] as Row)),
  )
  return [...arrays, ...common]
}

/** Sorted by waybill: batches that share waybills then wait for each other in the same order, and none deadlocks. */
const toRows = (batches: readonly NewBatch[]): Row[] => {
  const rows: Row[] = []
  let isSorted = true
  let last = ''
  for (const batch of batches)
    for (const [index, priced] of batch.batch.orders.entries()) {
      const waybill = batch.waybills[index] ?? ''
      isSorted &&= last < waybill
      last = waybill
      rows.push({ priced, waybill, of: batch })
    }
  return isSorted ? rows : rows.sort((a, b) => (a.waybill < b.waybill ? -1 : 1))
}

/** The keys of batches that came with one, in one order for all: two statements with the same keys cannot deadlock. */
export const keyValues = (tenant: string, batches: readonly NewBatch[]): (string | null)[] => {
  const keys = batches
    .flatMap(({ key, waybills }) => (key ? { ...key, waybills } : []))
    .sort((a, b) => (a.scope + a.key < b.scope + b.key ? -1 : 1))
  return [
    arrayLiteral(keys.map(({ scope }) => scope)),
    arrayLiteral(keys.map(({ key }) => key)),
    arrayLiteral(keys.map(({ fingerprint }) => `\\x${fingerprint.toString('hex')}`)),
    // An array of arrays of different lengths: Postgres knows them as text only.
    arrayLiteral(keys.map(({ waybills }) => arrayLiteral(waybills))),
    arrayLiteral(keys.map(key => lockNumber(tenant, key))),
  ]
}

/** A Postgres array as text: writing it here costs a fraction of the driver's own way. null when every cell is empty. */
const arrayOf = (rows: readonly Row[], { read }: Column): string | null => {
  let text = ''
  let isEmpty = true
  for (const row of rows) {
    const cell = read(row)
    isEmpty &&= cell === undefined
    text += text === '' ? element(cell) : `,${element(cell)}`
  }
  return isEmpty ? null : `{${text}}`
}

export const arrayLiteral = (cells: readonly Cell[]): string => `{${cells.map(element).join(',')}}`

const element = (cell: Cell): string => {
  if (cell === undefined) return 'null'
  if (typeof cell === 'number') return String(cell)
  return needsEscape.test(cell) ? `"${cell.replace(/["\\]/g, '\\$&')}"` : `"${cell}"`
}
const needsEscape = /["\\]/
