import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { percentile, rounded } from '../bench/figures.ts'
import type { Operation } from './document.ts'
import type { TrustOptions } from './promise.ts'
import type { Request } from './sender.ts'
import type { Target } from './targets.ts'

/** Limits the p99 of another tenant's requests beside these clients, in relation to that without them. */
export const maxRatio = 2
/** A p99 within this margin is due to the machine, which the clients share. */
export const slackMs = 50
/** A service closes a slow socket within this many seconds. */
export const maxOpenSeconds = 6
/** The client, too, waits for its turn beside other tests. */
const maxOpenSecondsWhenBusy = 12

/** Returns the p99 in milliseconds of another tenant's requests, on four connections. */
const p99Of = async ({ send, rivals }: Target, seconds: number): Promise<number> => {
  const end = performance.now() + seconds * 1000
  const durations: number[] = []
  const work = async (): Promise<void> => {
    while (performance.now() < end) durations.push((await send(rivals)).ms)
  }
  await Promise.all(Array.from({ length: 4 }, work))
  return percentile(durations, 0.99)
}

/** Sends the head, or the body, one byte each half second. Resolves to the seconds until the service closed it. */
const sendSlowly = async (
  { url, headersFor }: Target,
  operation: Operation,
  part: 'head' | 'body',
): Promise<number> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {}).resume()
  const closed = once(socket, 'close')
  const started = performance.now()
  const headers = { host: 'a', ...headersFor(operation), 'content-type': 'application/json', 'content-length': '5000' }
  const lines = Object.entries(headers).map(pair => `${pair.join(': ')}\r\n`)
  socket.write(`POST ${operation.path} HTTP/1.1\r\n${lines.join('')}${part === 'head' ? '' : '\r\n'}`)
  const drip = setInterval(() => socket.write(part === 'head' ? 'x' : ' '), 500)
  await Promise.race([closed, delay(20_000, undefined, { ref: false })])
  clearInterval(drip)
  socket.destroy()
  return (performance.now() - started) / 1000
}

/**
 * Requires that another tenant's requests stay fast beside clients that each send the most costly inputs, at most
 * twenty times a second, and then beside slow sockets, and that those are closed in time. Returns the measured values.
 */
export const goOnBeside = async (target: Target, costly: readonly Request[], { short, broken }: TrustOptions) => {
  const [seconds, sockets] = short ? [0.5, 50] : [6, 500]
  const bulk = target.operations.find(({ id, needsToken }) => needsToken && /^POST .*\/bulk$/.test(id)) as Operation
  await p99Of(target, seconds / 4)
  const quietMs = await p99Of(target, seconds)
  const compare = async (beside: string): Promise<string> => {
    const ms = await p99Of(target, seconds)
    const isCalm = ms < quietMs * maxRatio || ms - quietMs <= slackMs
    // A second of a busy machine says nothing about a p99.
    broken.require(short || isCalm, `${target.name}: p99 of others ${ms} ms beside ${beside}, ${quietMs} ms before`)
    return `${rounded(quietMs, 1)} -> ${rounded(ms, 1)}`
  }
  const clients = new Worker(new URL('costly-clients.ts', import.meta.url), { workerData: { url: target.url, costly } })
  let responses = 0
  clients.on('message', () => responses++)
  await once(clients, 'message', { signal: AbortSignal.timeout(60_000) })
  const besideClients = await compare('costly requests')
  await clients.terminate()
  const slow = Array.from({ length: sockets }, (_, n) => sendSlowly(target, bulk, n % 2 ? 'head' : 'body'))
  const besideSockets = await compare('slow sockets')
  const openSeconds = Math.max(...(await Promise.all(slow)))
  const limit = short ? maxOpenSecondsWhenBusy : maxOpenSeconds
  broken.require(openSeconds <= limit, `${target.name}: a slow socket was closed after ${openSeconds} s`)
  return {
    [`p99 ms of another tenant at ${target.name}`]: besideClients,
    [`costly requests of ${target.name} per s`]: rounded(responses / seconds),
    [`p99 ms beside slow sockets of ${target.name}`]: besideSockets,
    [`slow sockets of ${target.name} closed within s`]: rounded(openSeconds, 1),
  }
}
