import { setTimeout as delay } from 'node:timers/promises'
import { percentile } from '../bench/figures.ts'
import { runAdmin, type ServiceProcess } from '../dev/service-process.ts'
import { batch, order, tenantFile } from '../services/orders/test/tenant.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../services/orders/test/webhook-receiver.ts'
import { chanceOf } from '../test/chance.ts'
import { eventually } from '../test/courier.ts'
import { type Courier, nowhere, startAnother, startCourier } from './courier.ts'
import type { Broken, TrustPromise } from './promise.ts'

interface Merchant {
  readonly tenant: string
  readonly token: string
}

/** A request of a merchant to one process or the other, until it gets a response other than 503. */
const ask = async (
  processes: readonly ServiceProcess[],
  { tenant, token }: Merchant,
  method: string,
  path: string,
  body: object,
  key = '',
): Promise<{ status: number; data: never }> => {
  for (let tries = 0; tries < 600; tries++) {
    const headers = { authorization: `Bearer ${token}`, 'x-tenant': tenant, 'content-type': 'application/json' }
    const init = { method, headers: { ...headers, ...(key && { 'idempotency-key': key }) }, body: JSON.stringify(body) }
    const url = `${processes[tries % processes.length]?.url}/api/public/merchant${path}`
    const response = await fetch(url, init).catch(() => undefined)
    const responded = (await response?.json().catch(() => undefined)) as { data: never } | undefined
    if (response && responded && ![409, 503].includes(response.status))
      return { status: response.status, data: responded.data }
    await delay(100)
  }
  throw new Error(`no response to ${method} ${path}`)
}

const createMerchant = async (courier: Courier, tenant: string): Promise<Merchant> => {
  const waybills = { mode: 'auto', format: 'SL########' } as const
  const input = JSON.stringify(tenantFile({ id: tenant, name: tenant, waybills }))
  await runAdmin('orders', ['apply', '-'], { env: courier.orders.environment, input })
  const words = ['token', 'create', '--tenant', tenant, '--merchant', 'shop@example.com']
  return { tenant, token: ((await courier.admin('orders', ...words)) as { token: string }).token }
}

/** In the short form it is one of twenty events beside other tests. */
const slackMs = { full: 1_000, short: 10_000 }

const p99 = (times: readonly number[]): number => Math.round(percentile(times, 0.99))

