import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { onServer } from '../dev/databases.ts'
import { addressOf, freePort } from '../dev/ports.ts'
import { type Environment, runAdmin, ServiceProcess } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import type { Teardown } from '../dev/test-database.ts'
import { messageTo } from '../services/notifier/test/fixture.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { type Stack, type StackOptions, startStack } from '../test/stack.ts'
import type { TrustOptions } from './promise.ts'

type Service = 'orders' | 'notifier'

export interface Courier extends Stack {
  merchant: { url: string; token: string }
  /** Of orders. */
  staffToken: string
  /** Headers of a member of the notifier's staff. */
  staff: Record<string, string>
  /** Rows as the superuser sees them: of all tenants. */
  rows: (service: Service, text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
  /** A control request to the simulator: a GET without a body. */
  // biome-ignore lint/suspicious/noExplicitAny: a response is whatever came over the wire
  control: (path: string, body?: object, method?: string) => Promise<any>
}

export interface CourierOptions extends StackOptions {
  /** Messages per second of demo's number. */
  rate?: number
  /** In place of the demo's. */
  rules?: readonly object[]
}

/** A rate limit would hide what is looked for. */
export const unlimited = {
  RATE_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_REFUSALS_PER_MINUTE: '1000000000',
}
/** For `NOTIFIER_URL`: no event is delivered. */
export const nowhere = 'http://127.0.0.1:1'

/** Both services and the simulator as processes, with the tenant demo: each order makes a message. */
export const startCourier = async (t: TrustOptions, options: CourierOptions = {}): Promise<Courier> => {
  const simulator = { SIMULATOR_DELAY_FACTOR: '0', SIMULATOR_THROUGHPUT_PER_SECOND: '0', ...options.simulator }
  const stack = await startStack(t, {
    ...options,
    orders: { LOG_LEVEL: 'error', ...unlimited, ...options.orders },
    notifier: { LOG_LEVEL: 'error', ...unlimited, RECIPIENT_PAUSE_SECONDS: '0', ...options.notifier },
    simulator: { LOG_LEVEL: 'error', ...simulator },
  })
  const notifierFile = JSON.parse(await readFile(join(root, 'examples/demo-notifier.json'), 'utf8'))
  notifierFile.channels[0].messages_per_second = options.rate ?? 1000
  if (options.rules) notifierFile.rules = options.rules
  const createToken = async (service: Service, ...holder: string[]): Promise<string> =>
    ((await stack.admin(service, 'token', 'create', '--tenant', 'demo', ...holder)) as { token: string }).token
  const provide = async (service: Service, file: object): Promise<string> => {
    await runAdmin(service, ['apply', '-'], { env: stack[service].environment, input: JSON.stringify(file) })
    return createToken(service, '--staff', 'Ruwan')
  }
  const [staffToken, token] = await Promise.all([provide('orders', tenantFile()), provide('notifier', notifierFile)])
  return {
    ...stack,
    merchant: { url: stack.orders.url, token: await createToken('orders', '--merchant', 'shop@example.com') },
    staffToken,
    staff: { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' },
    rows: (service, text, values = []) =>
      onServer(stack.databases[service].superuserUrl, async client => (await client.query(text, values)).rows),
    control: (path, body, method) => control(stack.simulator.url, path, body, method),
  }
}

export const control = async (
  url: string,
  path: string,
  body?: object,
  method = body ? 'POST' : 'GET',
): ReturnType<Courier['control']> => {
  const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(`${url}/control${path}`, { method, ...json })
  if (!response.ok) throw new Error(`the simulator refused ${path}: ${await response.text()}`)
  return response.json()
}

/** The simulator keeps the last ones. */
const keptMessages = 50_000

/** The messages that arrived, newest first. Throws when some may be forgotten. */
export const readArrivals = async (control: Courier['control']): ReturnType<Courier['control']> => {
  const { data } = await control(`/messages?limit=${keptMessages}`)
  if (data.length === keptMessages) throw new Error(`the simulator keeps ${keptMessages} messages: more have arrived`)
  return data
}

/** The environment of a service that `measure` measures. */
export const withProbe = { NODE_OPTIONS: `--import ${pathToFileURL(join(root, 'trust/probe.ts'))}` }

/** What the process prints on the signal (trust/probe.ts). */
export const measure = async ({ lines, pid }: ServiceProcess, signal: NodeJS.Signals): Promise<number[]> => {
  const first = lines.length
  process.kill(pid as number, signal)
  for (const end = performance.now() + 60_000; performance.now() < end; await delay(1)) {
    const line = lines.slice(first).find(text => text.startsWith('probe '))
    if (line) return line.split(' ').slice(1).map(Number)
  }
  throw new Error('the event loop was blocked for more than a minute')
}

/** One more process of a service, on the database of the first. */
export const startAnother = async (
  t: Teardown,
  { orders, notifier }: Pick<Stack, Service>,
  service: Service,
  more: Environment = {},
): Promise<ServiceProcess> => {
  const port = await freePort()
  const [first, setting] = service === 'orders' ? [orders, 'ORDERS_PORT'] : [notifier, 'NOTIFIER_PORT']
  const environment = { ...first.environment, [setting]: String(port), ...more }
  const process = new ServiceProcess(`services/${service}/main.ts`, addressOf('127.0.0.1', port), environment)
  t.teardown(() => process.stop())
  process.start()
  await process.ready()
  return process
}

/** Queues so many messages, each to another recipient, a thousand with each request. Returns their ids. */
export const queueMessages = async ({ notifier, staff }: Courier, count: number): Promise<string[]> => {
  const ids: string[] = []
  while (ids.length < count) {
    const size = Math.min(1000, count - ids.length)
    const messages = Array.from({ length: size }, (_, n) => messageTo(`+9477${1_000_000 + ids.length + n}`))
    const init = { method: 'POST', headers: staff, body: JSON.stringify({ messages }) }
    const response = await fetch(`${notifier.url}/api/messages/bulk`, init)
    const body = (await response.json()) as { data: { id: string }[] }
    if (response.status !== 202) throw new Error(`messages were refused: ${response.status} ${JSON.stringify(body)}`)
    ids.push(...body.data.map(({ id }) => id))
  }
  return ids
}

/** How many messages have which status. */
export const countByStatus = async ({ rows }: Courier): Promise<Record<string, number>> => {
  const counted = await rows('notifier', 'select status, count(*)::int as count from messages group by 1')
  return Object.fromEntries(counted.map(({ status, count }) => [String(status), Number(count)]))
}
