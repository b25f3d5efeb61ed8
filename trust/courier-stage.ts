import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { onServer } from '../dev/databases.ts'
import { addressOf, freePort } from '../dev/ports.ts'
import { ServiceProcess } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import { superuserAddress } from '../dev/test-database.ts'
import { messageTo } from '../services/notifier/test/fixture.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { type Stack, type StackOptions, startStack } from '../test/stack.ts'
import type { TrustOptions } from './promise.ts'

type Service = 'orders' | 'notifier'

export interface Courier extends Stack {
  merchant: { url: string; token: string }
  /** Of orders. */
  staffToken: string
  /** Of a member of the notifier's staff. */
  staff: Record<string, string>
  /** Rows as the superuser sees them: of all tenants. */
  rows: (service: Service, text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
  /** A control call of the simulator: a GET without a body. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came over the wire
  control: (path: string, body?: object, method?: string) => Promise<any>
}

export interface CourierOptions extends StackOptions {
  /** Of `ordersDatabase`. */
  superuserUrl?: string
  /** Messages per second of demo's number. */
  rate?: number
}

/** A limit of calls would hide what is looked for. */
export const unlimited = {
  RATE_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_REFUSALS_PER_MINUTE: '1000000000',
}
/** For `NOTIFIER_URL` and `WEBHOOK_URL`: nobody is told. */
export const nowhere = 'http://127.0.0.1:1'
const simulatorSettings = { SIMULATOR_THROUGHPUT_PER_SECOND: '0' }

/** Both services and the simulator as processes, with the tenant demo: each order makes a message. */
export const stageCourier = async (t: TrustOptions, options: CourierOptions = {}): Promise<Courier> => {
  const stack = await startStack(t, {
    ...options,
    orders: { LOG_LEVEL: 'error', ...unlimited, ...options.orders },
    notifier: { LOG_LEVEL: 'error', ...unlimited, RECIPIENT_PAUSE_SECONDS: '0', ...options.notifier },
    simulator: { LOG_LEVEL: 'error', SIMULATOR_DELAY_FACTOR: '0', ...simulatorSettings, ...options.simulator },
  })
  const notifierFile = JSON.parse(await readFile(join(root, 'examples/demo-notifier.json'), 'utf8'))
  notifierFile.channels[0].messages_per_second = options.rate ?? 1000
  const provide = async (service: Service, file: object): Promise<string> => {
    const path = join(tmpdir(), `courier-trust-${process.pid}-${service}.json`)
    await writeFile(path, JSON.stringify(file))
    await stack.admin(service, 'apply', path)
    await rm(path)
    return createToken(stack, service, '--staff', 'Ruwan')
  }
  const [staffToken, token] = await Promise.all([provide('orders', tenantFile()), provide('notifier', notifierFile)])
  const merchant = await createToken(stack, 'orders', '--merchant', 'shop@example.com')
  const superuserUrls = {
    orders: options.superuserUrl ?? superuserAddress(stack.databases.orders),
    notifier: superuserAddress(stack.databases.notifier),
  }
  return {
    ...stack,
    merchant: { url: stack.orders.url, token: merchant },
    staffToken,
    staff: { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' },
    rows: (service, text, values = []) =>
      onServer(superuserUrls[service], async client => (await client.query(text, values)).rows),
    control: (path, body, method) => control(stack.simulator.url, path, body, method),
  }
}

const createToken = async ({ admin }: Stack, service: Service, ...words: string[]): Promise<string> =>
  ((await admin(service, 'token', 'create', '--tenant', 'demo', ...words)) as { token: string }).token

export const control: (url: string, ...call: Parameters<Courier['control']>) => ReturnType<Courier['control']> = async (
  url,
  path,
  body,
  method = body ? 'POST' : 'GET',
) => {
  const more = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const answer = await fetch(`${url}/control${path}`, { method, ...more })
  if (!answer.ok) throw new Error(`the simulator refused ${path}: ${await answer.text()}`)
  return answer.json()
}

/** For a service that `ask` asks. */
export const telling = { NODE_OPTIONS: `--import ${pathToFileURL(join(root, 'trust/tell.ts'))}` }

/** What the process tells on the signal (trust/tell.ts). */
export const ask = async ({ lines, pid }: ServiceProcess, signal: NodeJS.Signals): Promise<number[]> => {
  const first = lines.length
  process.kill(pid as number, signal)
  for (const end = performance.now() + 60_000; performance.now() < end; await delay(1)) {
    const line = lines.slice(first).find(text => text.startsWith('told '))
    if (line) return line.split(' ').slice(1).map(Number)
  }
  throw new Error('the event loop was held for more than a minute')
}

/** One more process of orders, on the database of the first. */
export const launchOrders = async (t: TrustOptions, { orders }: Courier): Promise<ServiceProcess> => {
  const port = await freePort()
  const process = new ServiceProcess('services/orders/main.ts', addressOf('127.0.0.1', port), {
    ...orders.environment,
    ORDERS_PORT: String(port),
  })
  t.teardown(() => process.stop())
  process.start()
  await process.ready()
  return process
}

/** Hands over so many messages, each to somebody else, a thousand with each call. Returns their ids. */
export const handOver = async ({ notifier, staff }: Courier, count: number, first = 0): Promise<string[]> => {
  const ids: string[] = []
  while (ids.length < count) {
    const size = Math.min(1000, count - ids.length)
    const messages = Array.from({ length: size }, (_, n) => messageTo(`+9477${1_000_000 + first + ids.length + n}`))
    const init = { method: 'POST', headers: staff, body: JSON.stringify({ messages }) }
    const answer = await fetch(`${notifier.url}/api/messages/bulk`, init)
    const body = (await answer.json()) as { data: { id: string }[] }
    if (answer.status !== 202) throw new Error(`messages were not taken: ${answer.status} ${JSON.stringify(body)}`)
    ids.push(...body.data.map(({ id }) => id))
  }
  return ids
}

interface Accepted {
  id: string
  biz_opaque_callback_data: string
  accepted_at: string
}

/** What the simulator accepted, by our id of it. */
export const acceptances = async (courier: Courier): Promise<Map<string, Accepted[]>> => {
  const { data } = (await courier.control('/messages?limit=50000')) as { data: Accepted[] }
  return Map.groupBy(data, message => message.biz_opaque_callback_data)
}

/** How many messages have which status. */
export const countByStatus = async ({ rows }: Courier): Promise<Record<string, number>> => {
  const counted = await rows('notifier', 'select status, count(*)::int as count from messages group by 1')
  return Object.fromEntries(counted.map(({ status, count }) => [String(status), Number(count)]))
}
