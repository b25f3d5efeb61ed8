import type { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { isFinal } from '../statuses/statuses.ts'
import type { OrderRow } from './order-rows.ts'
import { signWaybill, toOrder, writeTrackingUrl } from './order-view.ts'
import { type OrderStore, readOrders, selectAmong } from './read-orders.ts'

/** Returns an order as the notifier gets it, with the status and the note of an event, `change`. */
export type Snapshot = (change: { statusKey: string; note: string | null }) => OrderSnapshot

/** Lets a capability add fields of the contract to what the notifier gets. */
export type SnapshotPoint = (row: OrderRow, catalogue: Catalogue) => Partial<OrderSnapshot>

/** Reads the tenant's orders among `waybills`, by waybill. */
export type ReadSnapshots = (tenant: string, waybills: readonly string[]) => Promise<ReadonlyMap<string, Snapshot>>

/** Creates the reader of snapshots, which have tracking links only if there is a `publicUrl`. */
export const createSnapshotReader = (
  store: OrderStore,
  publicUrl: string | undefined,
  points: readonly SnapshotPoint[] = [],
): ReadSnapshots => {
  const view = (row: OrderRow, catalogue: Catalogue): [string, Snapshot] => [
    row.waybill_number,
    change => ({
      ...toSnapshot({ ...row, status_key: change.statusKey }, catalogue, publicUrl, change.note),
      ...Object.assign({}, ...points.map(point => point(row, catalogue))),
    }),
  ]
  return async (tenant, waybills) => new Map(await readOrders(store, tenant, selectAmong(tenant, waybills), view))
}

export const toSnapshot = (
  row: OrderRow,
  catalogue: Catalogue,
  publicUrl: string | undefined,
  note: string | null,
): OrderSnapshot => {
  const order = toOrder(row, catalogue)
  const { waybill_number, order_no, customer_name, customer_phone, status } = order
  return {
    waybill_number,
    order_no,
    customer_name,
    customer_phone,
    business_name: order.merchant_business_name,
    merchant_name: order.merchant.name,
    origin_city: order.origin_city_name,
    destination_city: order.destination_city_name,
    destination_state: order.destination_state_name,
    cod: order.cod,
    delivery_charge: order.delivery_charge,
    currency: order.currency,
    time_zone: catalogue.timeZone,
    tracking_code: signWaybill(catalogue, waybill_number),
    ...(publicUrl && { tracking_url: writeTrackingUrl(publicUrl, catalogue, waybill_number) }),
    weight: order.weight,
    description: order.description,
    status_key: status.key,
    status_name: status.name,
    note,
    is_final: isFinal(catalogue.statuses.get(status.key)),
  }
}
