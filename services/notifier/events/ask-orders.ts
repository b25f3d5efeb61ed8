import { createServiceClient } from '@courier/shared/service-client.ts'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { Logger } from 'pino'
import { type FoundOrder, KnownOrder, type OrderDesk } from './order-desk.ts'

export interface AskOptions {
  /** http://orders:3000 */
  readonly url: string
  readonly serviceToken: string
  readonly logger: Logger
}

const check = TypeCompiler.Compile(KnownOrder)

/** Asks orders over HTTP. An answer that cannot be read counts as unavailable, and is logged. */
export const askOrders = ({ url, serviceToken, logger }: AskOptions): OrderDesk & { close(): Promise<void> } => {
  const orders = createServiceClient({ baseUrl: url, serviceToken, callMilliseconds: 3_000 })
  const find = async (tenant: string, waybill: string): Promise<FoundOrder> => {
    const path = `/internal/orders/${encodeURIComponent(tenant)}/${encodeURIComponent(waybill)}`
    const result = await orders.get(path)
    if (result.kind === 'unreachable') {
      logger.warn({ reason: result.reason }, 'orders.not_reached')
      return { kind: 'unavailable' }
    }
    if (result.status === 404) return { kind: 'unknown' }
    const order = result.status === 200 ? (result.body as { data?: unknown } | undefined)?.data : undefined
    if (check.Check(order)) return { kind: 'found', order }
    logger.warn({ status: result.status }, 'orders.answer_not_understood')
    return { kind: 'unavailable' }
  }
  return { find, close: orders.close }
}
