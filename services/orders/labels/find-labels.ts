import { invalid } from '@courier/shared/errors/errors.ts'
import type { FastifyRequest } from 'fastify'
import { readScope } from '../access/merchant.ts'
import { toOrder } from '../tracking/order-view.ts'
import { isWaybill, type OrderRow, type OrderStore, readOrders, selectAmong } from '../tracking/read-orders.ts'
import { writeTrackingUrl } from '../tracking/tracking-link.ts'
import type { Label } from './label.ts'

/** Finds the labels of the requester's orders with these waybills, by waybill. */
export const findLabels = async (
  store: OrderStore,
  request: FastifyRequest,
  waybills: readonly string[],
): Promise<Map<string, Label>> => {
  const { tenant, merchantId } = readScope(request)
  let day: Intl.DateTimeFormat | undefined
  const known = waybills.filter(waybill => isWaybill.test(waybill))
  const labels = await readOrders(store, tenant, selectAmong(tenant, known, merchantId), (row: OrderRow, catalogue) => {
    // Swedish dates are ISO 8601. Making the format takes longer than a label.
    day ??= new Intl.DateTimeFormat('sv-SE', { timeZone: catalogue.timeZone })
    const url = writeTrackingUrl(request.publicUrl, catalogue, row.waybill_number)
    const booked_on = day.format(new Date(row.created_at))
    return { ...toOrder(row, catalogue), company: catalogue.company, url, booked_on }
  })
  return new Map(labels.map(label => [label.waybill_number, label]))
}

/** Returns the labels in the order of the waybills. Throws unless the requester has all of these orders. */
export const findAllLabels = async (store: OrderStore, request: FastifyRequest, waybills: readonly string[]) => {
  const found = await findLabels(store, request, waybills)
  const missing = waybills.flatMap((waybill, index) =>
    found.has(waybill) ? [] : [[`waybill_numbers.${index}`, ['The requested waybill does not exist in the system.']]],
  )
  if (missing.length > 0) throw invalid(Object.fromEntries(missing))
  return waybills.flatMap(waybill => found.get(waybill) ?? [])
}
