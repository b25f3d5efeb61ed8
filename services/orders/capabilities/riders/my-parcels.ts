import type { Staff } from '@courier/shared/access/staff.ts'
import { readPhone } from '@courier/shared/phone-number.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { CashPoint } from '../../core/moves/move-points.ts'
import { findStatuses } from '../../core/statuses/status-queries.ts'
import { failedAttemptKeys, type Statuses } from '../../core/statuses/statuses.ts'
import type { OrderRow } from '../../core/tracking/order-rows.ts'
import { toOrder } from '../../core/tracking/order-view.ts'
import { type OrderStore, selectAmong, viewOrders } from '../../core/tracking/read-orders.ts'
import { findReasons } from '../failures/reasons.ts'
import { findHolders } from './assign.ts'
import { findNeeded, readRules } from './company.ts'
import { findPath, findState } from './paths.ts'
import { findRider, fromToday, type Rider } from './riders.ts'
import { type MyParcel, type MyParcels, maxProofBytes, type RefusedAct } from './schema.ts'

interface ParcelRow
  extends Pick<
    MyParcel,
    'waybill_number' | 'position' | 'assigned_at' | 'assigned_by' | 'failed_attempts' | 'instruction' | 'changed_at'
  > {}

/** Limits the list of one rider: no van holds more. */
const maxParcels = 1000

const parcelsSql = `
  select parcel.waybill_number, position, ${isoTime('assigned_at')} as assigned_at, assigned_by, (
      select count(*)::int from attempts where tenant_id = $1 and waybill_number = parcel.waybill_number
    ) as failed_attempts, (
      select json_build_object('action', action, 'date', on_date::text, 'note', note, 'given_as', given_as)
      from instructions where tenant_id = $1 and waybill_number = parcel.waybill_number
      order by instruction_no desc limit 1
    ) as instruction, (
      select ${isoTime('max(edited_at)')} from order_edits
      where tenant_id = $1 and waybill_number = parcel.waybill_number
    ) as changed_at
  ${fromToday} and rider_id = $2::bigint limit ${maxParcels}`

const actColumns = `act_no::float8, act_id as id, kind, waybill_number, ${isoTime('happened_at')} as happened_at,
  ${isoTime('received_at')} as received_at, code, message, (fields->>'amount')::float8 as amount`
/** Selects the acts of the tenant $1 that wait for a decision, of the rider $2 unless it is null. */
export const refusedSql = `
  select ${actColumns}, rider_id::text from rider_acts
  where tenant_id = $1 and ($2::bigint is null or rider_id = $2) and code is not null and decision is null
  order by act_no limit 500`
const decidedSql = `
  select act_id as id, waybill_number, decision, decided_by as by, ${isoTime('decided_at')} as at, decision_note as note
  from rider_acts where tenant_id = $1 and rider_id = $2::bigint and decided_at > now() - interval '7 days'
  order by act_no`

interface Options extends OrderStore {
  readonly cash: CashPoint | undefined
}

/** Reads everything that the rider's page shows. Nothing of parcels that the rider does not have. */
export const readMyParcels = async (options: Options, { tenant, tokenId }: Staff): Promise<MyParcels> => {
  const { cash, catalogues, pool } = options
  const read = await inTenant(pool, tenant, (tx: Tx) => readRows(tx, cash, tenant, tokenId))
  const { rows, orders, statuses, rules, held, rider, refused, ...others } = read
  const byWaybill = new Map(rows.map(row => [row.waybill_number, row]))
  const parcels = await viewOrders(catalogues, tenant, orders, (row, catalogue) => {
    const order = toOrder(row, catalogue)
    const whatsapp_digits = readPhone(order.customer_phone, catalogue.country).number ?? null
    const parcel = byWaybill.get(row.waybill_number) as ParcelRow
    return { ...viewParcel(order, parcel, statuses, findNeeded(rules, row.cod)), whatsapp_digits }
  })
  const count = (state: MyParcel['state']) => parcels.filter(parcel => parcel.state === state).length
  return {
    ...others,
    rider,
    counts: { to_do: count('to_do'), done: count('done'), failed: count('failed') },
    money: cash !== undefined,
    cash: held ? { parcels: held.parcels, amount: held.amount } : null,
    methods: [...(cash?.methods ?? [])],
    proof: rules,
    max_proof_bytes: maxProofBytes,
    parcels: parcels.sort(compareParcels),
    refused: refused.map(({ rider_id: _, ...act }) => act),
  }
}

