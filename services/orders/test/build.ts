import { isDeepStrictEqual } from 'node:util'
import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { createPool } from '@courier/shared/postgres/database.ts'
import { createServiceClient } from '@courier/shared/service-client.ts'
import { readKeys } from '@courier/shared/vault.ts'
import type pg from 'pg'
import { pino } from 'pino'
import { chosenCapabilities } from '../../../dev/chosen-capabilities.ts'
import { cloneDatabase, cloneDemo, type Teardown, type TestDatabase } from '../../../dev/test-database.ts'
import { createOrders, type OrdersOptions } from '../app.ts'
import { capabilities, createCompanyFile } from '../capabilities.ts'
import type { Capabilities } from '../capability.ts'
import { createPasswordCheck, hashPassword, type Passwords } from '../core/access/passwords.ts'
import { createTokenFor } from '../core/access/token-commands.ts'
import { applyTenant } from '../core/provisioning/apply.ts'
import type { TenantFile } from '../core/provisioning/tenant-file.ts'
import { batch, demoFiles, order, tenantFile } from './tenant.ts'

export interface ApiResponse {
  status: number
  headers: Record<string, unknown>
  // biome-ignore lint/suspicious/noExplicitAny: a response may have any shape
  body: any
}

export interface RequestOptions {
  token?: string
  tenant?: string
  query?: string
  headers?: Record<string, string>
  remoteAddress?: string
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export const serviceToken = 'a-service-token-of-tests'
export const webhookKeyring = readKeys('WEBHOOK_KEYS', `test:${Buffer.alloc(32, 5).toString('base64')}`)

export const allCapabilities: Capabilities = await loadCapabilities(capabilities, 'all')

const loaded: Capabilities = chosenCapabilities === 'all' ? allCapabilities : new Map()

/** Describes the company file of the capabilities that the running test loads. */
export const companyFile = createCompanyFile(loaded)

const hashes = new Map<string, Promise<string>>()
/** Hashes each password once in a process, since that is slow on purpose. */
const passwords: Passwords = {
  hash: password => {
    const hash = hashes.get(password) ?? hashPassword(password)
    hashes.set(password, hash)
    return hash
  },
  isCorrect: createPasswordCheck(),
}

/** Brings a tenant to the state of a file. */
export const applyFile = (pool: pg.Pool, file: TenantFile, dryRun = false) =>
  applyTenant(pool, file, dryRun, { companyFile, passwords })

/** Creates the application's own pool, for the database at that URL. */
type PoolOf = (url: string) => Promise<pg.Pool>

/** Starts the orders application, without its relay, on that database. */
export const startApplication = async (
  end: Teardown,
  database: TestDatabase,
  { poolOf, ...limits }: { poolOf?: PoolOf } & Partial<OrdersOptions> = {},
) => {
  const pool = createPool({ url: database.url, name: 'test', connections: 10 })
  const ordersOptions = {
    pool: (await poolOf?.(database.url)) ?? pool,
    logger: pino({ level: 'silent' }),
    notifier: createServiceClient({ baseUrl: 'http://127.0.0.1:1', serviceToken }),
    messages: createServiceClient({ baseUrl: 'http://127.0.0.1:1', serviceToken }),
    serviceToken,
    maxOrdersPerBatch: 1000,
    maxBodyBytes: 5_242_880,
    requestsPerMinute: 1_000_000,
    publicRequestsPerMinute: 1_000_000,
    catalogueBytes: 2 ** 28,
    keyring: webhookKeyring,
    allowsPrivate: true,
    capabilities: loaded,
    login: { tokenDays: 30, staffHours: 12, triesPerEmail: 5, triesPerAddress: 30 },
    ...limits,
  }
  const { app, relay, workers, clients } = await createOrders(ordersOptions)
  // Client and server share an event loop, in which a busy machine reads late what has arrived.
  Object.assign(app.server, { headersTimeout: 60_000, requestTimeout: 60_000 })
  end.teardown(async () => {
    await app.close()
    await relay.stop()
    for (const worker of workers) await worker.stop()
    for (const client of clients) await client.close()
    await ordersOptions.notifier.close()
    await ordersOptions.messages.close()
    await pool.end()
  })
  return {
    app,
    relay,
    /** Is the first worker of all capabilities: the sender of webhooks. */
    sender: workers[0] as (typeof workers)[number],
    workers,
    ordersOptions,
    pool,
    database,
  }
}

/**
 * Builds the orders application on a database of its own, with one tenant and a token of its first merchant. Its relay
 * is not started.
 */
export const build = async (
  t: Teardown,
  { file = tenantFile(), ...options }: { file?: TenantFile; poolOf?: PoolOf } & Partial<OrdersOptions> = {},
) => {
  const demos = options.capabilities === undefined ? (['plain', 'cards'] as const) : []
  const found = demos.find(name => isDeepStrictEqual(file, demoFiles[name]))
  const demo = found && (await cloneDemo(t, chosenCapabilities, found))
  const database = demo ?? (await cloneDatabase(t, 'orders'))
  const application = await startApplication(t, database, options)
  const apply = (changed: TenantFile) => applyFile(application.pool, changed)
  if (!demo) await apply(file)
  const superuser = createPool({
    url: database.superuserUrl,
    name: 'test superuser',
    connections: 4,
    queueSeconds: 30,
    statementSeconds: 60,
  })
  t.teardown(() => superuser.end())
  /** Returns rows of all tenants, as the superuser sees them. */
  const rows = async (text: string, values: unknown[] = []) => (await superuser.query(text, values)).rows
  return { ...application, ...(await createCallers(application, file)), apply, rows }
}

/** Returns functions that send requests of the tenant of that file, by default with a token of its first merchant. */
export const createCallers = async (
  { app, pool }: Pick<Awaited<ReturnType<typeof startApplication>>, 'app' | 'pool'>,
  file: TenantFile,
) => {
  const createToken = async (merchant: string, tenant = file.tenant.id): Promise<string> =>
    (await createTokenFor(pool, { tenant, merchant })).token
  const ownToken = await createToken(file.merchants[0]?.email ?? '')

  /** Sends any request. */
  const send = async (method: Method, url: string, body?: unknown, options: RequestOptions = {}) => {
    const { tenant = file.tenant.id, token = ownToken, headers, remoteAddress } = options
    const response = await app.inject({
      method,
      url,
      headers: {
        'x-tenant': tenant,
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && {
        payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
      ...(remoteAddress && { remoteAddress }),
    })
    return { status: response.statusCode, headers: response.headers, body: response.json() } as ApiResponse
  }
  /** Posts a batch, or any other body. */
  const bulk = (body: unknown, options: RequestOptions = {}) =>
    send('POST', `/api/public/merchant/order/bulk${options.query ?? ''}`, body, options)
  /** Sends a request of a merchant: `path` follows /api/public/merchant. A body makes it a POST. */
  const request = (path: string, body?: unknown, options: RequestOptions = {}) =>
    send(body === undefined ? 'GET' : 'POST', `/api/public/merchant${path}`, body, options)
  /** Books a batch of `orders` orders. */
  const book = async (orders: number, options: RequestOptions = {}): Promise<string[]> => {
    const response = await bulk(batch(Array.from({ length: orders }, () => order())), options)
    if (response.status !== 200) throw new Error(JSON.stringify(response.body))
    return response.body.data
  }

  return { token: ownToken, createToken, send, bulk, request, book }
}
