import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { Logger } from 'pino'
import { Pool } from 'undici'
import { type FoundOrder, KnownOrder, type OrderDesk } from './order-desk.ts'

export interface AskOptions {
  /** http://orders:3000 */
  readonly url: string
  readonly serviceToken: string
  readonly logger: Logger
}

const deadlineMilliseconds = 3_000
const check = TypeCompiler.Compile(KnownOrder)

/** Asks orders over HTTP. An answer that cannot be read counts as unavailable, and is logged. */
export const askOrders = ({ url, serviceToken, logger }: AskOptions): OrderDesk & { close(): Promise<void> } => {
  const { origin } = new URL(url)
  const pool = new Pool(origin, { connections: 16, keepAliveTimeout: 4_000 })
  const headers = { authorization: `Bearer ${serviceToken}`, accept: 'application/json' }
  const ask = async (tenant: string, waybill: string): Promise<FoundOrder> => {
    const path = `/internal/orders/${encodeURIComponent(tenant)}/${encodeURIComponent(waybill)}`
    const signal = AbortSignal.timeout(deadlineMilliseconds)
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers, signal })
    const text = await body.text()
    if (statusCode === 404) return { kind: 'unknown' }
    const order: unknown = statusCode === 200 ? JSON.parse(text).data : undefined
    if (check.Check(order)) return { kind: 'found', order }
    logger.warn({ status: statusCode }, 'orders.answer_not_understood')
    return { kind: 'unavailable' }
  }
  return {
    find: (tenant, waybill) =>
      ask(tenant, waybill).catch(err => {
        logger.warn({ err }, 'orders.not_reached')
        return { kind: 'unavailable' }
      }),
    close: () => pool.close(),
  }
}
