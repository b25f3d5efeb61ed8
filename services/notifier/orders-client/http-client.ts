import { createServiceClient } from '@courier/shared/http/service-client.ts'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { Logger } from 'pino'
import { type FoundOrder, KnownOrder, type OrdersClient } from './orders-client.ts'

export interface OrdersClientOptions {
  /** http://orders:3000 */
  readonly url: string
  readonly serviceToken: string
  readonly logger: Logger
}

const check = TypeCompiler.Compile(KnownOrder)

/** Reads orders over HTTP. An invalid response counts as unavailable and is logged. */
export const createOrdersClient = ({
  url,
  serviceToken,
  logger,
}: OrdersClientOptions): OrdersClient & { close(): Promise<void> } => {
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
    logger.warn({ status: result.status }, 'orders.response_invalid')
    return { kind: 'unavailable' }
  }
  return { find, close: orders.close }
}
