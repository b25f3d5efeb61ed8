import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { operator } from '@courier/shared/postgres/audit.ts'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import pg from 'pg'
import type { ServiceProcess } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import { capabilities, createNotifierFile } from '../services/notifier/capabilities.ts'
import * as notifierTokens from '../services/notifier/core/access/token-commands.ts'
import { readKeyring } from '../services/notifier/core/channels/vault.ts'
import { applyFile } from '../services/notifier/core/provisioning/apply.ts'
import { checkFile } from '../services/notifier/core/provisioning/check-file.ts'
import { matchNoPassword } from '../services/orders/core/access/passwords.ts'
import { insertStaff } from '../services/orders/core/access/staff-commands.ts'
import * as ordersTokens from '../services/orders/core/access/token-commands.ts'
import { createToken } from '../services/orders/core/access/tokens.ts'
import type { Tables } from '../services/orders/core/database/tables.ts'
import { applyTenant } from '../services/orders/core/provisioning/apply.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { type ApiResponse, waitUntil } from '../test/courier.ts'
import { type Stack, type StackOptions, startStack } from '../test/stack.ts'
import type { TrustOptions } from './promise.ts'

type Service = 'orders' | 'notifier'

export type Courier = Awaited<ReturnType<typeof startCourier>>

interface CourierOptions extends StackOptions {
  /** Limits the messages per second of demo's number. */
  rate?: number
  /** Replaces the demo's rules. */
  rules?: readonly object[]
}

/** Removes the rate limits, which would hide the effects under test. */
export const unlimited = {
  RATE_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_REFUSALS_PER_MINUTE: '1000000000',
}
/** Serves as a `NOTIFIER_URL` at which nothing accepts events. */
export const nowhere = 'http://127.0.0.1:1'

/** Returns the headers of a token's holder. */
export const bearer = (token = '', tenant = 'demo') => ({ authorization: `Bearer ${token}`, 'x-tenant': tenant })

/** Starts both services and the simulator as processes, with the tenant demo: each order makes a message. */
export const startCourier = async (t: TrustOptions, options: CourierOptions = {}) => {
  const simulator = { SIMULATOR_DELAY_FACTOR: '0', SIMULATOR_THROUGHPUT_PER_SECOND: '0', ...options.simulator }
  const stack = await startStack(t, {
    ...options,
    orders: { LOG_LEVEL: 'error', ...unlimited, ...options.orders },
    notifier: { LOG_LEVEL: 'error', ...unlimited, RECIPIENT_PAUSE_SECONDS: '0', ...options.notifier },
    simulator: { LOG_LEVEL: 'error', ...simulator },
  })
  const { orders, notifier } = stack.databases
  const superusers = {
    orders: connectSuperuser(t, orders.superuserUrl),
    notifier: connectSuperuser(t, notifier.superuserUrl),
  }
  return {
    ...stack,
    /** Holds the tokens of a merchant, and of members of staff: two of orders. */
    tokens: { ...(await provisionOrders(stack)), notifierStaff: await provisionNotifier(stack, options) },
    /** Returns rows as the superuser sees them: of all tenants. */
    rows: async (service: Service, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
      (await superusers[service].query(text, values)).rows,
    /** Sends a control request to the simulator: by default a POST, or a GET if there is no body. */
    control: (path: string, body?: object, method?: string) => control(stack.simulator.url, path, body, method),
  }
}

/** Keeps connections open, since a new one costs more than most queries. A Postgres that is killed may close them. */
const connectSuperuser = (t: TrustOptions, connectionString: string): pg.Pool => {
  const pool = new pg.Pool({ connectionString, max: 4, application_name: 'trust' }).on('error', () => {})
  t.teardown(() => pool.end())
  return pool
}

/** Applies the file of demo without the operator's commands, whose processes would take seconds. */
const provisionOrders = async ({ databases }: Stack) => {
  const pool = createPool({ url: databases.orders.url, name: 'trust', connections: 1 })
  await applyTenant(pool, tenantFile({ money: { objection_hours: 0 } }), false)
  const createToken = (holder: object) => ordersTokens.createTokenFor(pool, { tenant: 'demo', ...holder })
  const [staff, second] = [await createToken({ staff: 'Ruwan' }), await createToken({ staff: 'Chamari' })]
  const merchant = await createToken({ merchant: 'shop@example.com' })
  const rider = await createRider(pool)
  await pool.end()
  return { staff: staff.token, second: second.token, merchant: merchant.token, rider }
}

/** Adds a rider, whose token comes without a login. */
const createRider = (pool: pg.Pool): Promise<string> =>
  inTenant<Tables, string>(pool, 'demo', async tx => {
    const person = { email: 'rider@courier.example', name: 'Nimal Rider', password_hash: matchNoPassword() }
    const added = await insertStaff(tx, 'demo', { ...person, roles: ['rider'] }, operator())
    if ('sentence' in added) throw new Error(added.sentence)
    return (await createToken(tx, 'demo', { staff_id: added.staff_id, staff_name: person.name }, null)).token
  })

/** Applies the file of demo, with the rate and the rules of the options. Returns the token of a member of staff. */
const provisionNotifier = async ({ databases, notifier }: Stack, { rate, rules }: CourierOptions) => {
  const pool = createPool({ url: databases.notifier.url, name: 'trust', connections: 1 })
  const file = JSON.parse(await readFile(join(root, 'examples/demo-notifier.json'), 'utf8'))
  file.channels[0].messages_per_second = rate ?? 1000
  if (rules) file.rules = rules
  const parts = createNotifierFile(await loadCapabilities(capabilities, 'all'))
  const checked = checkFile(file, notifier.environment, parts)
  if (checked.kind === 'refused') throw new Error(JSON.stringify(checked.errors))
  await applyFile(pool, readKeyring(notifier.environment.CREDENTIALS_KEYS ?? ''), checked.file, false)
  const { token } = await notifierTokens.createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })
  await pool.end()
  return token
}

