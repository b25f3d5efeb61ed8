import { createPool } from '@courier/shared/postgres/database.ts'
import type { Test } from 'tap'
import { findFreePort, toAddress } from '../dev/ports.ts'
import { ServiceProcess } from '../dev/service-process.ts'
import { cloneDatabase } from '../dev/test-database.ts'
import { applyTenant } from '../services/orders/core/provisioning/apply.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'

/** Prepares a process of orders that a test starts and kills, on a database with the small tenant. */
export const prepareOrders = async (t: Test, settings: Readonly<Record<string, string>> = {}) => {
  const database = await cloneDatabase(t, 'orders')
  const pool = createPool({ url: database.superuserUrl, name: 'test', connections: 2 })
  t.teardown(() => pool.end())
  const file = tenantFile()
  for (const merchant of file.merchants) merchant.rate_card = 'standard'
  await applyTenant(pool, file, false)
  const port = await findFreePort()
  const orders = new ServiceProcess('services/orders/main.ts', toAddress('127.0.0.1', port), {
    ORDERS_DATABASE_URL: database.url,
    ORDERS_MIGRATE_DATABASE_URL: database.ownerUrl,
    ORDERS_PORT: String(port),
    SERVICE_TOKEN: 'a-service-token-of-tests',
    RATE_LIMIT_PER_MINUTE: '1000000',
    ...settings,
  })
  t.teardown(() => orders.stop('SIGKILL'))
  const start = async () => {
    orders.start()
    await orders.ready()
  }
  return { pool, orders, start }
}
