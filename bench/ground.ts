import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createPool } from '@courier/shared/database.ts'
import type pg from 'pg'
import { root } from '../dev/settings.ts'
import { createTokenFor } from '../services/orders/access/token-commands.ts'
import { migrateOrders } from '../services/orders/database/migrate.ts'
import { applyTenant } from '../services/orders/provisioning/apply.ts'
import { checkFile } from '../services/orders/provisioning/check-file.ts'
import { connectSuperuser, startDatabase } from './database.ts'
import { startService } from './service.ts'

/** What is measured: the orders service as it runs in production, on a Postgres of its own with the demo tenant. */
export interface Ground {
  /** Of the service. */
  url: string
  headers: Record<string, string>
  tenant: string
  /** As the role of the service. */
  databaseUrl: string
  superuser: pg.Client
}

/** All of it is stopped and removed by `cleanUps`. Takes some seconds. */
export const startGround = async (
  cleanUps: AsyncDisposableStack,
  profileFolder: string | undefined,
): Promise<Ground> => {
  const addressAs = await startDatabase('orders', cleanUps)
  const databaseUrl = addressAs('orders')
  const settings = {
    ORDERS_DATABASE_URL: databaseUrl,
    ORDERS_MIGRATE_DATABASE_URL: addressAs('orders_owner'),
  }
  await migrateOrders(settings)
  const { tenant, token } = await loadTenant(databaseUrl)
  const superuser = await connectSuperuser(addressAs, cleanUps)
  const url = await startOrders(settings, profileFolder, cleanUps)
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': tenant, 'content-type': 'application/json' }
  return { url, headers, tenant, databaseUrl, superuser }
}

const loadTenant = async (url: string): Promise<{ tenant: string; token: string }> => {
  const checked = checkFile(JSON.parse(await readFile(join(root, 'examples/demo-tenant.json'), 'utf8')))
  if (checked.kind === 'refused') throw new Error(`examples/demo-tenant.json: ${JSON.stringify(checked.faults)}`)
  const pool = createPool({ url, name: 'bench', connections: 2 })
  try {
    const applied = await applyTenant(pool, checked.file, false)
    if (applied.kind === 'refused') throw new Error(JSON.stringify(applied.faults))
    const tenant = checked.file.tenant.id
    const { token } = await createTokenFor(pool, { tenant, merchant: checked.file.merchants[0]?.email ?? '' })
    return { tenant, token }
  } finally {
    await pool.end()
  }
}

const startOrders = (
  databases: Record<string, string>,
  profileFolder: string | undefined,
  cleanUps: AsyncDisposableStack,
): Promise<string> => {
  const environment = { ...databases, RATE_LIMIT_PER_MINUTE: '1000000000', MAX_ORDERS_PER_BATCH: '5000' }
  const file = 'services/orders/main.ts'
  return startService({ name: 'orders', file, portSetting: 'ORDERS_PORT', environment, profileFolder }, cleanUps)
}
