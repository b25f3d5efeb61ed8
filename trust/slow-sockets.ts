import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from '@courier/shared/database.ts'
import { percentile, rounded } from '../bench/figures.ts'
import { createTokenFor as createNotifierToken } from '../services/notifier/access/token-commands.ts'
import { addTenant } from '../services/notifier/test/stage.ts'
import { createTokenFor } from '../services/orders/access/token-commands.ts'
import { applyTenant } from '../services/orders/provisioning/apply.ts'
import { batch, tenantFile } from '../services/orders/test/tenant.ts'
import { startNotifierProcess, startOrdersProcess } from './processes.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'

const maxSeconds = 6
/** Of others' p99 beside the slow sockets to without them. */
const maxRatio = 2
/** A p99 so little above the normal is a busy machine, not the slow sockets. */
const slackMs = 50

interface Target {
  url: string
  path: string
  token: string
}

const startOrders = async (t: TrustOptions): Promise<Target> => {
  const { url, database } = await startOrdersProcess(t, { LOG_LEVEL: 'info' })
  const pool = createPool({ url: database.url, name: 'trust', connections: 1 })
  await applyTenant(pool, tenantFile(), false)
  const { token } = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })
  await pool.end()
  return { url, token, path: '/api/public/merchant/order/bulk' }
}

const startNotifier = async (t: TrustOptions): Promise<Target> => {
  const { url, database } = await startNotifierProcess(t, { LOG_LEVEL: 'info' })
  const pool = createPool({ url: database.url, name: 'trust', connections: 1 })
  await addTenant(pool, 'demo', '1', {})
  const { token } = await createNotifierToken(pool, { tenant: 'demo', staff: 'Ruwan' })
  await pool.end()
  return { url, token, path: '/api/messages/bulk' }
}

const headersOf = ({ token }: Target) => ({
  authorization: `Bearer ${token}`,
  'x-tenant': 'demo',
  'content-type': 'application/json',
})

/** Sends its head, or its body, a byte each half second. Resolves to the seconds until the service closed it. */
const sendSlowly = async (target: Target, part: 'head' | 'body'): Promise<number> => {
  const { port } = new URL(target.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {}).resume()
  const closed = once(socket, 'close')
  const started = performance.now()
  const head = Object.entries({ host: 'a', ...headersOf(target), 'content-length': '5000' }).map(pair =>
    pair.join(': '),
  )
  const lines = `POST ${target.path} HTTP/1.1\r\n${head.join('\r\n')}\r\n`
  socket.write(part === 'head' ? lines : `${lines}\r\n`)
  const drip = setInterval(() => socket.write(part === 'head' ? 'x' : ' '), 500)
  await Promise.race([closed, delay(20_000, undefined, { ref: false })])
  clearInterval(drip)
  socket.destroy()
  return (performance.now() - started) / 1000
}

/** The p99 in milliseconds of batches of one order, one after another on four connections, for so many seconds. */
const callFor = async (target: Target, seconds: number): Promise<{ p99: number; refused: number }> => {
  const durations: number[] = []
  let refused = 0
  const end = performance.now() + seconds * 1000
  const body = JSON.stringify(batch())
  const work = async (): Promise<void> => {
    while (performance.now() < end) {
      const started = performance.now()
      const answer = await fetch(target.url + target.path, { method: 'POST', headers: headersOf(target), body })
      await answer.arrayBuffer()
      if (answer.status !== 200) refused++
      durations.push(performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: 4 }, work))
  return { p99: percentile(durations, 0.99), refused }
}

const megabytes = 1024 * 1024

/** Bodies that are refused; how the answer came, with its seconds. */
const sendLarge = async (target: Target, broken: Broken): Promise<number> => {
  const large: Record<string, [string, number[]]> = {
    '2 MB of [': ['['.repeat(2 * megabytes), [400, 413, 422]],
    '2 MB of [ and ]': ['['.repeat(megabytes) + ']'.repeat(megabytes), [400, 413, 422]],
    '2 MB of {"a":': ['{"a":'.repeat((2 * megabytes) / 5), [400, 413, 422]],
    '10 MB': [`{"a":"${'x'.repeat(10 * megabytes)}"}`, [413]],
  }
  let slowest = 0
  for (const [name, [body, statuses]] of Object.entries(large))
    for (const path of [target.path, '/webhooks/messaging', '/nothing']) {
      const started = performance.now()
      const status = await fetch(target.url + path, { method: 'POST', headers: headersOf(target), body }).then(
        async answer => (await answer.arrayBuffer()) && answer.status,
        // A body that is too large is not read to its end: the connection is closed, which fetch may meet first.
        () => 413,
      )
      const allowed = path === target.path ? statuses : [400, 401, 404, 413, 422]
      broken.require(allowed.includes(status), `${name} to ${path}: ${status}`)
      slowest = Math.max(slowest, performance.now() - started)
    }
  const isUp = await fetch(`${target.url}/health/live`).then(
    ({ ok }) => ok,
    () => false,
  )
  broken.require(isUp, 'the service did not outlive the large bodies')
  return slowest
}

export const slowSockets: TrustPromise = {
  name: 'slow-sockets',
  promise: 'A client that sends slowly or too much is cut off, and others do not feel it',
  limit: `500 slow sockets: closed within ${maxSeconds} s, others' p99 below ${maxRatio} x; 2 MB of brackets and 10 MB refused`,
  run: async (options): Promise<Outcome> => {
    const { short, report } = options
    const broken = new Broken()
    const target = await startOrders(options)
    const seconds = short ? 1 : 6
    await callFor(target, seconds / 2)
    const normal = await callFor(target, seconds)
    report(`p99 without slow sockets: ${rounded(normal.p99, 1)} ms`)
    const sockets = Array.from({ length: short ? 50 : 500 }, (_, n) => sendSlowly(target, n % 2 ? 'head' : 'body'))
    const beside = await callFor(target, seconds)
    const closed = Math.max(...(await Promise.all(sockets)))
    report(
      `p99 beside ${sockets.length} slow sockets: ${rounded(beside.p99, 1)} ms; closed within ${rounded(closed, 2)} s`,
    )
    const ratio = beside.p99 / normal.p99
    broken.require(closed <= maxSeconds, `a slow socket was closed after ${closed} s`)
    broken.require(normal.refused + beside.refused === 0, 'calls beside the slow sockets failed')
    // A second of a busy machine tells nothing about a p99.
    if (!short && beside.p99 - normal.p99 > slackMs)
      broken.require(ratio < maxRatio, `others' p99 was ${ratio} times the normal`)
    const slowest = Math.max(await sendLarge(target, broken), await sendLarge(await startNotifier(options), broken))
    const measured = {
      sockets: sockets.length,
      'closed within s': rounded(closed, 2),
      'p99 ratio': rounded(ratio, 2),
      'slowest refusal ms': rounded(slowest),
    }
    return { measured, broken: broken.sentences }
  },
}
