import { setTimeout as delay } from 'node:timers/promises'
import { rounded } from '../bench/figures.ts'
import { startProxy, type TcpProxy } from '../dev/tcp-proxy.ts'
import { messageTo } from '../services/notifier/test/fixture.ts'
import { batch } from '../services/orders/test/tenant.ts'
import { eventually } from '../test/courier.ts'
import { startCourier } from './courier.ts'
import type { Broken, TrustOptions, TrustPromise } from './promise.ts'

/** A service, and a request to it that needs Postgres. */
interface Target {
  name: string
  url: string
  send: () => Promise<Response>
}

/** Nobody waits longer for a connection; the rest is the machine. */
const waitSeconds = 2
const slackSeconds = 1
/** A statement whose Postgres is silent is given up after so long (shared/postgres/database.ts). */
const silentSeconds = 4.5
const recoverySeconds = 5

const proxyToPostgres = async (t: TrustOptions): Promise<TcpProxy> => {
  const { hostname, port } = new URL(process.env.TEST_POSTGRES_URL ?? '')
  const proxy = await startProxy({ host: hostname, port: Number(port) })
  t.teardown(proxy.close)
  return proxy
}

const post = (url: string, headers: Record<string, string>, body: unknown): Promise<Response> =>
  fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(30_000) })

/** Sends requests for so long. Each must be refused within the limit, ready fail and live hold. Returns the longest wait in seconds. */
const watch = async (target: Target, seconds: number, limit: number, broken: Broken): Promise<number> => {
  const end = performance.now() + seconds * 1000
  let longest = 0
  do {
    const started = performance.now()
    const [response, ready, live] = await Promise.all([
      target.send(),
      fetch(`${target.url}/health/ready`),
      fetch(`${target.url}/health/live`),
    ])
    longest = Math.max(longest, (performance.now() - started) / 1000)
    const isRefused = response.status === 503 && response.headers.has('retry-after')
    broken.require(isRefused, `${target.name} responded ${response.status}: ${await response.text()}`)
    broken.require(ready.status === 503, `ready of ${target.name} responded ${ready.status}`)
    broken.require(live.status === 200, `${target.name} is not live without Postgres`)
    await delay(50)
  } while (performance.now() < end)
  broken.require(longest < limit, `a client of ${target.name} waited ${longest} s`)
  return longest
}

const recover = async ({ name, url, send }: Target, broken: Broken): Promise<number> => {
  const started = performance.now()
  const isBack = async () => (await fetch(`${url}/health/ready`)).ok && (await send()).ok
  await eventually(`${name} is back`, isBack, Boolean, recoverySeconds * 2)
  const seconds = (performance.now() - started) / 1000
  broken.require(seconds < recoverySeconds, `${name} was back after ${seconds} s`)
  return seconds
}

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const proxies = { orders: await proxyToPostgres(t), notifier: await proxyToPostgres(t) }
  const databasePorts = { orders: proxies.orders.port, notifier: proxies.notifier.port }
  const { orders, notifier, merchant, staff } = await startCourier(t, { databasePorts })
  const asMerchant = { ...staff, authorization: `Bearer ${merchant.token}` }
  let sent = 0
  const targets: Target[] = [
    {
      name: 'orders',
      url: orders.url,
      send: () => post(`${orders.url}/api/public/merchant/order/bulk`, asMerchant, batch()),
    },
    {
      name: 'notifier',
      url: notifier.url,
      send: () => post(`${notifier.url}/api/messages`, staff, messageTo(`+9477${1_000_000 + sent++}`)),
    },
  ]
  const away = t.short ? 1.5 : 30
  const watchAll = async (seconds: number) =>
    Math.max(...(await Promise.all(targets.map(target => watch(target, away, seconds + slackSeconds, broken)))))
  const recoverAll = async () => Math.max(...(await Promise.all(targets.map(target => recover(target, broken)))))
  const all = Object.values(proxies)

  for (const { name, send } of targets) broken.require((await send()).ok, `${name} failed before Postgres was away`)
  await Promise.all(all.map(proxy => proxy.cut()))
  const refused = await watchAll(waitSeconds)
  await Promise.all(all.map(proxy => proxy.restore()))
  const afterRefused = await recoverAll()
  t.report(`Postgres refused connections for ${away} s`)

  for (const proxy of all) proxy.trouble = { kind: 'black_hole' }
  const silent = await watchAll(silentSeconds)
  for (const proxy of all) proxy.trouble = undefined
  const afterSilent = await recoverAll()
  return {
    'away s': away,
    'longest wait s': rounded(refused, 2),
    'silent s': rounded(silent, 2),
    'recovery s': rounded(Math.max(afterRefused, afterSilent), 2),
  }
}

export const promise: TrustPromise = {
  promise: 'Without Postgres both services live, refuse requests at once with Retry-After, and recover by themselves',
  limit: 'away 30 s: 503 within 2 s (a silent Postgres: 4.5 s), ready fails, live holds, back within 5 s',
  run,
}