export const control = async (
  url: string,
  path: string,
  body?: object,
  method = body ? 'POST' : 'GET',
): Promise<ApiResponse['body']> => {
  const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(`${url}/control${path}`, { method, ...json })
  if (!response.ok) throw new Error(`the simulator refused ${path}: ${await response.text()}`)
  return response.json()
}

/** Is the number of messages that the simulator keeps. */
const keptMessages = 50_000

/** Returns the messages that arrived, newest first. Throws if the simulator may have forgotten some. */
export const readArrivals = async (control: Courier['control']): Promise<ApiResponse['body']> => {
  const { data } = await control(`/messages?limit=${keptMessages}`)
  if (data.length === keptMessages) throw new Error(`the simulator keeps ${keptMessages} messages: more have arrived`)
  return data
}

/** Sets the environment of a service that `measure` measures. */
export const withProbe = { NODE_OPTIONS: `--import ${pathToFileURL(join(root, 'trust/probe.ts'))}` }

/** Returns the numbers that the process prints on the signal (trust/probe.ts). */
export const measure = async (service: ServiceProcess, signal: NodeJS.Signals): Promise<number[]> => {
  const { lines, pid } = service
  const first = lines.length
  if (!service.isRunning) throw new Error(`the service ended, ${await service.ended()}: ${lines.slice(-20).join('\n')}`)
  process.kill(pid as number, signal)
  for (const end = performance.now() + 60_000; performance.now() < end; await delay(1)) {
    const line = lines.slice(first).find(text => text.startsWith('probe '))
    if (line) return line.split(' ').slice(1).map(Number)
  }
  throw new Error('the event loop was blocked for more than a minute')
}

/** Counts the messages by status. */
export const countByStatus = async ({ rows }: Courier): Promise<Record<string, number>> => {
  const counted = await rows('notifier', 'select status, count(*)::int as count from messages group by 1')
  return Object.fromEntries(counted.map(({ status, count }) => [String(status), Number(count)]))
}

/** Waits until orders has delivered all its events to the notifier. */
export const waitForOutbox = ({ rows }: Courier, seconds?: number) => {
  const count = () => rows('orders', 'select count(*)::int as depth from log where not is_relayed')
  return waitUntil('the outbox is empty', count, ([row]) => row?.depth === 0, seconds)
}