const readRows = async (tx: Tx, cash: CashPoint | undefined, tenant: string, tokenId: string) => {
  const rider = await findRider(tx, tenant, tokenId)
  const values = [tenant, rider.id]
  const [rows, refused, decided, statuses, reasons, rules, [held], [clock]] = await Promise.all([
    tx.rows<ParcelRow>({ name: 'list_my_parcels', text: parcelsSql, values }),
    tx.rows<RefusedAct & { rider_id: string }>({ name: 'list_refused_acts', text: refusedSql, values }),
    tx.rows<MyParcels['decided'][number]>({ name: 'list_decided_acts', text: decidedSql, values }),
    findStatuses(tx, tenant),
    findReasons(tx, tenant),
    readRules(tx, tenant),
    cash?.read(tx, tenant, rider.name) ?? [],
    tx.rows<{ now: string }>(`select ${isoTime('now()')} as now`),
  ])
  const orders = await tx.rows<OrderRow>(
    selectAmong(
      tenant,
      rows.map(row => row.waybill_number),
    ),
  )
  return {
    rider,
    rows,
    refused,
    decided,
    statuses,
    reasons: [...reasons],
    rules,
    held,
    as_of: clock?.now ?? '',
    orders,
  }
}

const viewParcel = (
  order: ReturnType<typeof toOrder>,
  { position, assigned_at, assigned_by, failed_attempts, instruction, changed_at }: ParcelRow,
  statuses: Statuses,
  proof: MyParcel['proof'],
): Omit<MyParcel, 'whatsapp_digits'> => ({
  waybill_number: order.waybill_number,
  order_no: order.order_no,
  state: findState(order.status.key),
  position,
  status: order.status,
  assigned_at,
  assigned_by,
  business_name: order.merchant_business_name,
  customer_name: order.customer_name,
  customer_address: order.customer_address,
  city: order.destination_city_name,
  state_name: order.destination_state_name,
  customer_phone: order.customer_phone,
  customer_secondary_phone: order.customer_secondary_phone,
  cod: order.cod,
  currency: order.currency,
  weight: order.weight,
  description: order.description,
  remark: order.remark,
  failed_attempts,
  instruction,
  can_deliver: findPath(order.status.key, 'delivery', statuses) !== undefined,
  can_deliver_partly: findPath(order.status.key, 'partial_delivery', statuses) !== undefined,
  can_fail: findPath(order.status.key, 'failure', statuses) !== undefined,
  proof,
  changed_at,
})

const isFinished = ({ state }: Pick<MyParcel, 'state'>): number => (state === 'done' ? 1 : 0)
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Sorts what is finished last, then by the place in the list, then by city. */
const compareParcels = (a: MyParcel, b: MyParcel): number =>
  isFinished(a) - isFinished(b) ||
  (a.position ?? Number.MAX_SAFE_INTEGER) - (b.position ?? Number.MAX_SAFE_INTEGER) ||
  compareText(a.city, b.city) ||
  compareText(a.waybill_number, b.waybill_number)

/** Says who has a parcel, and nothing else of it. undefined: there is no such parcel. */
export const lookUp = async (tx: Tx, tenant: string, waybill: string, rider: Rider) => {
  const text = 'select status_key from orders where tenant_id = $1 and waybill_number = $2'
  const [[order], holders, statuses] = await Promise.all([
    tx.rows<{ status_key: string }>({ name: 'read_status_key', text, values: [tenant, waybill] }),
    findHolders(tx, tenant, [waybill]),
    findStatuses(tx, tenant),
  ])
  if (!order) return undefined
  const holder = holders.get(waybill)
  const isOther = holder !== undefined && holder.id !== rider.id
  return {
    waybill_number: waybill,
    with: holder === undefined ? ('nobody' as const) : isOther ? ('other' as const) : ('you' as const),
    rider: isOther ? holder.name : null,
    can_take: holder === undefined && isTakable(order.status_key, statuses),
  }
}

/**
 * Returns true if a rider may take a parcel that nobody has: it can be delivered from its status. After a failed
 * delivery the office decides.
 */
export const isTakable = (key: string, statuses: Statuses): boolean =>
  !failedAttemptKeys.includes(key) && findPath(key, 'delivery', statuses) !== undefined

/** Stores the sequence of a rider's parcels; ignores parcels of others. */
export const sortParcels = async (tx: Tx, tenant: string, rider: Rider, waybills: readonly string[]) => {
  const { rowCount } = await tx.client.query(sortSql, [tenant, rider.id, waybills])
  return rowCount ?? 0
}

const sortSql = `
  update rider_parcels set position = array_position($3::text[], waybill_number)
  where tenant_id = $1 and rider_id = $2::bigint and waybill_number = any($3::text[])`