/** Every event of the merchant's feed is there, and those of a waybill came in their order. Returns how many came twice. */
const check = async (
  courier: Courier,
  tenant: string,
  name: string,
  receiver: WebhookReceiver,
  broken: Broken,
): Promise<number> => {
  const due = await courier.rows(
    'orders',
    `select epoch || '.' || (position + place - 1) as id from changes join feeds using (tenant_id, merchant_id),
      generate_series(1, cardinality(waybill_numbers)) as place where tenant_id = $1`,
    [tenant],
  )
  const first = new Map(receiver.accepted.toReversed().map(message => [message.id, message]))
  const lost = due.filter(({ id }) => !first.has(String(id))).length
  broken.require(lost === 0, `${name} lost ${lost} of ${due.length} events`)
  const positionOf = (id: string): number => Number(id.split('.')[1])
  const inOrder = [...first.values()].toSorted((one, other) => one.at - other.at)
  const latest = new Map<string, number>()
  for (const { id, waybill } of inOrder) {
    broken.require((latest.get(waybill) ?? 0) < positionOf(id), `${name} got the events of ${waybill} out of order`)
    latest.set(waybill, positionOf(id))
  }
  broken.require(receiver.forged === 0, `${name} got ${receiver.forged} messages with a wrong signature`)
  return receiver.accepted.length - first.size
}

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const [batches, kills, probes] = t.short ? [8, 2, 20] : [240, 30, 300]
  const courier = await startCourier(t, { orders: { NOTIFIER_URL: nowhere } })
  const processes = [courier.orders, await startAnother(t, courier, 'orders')]
  const chance = chanceOf(t.seed)
  const demo = { tenant: 'demo', token: courier.merchant.token }
  const slowOnes = await createMerchant(courier, 'slow')
  const register = async (merchant: Merchant, url: string) => {
    const { status, data } = await ask(processes, merchant, 'POST', '/webhook', { url })
    if (status !== 201) throw new Error(`a webhook was refused: ${status}`)
    return data as { id: string; secret: string }
  }
  const addReceiver = async (merchant: Merchant, react: WebhookReceiver['react'] = () => ({})) => {
    const receiver = await startWebhookReceiver(t)
    const { id, secret } = await register(merchant, receiver.url)
    return { id, receiver: Object.assign(receiver, { secret, react }) }
  }
  let booked = 0
  const book = async (merchant: Merchant, orders: number): Promise<string[]> => {
    const body = batch(Array.from({ length: orders }, () => order({ initial_status_key: 'key_2' })))
    const { status, data } = await ask(processes, merchant, 'POST', '/order/bulk', body, `book ${booked++}`)
    if (status !== 200) throw new Error(`a batch was refused: ${status}`)
    return data
  }
  const cancel = async (waybill_numbers: string[]): Promise<void> => {
    const key = `cancel ${waybill_numbers[0]}`
    const { status } = await ask(processes, demo, 'POST', '/order/cancel', { waybill_numbers }, key)
    broken.require(status === 200, `a cancellation was refused: ${status}`)
  }

  const good = (await addReceiver(demo)).receiver
  const flaky = await addReceiver(demo)
  /** Milliseconds from the response to a booking until its event arrives. */
  const measure = async (): Promise<number[]> => {
    const times: number[] = []
    for (let n = 0; n < probes; n++) {
      const [waybill] = await book(demo, 1)
      const acknowledged = performance.now()
      const arrived = () => good.accepted.find(message => message.waybill === waybill)
      while (!arrived() && performance.now() - acknowledged < 30_000) await delay(2)
      times.push(Math.max(0, (arrived()?.at ?? Number.POSITIVE_INFINITY) - acknowledged))
    }
    return times
  }
  await measure()
  const quiet = await measure()
  const slow = await Promise.all(
    Array.from({ length: 4 }, () => addReceiver(slowOnes, () => ({ milliseconds: 2_000 }))),
  )
  const dead = await register(slowOnes, 'http://127.0.0.1:1/')
  await book(slowOnes, t.short ? 60 : 400)
  const beside = await measure()
  const isClose = p99(beside) <= p99(quiet) + slackMs[t.short ? 'short' : 'full']
  broken.require(isClose, `beside slow endpoints p99 was ${p99(beside)} ms, ${p99(quiet)} ms before`)

  t.report(`p99 ${p99(quiet)} ms alone, ${p99(beside)} ms beside four slow endpoints and a dead one`)

  let isAway = false
  flaky.receiver.react = () => {
    if (isAway) return { status: 503, isLost: true }
    const luck = chance()
    if (luck < 0.05) return { status: 500 }
    return luck < 0.1 ? { isLost: true } : { milliseconds: luck < 0.2 ? 100 : 0 }
  }
  const kill = async (): Promise<void> => {
    for (let round = 0; round < kills; round++) {
      await delay(500 + chance() * (t.short ? 500 : 3_000))
      isAway = round % 4 === 1
      const victim = processes[round % 2] as ServiceProcess
      await victim.stop('SIGKILL')
      victim.start()
      await victim.ready()
    }
    isAway = false
  }
  const killing = kill()
  for (let n = 0; n < batches; n++) {
    const waybills = await book(demo, 25)
    await cancel(waybills.slice(0, 17))
    if (!t.short) await delay(100)
  }
  await killing
  t.report('all is booked, nothing is killed any more')
  const repaired = await startWebhookReceiver(t)
  repaired.secret = dead.secret
  await ask(processes, slowOnes, 'PATCH', `/webhook/${dead.id}`, { url: repaired.url })
  const receivers = new Map([
    ['good', good],
    ['flaky', flaky.receiver],
    ['dead', repaired],
    ...slow.map(({ receiver }, n) => [`slow ${n}`, receiver] as const),
  ])
  const countOf = (receiver: WebhookReceiver): number => new Set(receiver.accepted.map(({ id }) => id)).size
  const arrivedAll = async () => {
    await ask(processes, demo, 'PATCH', `/webhook/${flaky.id}`, { state: 'enabled' })
    await delay(1_000)
    const waiting = await courier.rows('orders', `select from webhook_deliveries where state = 'pending'`)
    const behind = await courier.rows(
      'orders',
      `select from webhook_endpoints e join feeds f using (tenant_id, merchant_id) where e.position < f.last_position
      union all select from new_changes`,
    )
    return waiting.length + behind.length
  }
  await eventually('every event is delivered', arrivedAll, count => count === 0, 600)
  let twice = 0
  for (const [name, receiver] of receivers) {
    const isOfDemo = name === 'good' || name === 'flaky'
    twice += await check(courier, isOfDemo ? 'demo' : 'slow', name, receiver, broken)
  }
  const events = [...receivers.values()].reduce((sum, receiver) => sum + countOf(receiver), 0)
  return { kills, events, twice, 'p99 ms': p99(quiet), 'p99 beside slow ms': p99(beside) }
}

export const promise: TrustPromise = {
  promise:
    'Every event reaches every endpoint of its merchant, those of a waybill in order, whatever is killed, and a slow or dead endpoint delays no other',
  limit:
    'kill -9 of two processes of orders x30, 10,000 events, endpoints that are slow, dead, away, fail or lose responses: 0 lost, 0 out of order, 0 wrong signatures; p99 beside slow ones at most 1 s more',
  run,
}
