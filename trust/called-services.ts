import { createPool } from '@courier/shared/database.ts'
import { createTokenFor as createNotifierToken } from '../services/notifier/access/token-commands.ts'
import { addTenant } from '../services/notifier/test/stage.ts'
import { createTokenFor } from '../services/orders/access/token-commands.ts'
import { applyTenant } from '../services/orders/provisioning/apply.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { startNotifierProcess, startOrdersProcess } from './processes.ts'
import type { TrustOptions } from './promise.ts'

/** A service as a process, and who calls it where. */
export interface Target {
  url: string
  path: string
  token: string
}

export const startOrders = async (t: TrustOptions): Promise<Target> => {
  const { url, database } = await startOrdersProcess(t, { LOG_LEVEL: 'info' })
  const pool = createPool({ url: database.url, name: 'trust', connections: 1 })
  await applyTenant(pool, tenantFile(), false)
  const { token } = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })
  await pool.end()
  return { url, token, path: '/api/public/merchant/order/bulk' }
}

export const startNotifier = async (t: TrustOptions): Promise<Target> => {
  const { url, database } = await startNotifierProcess(t, { LOG_LEVEL: 'info' })
  const pool = createPool({ url: database.url, name: 'trust', connections: 1 })
  await addTenant(pool, 'demo', '1', {})
  const { token } = await createNotifierToken(pool, { tenant: 'demo', staff: 'Ruwan' })
  await pool.end()
  return { url, token, path: '/api/messages/bulk' }
}

export const headersOf = ({ token }: Target) => ({
  authorization: `Bearer ${token}`,
  'x-tenant': 'demo',
  'content-type': 'application/json',
})
