import { invalid } from '@courier/shared/errors/errors.ts'
import type pg from 'pg'
import type { OrderScope } from '../access/merchant.ts'
import type { Catalogues } from '../catalogue/catalogue.ts'
import { toOrder } from '../tracking/order-view.ts'
import { findOrders, isWaybill, viewOrders } from '../tracking/read-orders.ts'
import { writeTrackingUrl } from '../tracking/tracking-link.ts'
import type { Label } from './label.ts'

export interface LabelStore {
  readonly pool: pg.Pool
  readonly catalogues: Catalogues
}

/** The orders that may be printed. */
export interface Caller extends OrderScope {
  /** The public address of orders. */
  readonly publicUrl: string
}

/** Finds the labels of the caller's orders with these waybills, by waybill. */
export const findLabels = async (
  { pool, catalogues }: LabelStore,
  { tenant, merchantId, publicUrl }: Caller,
  waybills: readonly string[],
): Promise<Map<string, Label>> => {
  const rows = await findOrders(pool, tenant, waybills.filter(isWaybillNumber), merchantId)
  let day: Intl.DateTimeFormat | undefined
  const labels = await viewOrders(catalogues, tenant, rows, (row, catalogue) => {
    // Swedish dates are ISO 8601. Making the format takes longer than a label.
    day ??= new Intl.DateTimeFormat('sv-SE', { timeZone: catalogue.timeZone })
    const url = writeTrackingUrl(publicUrl, catalogue, row.waybill_number)
    const booked_on = day.format(new Date(row.created_at))
    return { ...toOrder(row, catalogue), company: catalogue.company, url, booked_on }
  })
  return new Map(labels.map(label => [label.waybill_number, label]))
}

const isWaybillNumber = (text: string): boolean => isWaybill.test(text)

/** Returns the labels in the order of the waybills. Throws unless the caller has all of these orders. */
export const findAllLabels = async (store: LabelStore, caller: Caller, waybills: readonly string[]) => {
  const found = await findLabels(store, caller, waybills)
  const missing = waybills.flatMap((waybill, index) =>
    found.has(waybill) ? [] : [[`waybill_numbers.${index}`, ['The requested waybill does not exist in the system.']]],
  )
  if (missing.length > 0) throw invalid(Object.fromEntries(missing))
  return waybills.flatMap(waybill => found.get(waybill) ?? [])
}
