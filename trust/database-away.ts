import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from '@courier/shared/postgres/database.ts'
import pg from 'pg'
import { rounded } from '../bench/figures.ts'
import { startProxy, type TcpProxy } from '../dev/tcp-proxy.ts'
import { messageTo } from '../services/notifier/test/fixture.ts'
import { batch } from '../services/orders/test/tenant.ts'
import { eventually } from '../test/courier.ts'
import { type Courier, stageCourier } from './courier-stage.ts'
import type { Broken, TrustOptions, TrustPromise } from './promise.ts'

/** A service, and a call of it that needs Postgres. */
interface Target {
  name: string
  url: string
  call: () => Promise<Response>
}

/** Nobody waits longer for a connection; the rest is the machine. */
const waitSeconds = 2
const slackSeconds = 1
/** A statement whose Postgres fell silent is given up after so long (shared/postgres/database.ts). */
const silentSeconds = 4.5
const recoverySeconds = 5
/** Each way to a slow Postgres, which is no fault. */
const slowMilliseconds = 50
const crowd = 50

const viaProxy = async (t: TrustOptions): Promise<TcpProxy> => {
  const { hostname, port } = new URL(process.env.TEST_POSTGRES_URL ?? '')
  const proxy = await startProxy({ host: hostname, port: Number(port) })
  t.teardown(proxy.close)
  return proxy
}

const post = (url: string, headers: Record<string, string>, body: unknown): Promise<Response> =>
  fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(30_000) })

