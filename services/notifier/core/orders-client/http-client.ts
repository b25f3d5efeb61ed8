import { StaffTokenHolders } from '@courier/shared/contract/staff-tokens.ts'
import { createServiceClient } from '@courier/shared/service-client.ts'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { Logger } from 'pino'
import { type FoundOrder, type FoundStaff, KnownOrder, type OrdersClient, type WantedToken } from './orders-client.ts'

interface OrdersClientOptions {
  readonly url: string
  readonly serviceToken: string
  readonly logger: Logger
}

const check = TypeCompiler.Compile(KnownOrder)
const checkHolders = TypeCompiler.Compile(StaffTokenHolders)

/** Creates the client of orders over HTTP. An invalid response counts as unavailable, and its status is logged. */
export const createOrdersClient = ({
  url,
  serviceToken,
  logger,
}: OrdersClientOptions): OrdersClient & { close(): Promise<void> } => {
  const options = { baseUrl: url, serviceToken, callMilliseconds: 3_000 }
  const orders = createServiceClient(options)
  /** Staff look-ups have connections and a circuit of their own: logins do not wait for slow look-ups of orders. */
  const staff = createServiceClient(options)
  const find = async (tenant: string, waybill: string): Promise<FoundOrder> => {
    const path = `/internal/orders/${encodeURIComponent(tenant)}/${encodeURIComponent(waybill)}`
    const result = await orders.get(path)
    if (result.kind === 'unreachable') return unreached(result.reason)
    if (result.status === 404) return { kind: 'unknown' }
    const order = result.status === 200 ? (result.body as { data?: unknown } | undefined)?.data : undefined
    if (check.Check(order)) return { kind: 'found', order }
    logger.warn({ status: result.status }, 'orders.response_invalid')
    return { kind: 'unavailable' }
  }
  const post = async (path: string, body: object) => {
    const result = await orders.post(path, body)
    if (result.kind === 'response') return result
    unreached(result.reason)
    return undefined
  }
  const unreached = (reason: string) => {
    logger.warn({ reason }, 'orders.not_reached')
    return { kind: 'unavailable' as const }
  }
  const findStaff = async (tokens: readonly WantedToken[]): Promise<FoundStaff> => {
    const result = await staff.post('/internal/staff-tokens', { tokens })
    if (result.kind === 'unreachable') return { kind: 'unavailable', reason: result.reason }
    const { status, body } = result
    if (status === 200 && checkHolders.Check(body) && body.data.length === tokens.length)
      return { kind: 'found', now: Date.parse(body.now), holders: body.data }
    return { kind: 'unavailable', reason: `invalid response, status ${status}` }
  }
  const close = async (): Promise<void> => {
    await Promise.all([orders.close(), staff.close()])
  }
  return { find, post, findStaff, close }
}
