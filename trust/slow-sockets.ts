import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { median, percentile, rounded } from '../bench/figures.ts'
import { batch } from '../services/orders/test/tenant.ts'
import { nowhere, stageCourier } from './courier-stage.ts'
import { repeatedly } from './order-calls.ts'
import type { Broken, TrustPromise } from './promise.ts'

/** A service as a process, and who calls it where. */
interface Target {
  url: string
  path: string
  headers: Record<string, string>
}

const maxSeconds = 6
/** Of others' p99 beside the slow sockets to without them. */
const maxRatio = 2
/** A p99 so little above the normal is the machine, on which the slow clients run too. */
const slackMs = 50

/** Sends its head, or its body, a byte each half second. Resolves to the seconds until the service closed it. */
const sendSlowly = async (target: Target, part: 'head' | 'body'): Promise<number> => {
  const { port } = new URL(target.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {}).resume()
  const closed = once(socket, 'close')
  const started = performance.now()
  const head = Object.entries({ host: 'a', ...target.headers, 'content-length': '5000' }).map(pair => pair.join(': '))
  const lines = `POST ${target.path} HTTP/1.1\r\n${head.join('\r\n')}\r\n`
  socket.write(part === 'head' ? lines : `${lines}\r\n`)
  const drip = setInterval(() => socket.write(part === 'head' ? 'x' : ' '), 500)
  await Promise.race([closed, delay(20_000, undefined, { ref: false })])
  clearInterval(drip)
  socket.destroy()
  return (performance.now() - started) / 1000
}

/** The p99 in milliseconds of batches of one order, and how many were refused. */
const callFor = async (target: Target, seconds: number): Promise<{ p99: number; refused: number }> => {
  const body = JSON.stringify(batch())
  let refused = 0
  const durations = await repeatedly(seconds, async () => {
    const started = performance.now()
    const answer = await fetch(target.url + target.path, { method: 'POST', headers: target.headers, body })
    await answer.arrayBuffer()
    if (answer.status !== 200) refused++
    return performance.now() - started
  })
  return { p99: percentile(durations, 0.99), refused }
}

interface Round {
  normalMs: number
  besideMs: number
  closedSeconds: number
  failed: number
}

/** Others' calls without and beside so many slow sockets. */
const runRound = async (target: Target, count: number, seconds: number): Promise<Round> => {
  const normal = await callFor(target, seconds)
  const sockets = Array.from({ length: count }, (_, n) => sendSlowly(target, n % 2 ? 'head' : 'body'))
  const beside = await callFor(target, seconds)
  return {
    normalMs: normal.p99,
    besideMs: beside.p99,
    closedSeconds: Math.max(...(await Promise.all(sockets))),
    failed: normal.refused + beside.refused,
  }
}

const megabytes = 1024 * 1024

/** Sends bodies that must be refused. Returns the milliseconds of the slowest answer. */
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
      const status = await fetch(target.url + path, { method: 'POST', headers: target.headers, body }).then(
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

export const promise: TrustPromise = {
  promise: 'A client that sends slowly or too much is cut off, and others do not feel it',
  limit: `500 slow sockets: closed within ${maxSeconds} s, others' p99 below ${maxRatio} x or within ${slackMs} ms; 2 MB of brackets and 10 MB refused`,
  run: async options => {
    const { short, report } = options
    const { broken } = options
    const { merchant, notifier, staff } = await stageCourier(options, { orders: { NOTIFIER_URL: nowhere } })
    const authorization = `Bearer ${merchant.token}`
    const headers = { authorization, 'x-tenant': 'demo', 'content-type': 'application/json' }
    const target = { url: merchant.url, path: '/api/public/merchant/order/bulk', headers }
    const ofNotifier = { url: notifier.url, path: '/api/messages/bulk', headers: staff }
    const [count, seconds, times] = short ? ([50, 1, 1] as const) : ([500, 6, 3] as const)
    await callFor(target, seconds / 2)
    const rounds: Round[] = []
    for (let tried = 0; tried < times; tried++) {
      const round = await runRound(target, count, seconds)
      rounds.push(round)
      const { normalMs, besideMs, closedSeconds, failed } = round
      report(`p99 ${rounded(normalMs, 1)} ms, beside ${count} slow sockets ${rounded(besideMs, 1)} ms`)
      broken.require(closedSeconds <= maxSeconds, `a slow socket was closed after ${closedSeconds} s`)
      broken.require(failed === 0, `${failed} calls beside the slow sockets failed`)
    }
    const ratio = median(rounds.map(({ normalMs, besideMs }) => besideMs / normalMs))
    const more = median(rounds.map(({ normalMs, besideMs }) => besideMs - normalMs))
    // A second of a busy machine tells nothing about a p99.
    if (!short) broken.require(ratio < maxRatio || more <= slackMs, `others' p99 was ${ratio} times the normal`)
    const slowest = Math.max(await sendLarge(target, broken), await sendLarge(ofNotifier, broken))
    return {
      sockets: count,
      'closed within s': rounded(Math.max(...rounds.map(({ closedSeconds }) => closedSeconds)), 2),
      'p99 ratio': rounded(ratio, 2),
      'p99 ms more': rounded(more, 1),
      'slowest refusal ms': rounded(slowest),
    }
  },
}
