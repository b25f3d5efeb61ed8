import type { KnownOrder, OrderDesk } from '../events/order-desk.ts'

const atOnce = 8
const deadlineMilliseconds = 15_000

/**
 * The orders of these waybills, each asked for once, those that exist; undefined when orders is away or too slow for all of
 * them within 15 seconds.
 */
export const findOrders = async (
  desk: OrderDesk,
  tenant: string,
  waybills: readonly string[],
): Promise<Map<string, KnownOrder> | undefined> => {
  const end = performance.now() + deadlineMilliseconds
  const found = new Map<string, KnownOrder>()
  const left = [...new Set(waybills)]
  let isAway = false
  const ask = async (): Promise<void> => {
    for (let waybill = left.pop(); waybill !== undefined && !isAway; waybill = left.pop()) {
      const result = performance.now() < end ? await desk.find(tenant, waybill) : { kind: 'unavailable' as const }
      if (result.kind === 'found') found.set(waybill, result.order)
      else if (result.kind === 'unavailable') isAway = true
    }
  }
  await Promise.all(Array.from({ length: atOnce }, ask))
  return isAway ? undefined : found
}
