import type pg from 'pg'
import { pino } from 'pino'
import type { Teardown } from '../../../dev/test-database.ts'
import { createNotifier, type NotifierOptions } from '../app.ts'
import { createTokenFor } from '../core/access/token-commands.ts'
import type { OrdersClient } from '../core/orders-client/orders-client.ts'
import { createFixture, type FixtureOptions } from './fixture.ts'
import { loaded } from './queue.ts'
import { tenantFixture } from './tenant-fixture.ts'

export const serviceToken = 'a-service-token-of-tests'

const unavailable: OrdersClient = {
  find: async () => ({ kind: 'unavailable' }),
  post: async () => undefined,
  findStaff: async () => ({ kind: 'found', now: 0, holders: [] }),
}

export interface PortalOptions extends FixtureOptions {
  log?: string[]
  /** Creates the application's own pool, for the database at that URL. */
  poolOf?: (url: string) => Promise<pg.Pool>
}

/** Starts the whole application, with a function that sends requests as the staff portal does. */
export const build = async (
  t: Teardown,
  requestsPerMinute = 1_000_000,
  orders = unavailable,
  options: PortalOptions = {},
  limits: Partial<NotifierOptions> = {},
) =>
  serve(t, await createFixture(t, { ...options, isRunning: false }), options, { requestsPerMinute, orders, ...limits })

/** Starts the application as `build` does, for a tenant and a number of its own in the database of this process. */
export const buildTenant = async (t: Teardown, options: PortalOptions = {}, limits: Partial<NotifierOptions> = {}) =>
  serve(t, await tenantFixture(t, { ...options, isRunning: false }), options, limits)

const serve = async (
  t: Teardown,
  fixture: Awaited<ReturnType<typeof createFixture>>,
  options: PortalOptions,
  limits: Partial<NotifierOptions>,
) => {
  const { keyring, api, tenant } = fixture
  const pool = (await options.poolOf?.(fixture.url)) ?? fixture.pool
  const { log } = options
  const logger = log ? pino({}, { write: line => log.push(line) }) : pino({ level: 'silent' })
  const { app, workers, coreWorkers, started } = await createNotifier({
    pool,
    logger,
    keyring,
    api,
    orders: unavailable,
    ordersPublicUrl: 'http://127.0.0.1:3000',
    serviceToken,
    window: 64,
    recipientPauseSeconds: options.recipientPauseSeconds ?? 0,
    requestsPerMinute: 1_000_000,
    capabilities: loaded,
    ...limits,
  })
  t.teardown(async () => {
    await app.close()
    await Promise.all(workers.map(worker => worker.stop()))
  })
  const { token } = await createTokenFor(fixture.pool, { tenant, staff: 'Ruwan' })
  const call = async (
    method: 'GET' | 'POST' | 'PUT',
    url: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const known = { authorization: `Bearer ${token}`, 'x-tenant': tenant, ...headers }
    const payload = typeof body === 'string' ? body : JSON.stringify(body ?? {})
    const written = { payload, headers: { 'content-type': 'application/json', ...known } }
    const response = await app.inject({ method, url, headers: known, ...(method !== 'GET' && written) })
    return { status: response.statusCode, headers: response.headers, body: response.json() }
  }
  /** Delivers events as orders does. Throws an Error unless they are acknowledged. */
  const deliver = async (...events: object[]): Promise<void> => {
    const headers = { authorization: `Bearer ${serviceToken}`, 'content-type': 'application/json' }
    const payload = { tenant, events }
    const response = await app.inject({ method: 'POST', url: '/internal/events', headers, payload })
    if (response.statusCode !== 200) throw new Error(response.body)
  }
  const actions = started.find(({ onWebhooks }) => onWebhooks)?.workers?.[0]
  return { ...fixture, app, workers, ...coreWorkers, actions, call, deliver, token }
}
