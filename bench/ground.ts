import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from '@courier/shared/database.ts'
import pg from 'pg'
import { createDatabaseWithRoles } from '../dev/databases.ts'
import { freePort } from '../dev/ports.ts'
import { startPostgres } from '../dev/postgres.ts'
import { embeddedPassword, root } from '../dev/settings.ts'
import { createTokenFor } from '../services/orders/access/token-commands.ts'
import { migrateOrders } from '../services/orders/database/migrate.ts'
import { applyTenant } from '../services/orders/provisioning/apply.ts'
import { checkFile } from '../services/orders/provisioning/check-file.ts'
import { tell } from './bench.ts'

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
  const addressAs = await startDatabase(cleanUps)
  const databaseUrl = addressAs('orders', 'orders')
  const settings = {
    ORDERS_DATABASE_URL: databaseUrl,
    ORDERS_MIGRATE_DATABASE_URL: addressAs('orders_owner', 'orders'),
  }
  await migrateOrders(settings)
  const { tenant, token } = await loadTenant(databaseUrl)
  const superuser = new pg.Client({ connectionString: addressAs('postgres', 'orders') })
  superuser.on('error', error => tell(`the connection to Postgres broke: ${error.message}`))
  await superuser.connect()
  cleanUps.defer(() => superuser.end())
  const url = await startOrders(settings, profileFolder, cleanUps)
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': tenant, 'content-type': 'application/json' }
  return { url, headers, tenant, databaseUrl, superuser }
}

/** With fsync and all else as in production. */
const startDatabase = async (cleanUps: AsyncDisposableStack) => {
  const folder = await mkdtemp(join(tmpdir(), 'courier-bench-'))
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const port = await freePort()
  const starting = startPostgres({ folder, port })
  cleanUps.defer(async () => {
    const postgres = await starting.catch(() => undefined)
    await postgres?.remove()
  })
  await createDatabaseWithRoles((await starting).url, 'orders')
  return (role: string, database: string) => `postgres://${role}:${embeddedPassword}@127.0.0.1:${port}/${database}`
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

const startOrders = async (
  databases: Record<string, string>,
  profileFolder: string | undefined,
  cleanUps: AsyncDisposableStack,
): Promise<string> => {
  const port = await freePort()
  const limits = { RATE_LIMIT_PER_MINUTE: '1000000000', MAX_ORDERS_PER_BATCH: '5000', LOG_LEVEL: 'warn' }
  const profiling = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
  const child = spawn(process.execPath, [...profiling, join(root, 'services/orders/main.ts')], {
    stdio: ['ignore', 2, 2],
    env: { ...process.env, ...databases, ...limits, HOST: '127.0.0.1', ORDERS_PORT: String(port) },
  })
  const ended = once(child, 'exit')
  cleanUps.defer(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  await waitUntilReady(url, child)
  return url
}

const waitUntilReady = async (url: string, child: ChildProcess): Promise<void> => {
  for (let tries = 0; tries < 300; tries++) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('orders ended: see its log above.')
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined)
    if (answer?.ok) return
    await delay(100)
  }
  throw new Error('orders was not ready after half a minute.')
}
