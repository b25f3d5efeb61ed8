import type { FastifyInstance } from 'fastify'
import type { Teardown } from '../dev/test-database.ts'
import { createTokenFor as createNotifierToken } from '../services/notifier/access/token-commands.ts'
import type { OrderDesk } from '../services/notifier/events/order-desk.ts'
import { orderFacts } from '../services/notifier/test/orders-stand-in.ts'
import { build as buildNotifier } from '../services/notifier/test/portal.ts'
import { addTenant, phoneNumberId } from '../services/notifier/test/stage.ts'
import { createTokenFor as createOrdersToken } from '../services/orders/access/token-commands.ts'
import { build as buildOrders } from '../services/orders/test/build.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { type OpenApi, type Operation, operationsOf } from './document.ts'

export const appSecret = 'trust-app-secret'
export const verifyToken = 'trust-verify-token'
export const rivalSecret = 'rival-app-secret'
export const rivalNumber = '206540352242922'
const wabaId = '102290129340398'

/** A service with its document. */
export interface Application {
  readonly name: 'orders' | 'notifier'
  // biome-ignore lint/suspicious/noExplicitAny: the type providers differ
  readonly app: FastifyInstance<any, any, any, any, any>
  readonly operations: readonly Operation[]
  /** A token that the operation takes, of the tenant demo. */
  readonly tokenFor: (operation: Operation) => string
  readonly rows: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
}

/** Which of the two kinds of caller an operation is for. */
export const isOfStaff = ({ path }: Operation): boolean => path.startsWith('/api/staff')

const readOperations = async (app: Application['app']): Promise<Operation[]> =>
  operationsOf((await app.inject('/openapi.json')).json() as OpenApi)

/** orders with the tenants demo and rival, which have the same data. */
export const startOrders = async (t: Teardown) => {
  const orders = await buildOrders(t)
  const { pool, app, token, rows } = orders
  await orders.apply(
    tenantFile({ id: 'rival', name: 'Rival Couriers', waybills: { mode: 'auto', format: 'RV########' } }),
  )
  const staff = await createOrdersToken(pool, { tenant: 'demo', staff: 'Ruwan' })
  const tokenFor = (operation: Operation): string => (isOfStaff(operation) ? staff.token : token)
  return { ...orders, name: 'orders' as const, app, operations: await readOperations(app), tokenFor, rows }
}

const unlimited = 1_000_000

/** Knows what looks like a waybill of demo's. */
const orders: OrderDesk = {
  find: async (_tenant, waybill) =>
    /^DM\d+$/.test(waybill)
      ? { kind: 'found', order: { ...orderFacts({ waybill_number: waybill }), timeline: [] } }
      : { kind: 'unknown' },
}

/** The notifier with the tenants demo and rival and a simulator; demo's number has templates and an app secret. */
export const startNotifier = async (t: Teardown) => {
  const notifier = await buildNotifier(t, unlimited, orders)
  const { app, pool, rows } = notifier
  await addTenant(pool, 'rival', rivalNumber, {})
  const { token } = await createNotifierToken(pool, { tenant: 'demo', staff: 'Ruwan' })
  const rivalsToken = await createNotifierToken(pool, { tenant: 'rival', staff: 'Kamal' })
  const asRival = { authorization: `Bearer ${rivalsToken.token}`, 'x-tenant': 'rival' }
  await notifier.call('PUT', `/api/channels/${rivalNumber}`, { app_secret: rivalSecret }, asRival)
  /** Puts demo's number back into working order. */
  const repair = async (): Promise<void> => {
    const fields = { plan: 'paid', default: true, access_token: 'demo-access-token', waba_id: wabaId }
    const secrets = { app_secret: appSecret, verify_token: verifyToken }
    await notifier.call('PUT', `/api/channels/${phoneNumberId}`, { name: 'Demo', ...fields, ...secrets })
    await notifier.call('POST', `/api/channels/${phoneNumberId}/resume`)
  }
  await repair()
  const { status } = await notifier.call('POST', '/api/templates/sync')
  if (status !== 200) throw new Error(`the templates could not be synced: ${status}`)
  const operations = await readOperations(app)
  return {
    ...notifier,
    name: 'notifier' as const,
    app,
    operations,
    tokenFor: (_operation: Operation) => token,
    rows,
    repair,
  }
}
