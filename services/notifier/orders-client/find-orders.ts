import type { KnownOrder, OrdersClient } from './orders-client.ts'

const atOnce = 8
const deadlineMilliseconds = 15_000

/** Finds the orders of these waybills, requesting each once; undefined if orders is unavailable or too slow. */
export const findOrders = async (orders: OrdersClient, tenant: string, waybills: readonly string[]) => {
  const end = performance.now() + deadlineMilliseconds
  const found = new Map<string, KnownOrder>()
  const left = [...new Set(waybills)]
  let isUnavailable = false
  const ask = async (): Promise<void> => {
    for (let waybill = left.pop(); waybill !== undefined && !isUnavailable; waybill = left.pop()) {
      const result = performance.now() < end ? await orders.find(tenant, waybill) : { kind: 'unavailable' as const }
      if (result.kind === 'found') found.set(waybill, result.order)
      else if (result.kind === 'unavailable') isUnavailable = true
    }
  }
  await Promise.all(Array.from({ length: atOnce }, ask))
  return isUnavailable ? undefined : found
}
