import type { Tx } from '../database/tables.ts'
import type { CheckedBatch, PricedOrder } from './check-batch.ts'

/** What the one statement of a batch tells: whether it wrote every order, and the catalogue's version at that moment. */
export interface Insertion {
  readonly version: string
  /** The waybills written, when some were not: the others exist already. */
  readonly onlyWritten: string[] | null
}

/**
 * Writes a batch's orders with their first timeline events and the batch's row of the outbox. Sorted by waybill: batches that share waybills then wait
 * for each other in the same order, and none deadlocks.
 */
export const insertBatch = async (
  tx: Tx,
  tenant: string,
  merchantId: string,
  batch: CheckedBatch,
  waybills: readonly string[],
): Promise<Insertion> => {
  const rows = batch.orders
    .map((priced, index) => ({ ...priced, waybill: waybills[index] ?? '' }))
    .sort((a, b) => (a.waybill < b.waybill ? -1 : 1))
  const values = [
    tenant,
    merchantId,
    batch.businessId,
    batch.origin.id,
    ...columns.map(column => arrayLiteral(rows.map(column.read))),
  ]
  const { rows: answer } = await tx.client.query({ name: 'insert_batch', text: statement, values })
  return { version: answer[0].version, onlyWritten: answer[0].only_written }
}

type Row = PricedOrder & { waybill: string }
type Cell = string | number | undefined

/** The columns that differ from order to order: name, type and where the value comes from. The outbox takes the first two. */
const columns: { name: string; type: string; read: (row: Row) => Cell }[] = [
  { name: 'waybill_number', type: 'text', read: row => row.waybill },
  { name: 'status_key', type: 'text', read: row => row.order.statusKey },
  { name: 'order_no', type: 'text', read: row => row.order.orderNo },
  { name: 'customer_name', type: 'text', read: row => row.order.customerName },
  { name: 'customer_address', type: 'text', read: row => row.order.customerAddress },
  { name: 'customer_phone', type: 'text', read: row => row.order.customerPhone },
  { name: 'customer_secondary_phone', type: 'text', read: row => row.order.customerSecondaryPhone },
  { name: 'customer_email', type: 'text', read: row => row.order.customerEmail },
  { name: 'destination_city_id', type: 'integer', read: row => row.destination.id },
  { name: 'cod', type: 'integer', read: row => row.order.cod },
  { name: 'weight', type: 'double precision', read: row => row.order.weightKg },
  { name: 'description', type: 'text', read: row => row.order.description },
  { name: 'remark', type: 'text', read: row => row.order.remark },
  { name: 'delivery_charge', type: 'numeric', read: row => (row.charge / 100).toFixed(2) },
]

const names = columns.map(column => column.name).join(', ')
const arrays = columns.map((column, index) => `$${index + 5}::${column.type}[]`).join(', ')

const statement = `
  with given as (
    select * from unnest(${arrays}) as given (${names})
  ), written as (
    insert into orders (tenant_id, merchant_id, business_id, origin_city_id, ${names})
    select $1, $2::bigint, $3::integer, $4::integer, ${names} from given
    on conflict do nothing
    returning waybill_number
  ), told as (
    insert into order_events (tenant_id, waybill_number, status_key)
    select $1, waybill_number, status_key from given
  ), outgoing as (
    insert into outbox (tenant_id, type, waybill_numbers, status_keys) values ($1, 'order.created', $5, $6)
  )
  select (select version from tenants where tenant_id = $1) as version,
    case when (select count(*) from written) < (select count(*) from given)
      then array(select waybill_number from written) end as only_written`

/** A Postgres array as text: writing it here costs a fraction of the driver's own way. */
const arrayLiteral = (cells: Cell[]): string => `{${cells.map(element).join(',')}}`

const element = (cell: Cell): string => {
  if (cell === undefined) return 'null'
  if (typeof cell === 'number') return String(cell)
  return needsEscape.test(cell) ? `"${cell.replace(/["\\]/g, '\\$&')}"` : `"${cell}"`
}
const needsEscape = /["\\]/

/** Those of `waybills` that the tenant already has. */
export const findTaken = async (tx: Tx, tenant: string, waybills: string[]): Promise<Set<string>> => {
  if (waybills.length === 0) return new Set()
  const { rows } = await tx.client.query({
    name: 'find_taken',
    text: 'select waybill_number from orders where tenant_id = $1 and waybill_number = any($2::text[])',
    values: [tenant, arrayLiteral(waybills)],
  })
  return new Set(rows.map((row: { waybill_number: string }) => row.waybill_number))
}
