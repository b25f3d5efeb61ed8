import { createPool } from '@courier/shared/database.ts'
import pg from 'pg'
import { freePort } from '../dev/ports.ts'
import { cloneDatabase, superuserAddress, type Teardown, type TestDatabase } from '../dev/test-database.ts'
import { createTokenFor } from '../services/orders/access/token-commands.ts'
import { applyTenant } from '../services/orders/provisioning/apply.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { ServiceProcess } from '../test/stack.ts'

export interface OrdersStage {
  orders: ServiceProcess
  merchant: { url: string; token: string }
  staffToken: string
  database: TestDatabase
  /** Rows as the superuser sees them: of all tenants. */
  rows: (text: string) => Promise<Record<string, unknown>[]>
}

export interface OrdersStageOptions {
  database?: TestDatabase & { superuserUrl: string }
  /** Where the service finds Postgres; else where it is. */
  databasePort?: number
}

/** orders as a process that can be killed and started again, with the tenant demo and nobody to tell of its orders. */
export const stageOrders = async (t: Teardown, options: OrdersStageOptions = {}): Promise<OrdersStage> => {
  const database = options.database ?? (await cloneDatabase(t, 'orders'))
  const superuserUrl = options.database?.superuserUrl ?? superuserAddress(database)
  const url = new URL(database.url)
  if (options.databasePort) url.port = String(options.databasePort)
  const orders = await launchOrders(t, { ...database, url: url.href })
  await orders.ready()
  const pool = createPool({ url: database.url, name: 'trust', connections: 1 })
  await applyTenant(pool, tenantFile(), false)
  const merchant = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })
  const staff = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })
  await pool.end()
  const rows = (text: string) => query(superuserUrl, text)
  return { orders, merchant: { url: orders.url, token: merchant.token }, staffToken: staff.token, database, rows }
}

/** A limit of calls would hide what is looked for. */
export const unlimited = {
  RATE_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_REFUSALS_PER_MINUTE: '1000000000',
}

/** One more process of orders on that database. */
export const launchOrders = async (t: Teardown, { url, ownerUrl }: TestDatabase): Promise<ServiceProcess> => {
  const port = await freePort()
  const orders = new ServiceProcess('services/orders', port, {
    ORDERS_PORT: String(port),
    ORDERS_DATABASE_URL: url,
    ORDERS_MIGRATE_DATABASE_URL: ownerUrl,
    NOTIFIER_URL: 'http://127.0.0.1:1',
    SERVICE_TOKEN: 'a-service-token-of-trust',
    LOG_LEVEL: 'warn',
    ...unlimited,
  })
  t.teardown(() => orders.stop())
  orders.start()
  return orders
}

export const query = async (url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
    .query(text, values)
    .then(({ rows }) => rows)
    .finally(() => client.end())
}