const bookAs = ({ merchant }: Courier, path: string, body?: unknown): Promise<Response> => {
  const headers = { authorization: `Bearer ${merchant.token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
  const url = `${merchant.url}/api/public/merchant${path}`
  return body ? post(url, headers, body) : fetch(url, { headers, signal: AbortSignal.timeout(30_000) })
}

/** Sends requests for so long. Each must be refused within the limit, ready be as expected and live hold. Returns the longest wait in seconds. */
const watch = async (
  target: Target,
  seconds: number,
  limit: number,
  broken: Broken,
  expectedReady = 503,
): Promise<number> => {
  const end = performance.now() + seconds * 1000
  let longest = 0
  do {
    const started = performance.now()
    const [answer, ready, live] = await Promise.all([
      target.call(),
      fetch(`${target.url}/health/ready`),
      fetch(`${target.url}/health/live`),
    ])
    longest = Math.max(longest, (performance.now() - started) / 1000)
    const isRefused = answer.status === 503 && answer.headers.has('retry-after')
    broken.require(isRefused, `${target.name} answered ${answer.status}: ${await answer.text()}`)
    broken.require(ready.status === expectedReady, `ready of ${target.name} responded ${ready.status}`)
    broken.require(live.status === 200, `${target.name} is not live without Postgres`)
    await delay(50)
  } while (performance.now() < end)
  broken.require(longest < limit, `${target.name} let somebody wait ${longest} s`)
  return longest
}

const recover = async ({ name, url, call }: Target, broken: Broken): Promise<number> => {
  const started = performance.now()
  const isBack = async () => (await fetch(`${url}/health/ready`)).ok && (await call()).ok
  await eventually(`${name} is back`, isBack, Boolean, recoverySeconds * 2)
  const seconds = (performance.now() - started) / 1000
  broken.require(seconds < recoverySeconds, `${name} was back after ${seconds} s`)
  return seconds
}

/** Fifty requests that Postgres keeps waiting take every connection that a tenant may have: others still have theirs. */
const exhaust = async (stage: Courier, target: Target, broken: Broken): Promise<number> => {
  const owner = new pg.Client({ connectionString: stage.databases.orders.ownerUrl })
  await owner.connect()
  await owner.query('begin; lock table orders in access exclusive mode')
  const started = performance.now()
  let longest = 0
  const slow = Array.from({ length: crowd }, async () => {
    const answer = await bookAs(stage, '/order')
    longest = Math.max(longest, (performance.now() - started) / 1000)
    const isRefused = answer.status === 503 && answer.headers.has('retry-after')
    broken.require(isRefused, `with slow transactions orders answered ${answer.status}: ${await answer.text()}`)
  })
  await delay(300)
  const wait = await watch(target, 0, waitSeconds + slackSeconds, broken, 200)
  await Promise.all(slow)
  const limit = silentSeconds + slackSeconds
  broken.require(longest < limit, `a call that Postgres kept waiting was given up after ${longest} s`)
  await owner.query('rollback')
  await owner.end()
  return wait
}

const checkTimeouts = async ({ databases }: Courier, broken: Broken): Promise<string> => {
  const pool = createPool({ url: databases.orders.url, name: 'trust', connections: 1 })
  const ask = async (name: string) => String((await pool.query(`show ${name}`)).rows[0][name])
  const timeouts = [await ask('statement_timeout'), await ask('idle_in_transaction_session_timeout')]
  await pool.end()
  broken.require(!timeouts.includes('0'), `a connection has no limit of time: ${timeouts}`)
  return timeouts.join(' and ')
}

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const [ofOrders, ofNotifier] = [await viaProxy(t), await viaProxy(t)]
  const databasePorts = { orders: ofOrders.port, notifier: ofNotifier.port }
  const stage = await stageCourier(t, { databasePorts })
  const { notifier, staff } = stage
  let turn = 0
  const targets: Target[] = [
    { name: 'orders', url: stage.orders.url, call: () => bookAs(stage, '/order/bulk', batch()) },
    {
      name: 'notifier',
      url: notifier.url,
      call: () => post(`${notifier.url}/api/messages`, staff, messageTo(`+9477${1_000_000 + turn++}`)),
    },
  ]
  const proxies = [ofOrders, ofNotifier]
  const away = t.short ? 1.5 : 30
  const watchAll = async (seconds: number, limit: number) =>
    Math.max(...(await Promise.all(targets.map(target => watch(target, seconds, limit, broken)))))
  const recoverAll = async () => Math.max(...(await Promise.all(targets.map(target => recover(target, broken)))))

  for (const proxy of proxies) proxy.trouble = { kind: 'latency', milliseconds: slowMilliseconds }
  for (const { name, call } of targets) broken.require((await call()).ok, `${name} failed for a slow Postgres`)
  for (const proxy of proxies) proxy.trouble = undefined
  await Promise.all(proxies.map(proxy => proxy.cut()))
  const refused = await watchAll(away, waitSeconds + slackSeconds)
  await Promise.all(proxies.map(proxy => proxy.restore()))
  const afterRefused = await recoverAll()
  t.report(`Postgres refused connections for ${away} s`)

  for (const proxy of proxies) proxy.trouble = { kind: 'black_hole' }
  const silent = await watchAll(away, silentSeconds + slackSeconds)
  for (const proxy of proxies) proxy.trouble = undefined
  const afterSilent = await recoverAll()
  t.report(`Postgres was silent for ${away} s`)

  const exhausted = await exhaust(stage, targets[0] as Target, broken)
  const afterExhausted = await recover(targets[0] as Target, broken)
  return {
    'away s': away,
    'longest wait s': rounded(refused, 2),
    'silent s': rounded(silent, 2),
    'pool exhausted s': rounded(exhausted, 2),
    'recovery s': rounded(Math.max(afterRefused, afterSilent, afterExhausted), 2),
    'timeouts of statement and idle transaction': await checkTimeouts(stage, broken),
  }
}

export const promise: TrustPromise = {
  promise: 'Without Postgres both services live, refuse requests at once with Retry-After, and recover by themselves',
  limit:
    'away 30 s: 503 within 2 s (a silent Postgres: 4.5 s), ready fails, live holds, back within 5 s; 50 slow transactions of a tenant: refused as soon, ready holds',
  run,
}
