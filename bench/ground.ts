import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../dev/ports.ts'
import { root } from '../dev/settings.ts'
import { createTokenFor } from '../services/orders/access/token-commands.ts'
import { migrateOrders } from '../services/orders/database/migrate.ts'
import { applyTenant } from '../services/orders/provisioning/apply.ts'
import { checkFile } from '../services/orders/provisioning/check-file.ts'
import type { TenantFile } from '../services/orders/provisioning/tenant-file.ts'
import { startDatabase } from './database.ts'
import { type Service, startService } from './service.ts'

/** The system under test: a Postgres of its own with a tenant, and the orders service as it runs in production. */
export interface Ground {
  tenant: string
  headers: Record<string, string>
  /** As the role of the service. */
  databaseUrl: string
  superuserUrl: string
  superuser: pg.Client
  /** The tables that a batch writes besides orders, without the idempotency keys. */
  tablesBeside: string[]
  startOrders: (cleanUps: AsyncDisposableStack, profileFolder?: string) => Promise<Service>
}

/**
 * Starts the system, which `cleanUps` stops and removes. Takes some seconds. `change` changes the demo tenant before it is
 * loaded.
 */
export const startGround = async (
  cleanUps: AsyncDisposableStack,
  change: (file: TenantFile) => void = () => {},
): Promise<Ground> => {
  const database = await startDatabase('orders', cleanUps)
  const { databaseUrl, superuser } = database
  await migrateOrders({ ORDERS_DATABASE_URL: databaseUrl, ...database.environment })
  const { tenant, token } = await loadTenant(databaseUrl, change)
  const environment = {
    ...database.environment,
    ...limits,
    SERVICE_TOKEN: randomBytes(32).toString('hex'),
    // Without a notifier the events wait in the outbox.
    NOTIFIER_URL: `http://127.0.0.1:${await freePort()}`,
  }
  const service = { file: 'services/orders/main.ts', portSetting: 'ORDERS_PORT', environment }
  return {
    tenant,
    headers: { authorization: `Bearer ${token}`, 'x-tenant': tenant, 'content-type': 'application/json' },
    databaseUrl,
    superuserUrl: database.superuserUrl,
    superuser,
    tablesBeside: await findTables(superuser),
    startOrders: (cleanUps, profileFolder) => startService({ ...service, profileFolder }, cleanUps),
  }
}

export const limits = {
  // The unavailable notifier is expected here.
  LOG_LEVEL: 'error',
  RATE_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_LIMIT_PER_MINUTE: '1000000000',
  MAX_ORDERS_PER_BATCH: '5000',
}

/** The tables beside orders that a booking writes, of this version or an earlier one. */
export const findTables = async (superuser: pg.Client): Promise<string[]> => {
  const { rows } = await superuser.query(
    `select relname as name from pg_class where relkind = 'r' and relname in ('order_events', 'outbox', 'new_changes', 'log')`,
  )
  return rows.map(({ name }) => name)
}

const loadTenant = async (
  url: string,
  change: (file: TenantFile) => void,
): Promise<{ tenant: string; token: string }> => {
  const file: TenantFile = JSON.parse(await readFile(join(root, 'examples/demo-tenant.json'), 'utf8'))
  change(file)
  const checked = checkFile(file)
  if (checked.kind === 'refused') throw new Error(`the tenant's file: ${JSON.stringify(checked.errors).slice(0, 500)}`)
  // Without the service's time limit, which is too short for very many rates.
  const pool = new pg.Pool({ connectionString: url, max: 2, pipeline: true })
  try {
    const applied = await applyTenant(pool, checked.file, false)
    if (applied.kind === 'refused') throw new Error(JSON.stringify(applied.errors))
    const tenant = checked.file.tenant.id
    const { token } = await createTokenFor(pool, { tenant, merchant: checked.file.merchants[0]?.email ?? '' })
    return { tenant, token }
  } finally {
    await pool.end()
  }
}
