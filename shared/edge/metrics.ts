import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { refused } from '../postgres/patience.ts'
import { countWaiting } from '../postgres/tenant-share.ts'

/**
 * Registers gauges by name, each with its help: one measurement per scrape supplies all their values. The gauges are
 * left out when the measurement fails, as without the database, or takes over a second.
 */
export const createGauges = <Name extends string>(
  registry: Registry,
  measure: () => Promise<Readonly<Record<Name, number>>>,
  gauges: Readonly<Record<Name, string>>,
): void => {
  const waitTooLong = () => delay(1_000, undefined, { ref: false })
  const measureOnce = shareRuns(() => Promise.race([measure(), waitTooLong()]).catch(() => undefined))
  for (const [name, help] of Object.entries<string>(gauges))
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const measured = await measureOnce()
        if (measured) this.set(measured[name as Name])
        else this.remove()
      },
    })
}

/** Creates a counter with one label; returns the function that increments it. */
export const createCounter = (registry: Registry, name: string, label: string, help: string) => {
  const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
  return (value: string, count = 1): void => counter.inc({ [label]: value }, count)
}

/** Returns SQL for the age in seconds of the oldest `time` of `rows`; 0 without any. */
export const oldest = (time: string, rows: string): string =>
  `(select coalesce(greatest(0, extract(epoch from now() - min(${time}))), 0)::float8 from ${rows})`

const Metrics = {
  description: 'Metrics in the text format of Prometheus.',
  content: { 'text/plain': { schema: { type: 'string' }, example: 'orders_booked_total 25\n' } },
}

let ofProcess: Registry | undefined
/**
 * Measures the process once for all its applications: its garbage collections and event loop are watched until it ends,
 * and each closed application of a test would go on watching.
 */
const measureProcess = (): Registry => {
  if (ofProcess) return ofProcess
  ofProcess = new Registry()
  collectDefaultMetrics({ register: ofProcess })
  return ofProcess
}

/** Serves `registry` at /metrics, with the metrics of the process. */
export const serveMetrics = (app: FastifyInstance, registry: Registry): void => {
  const process = measureProcess()
  const collect = shareRuns(() => Registry.merge([process, registry]).metrics())
  const schema = {
    tags: ['operations'],
    operationId: 'getMetrics',
    summary: 'Metrics for Prometheus',
    response: { 200: Metrics },
  }
  app.get('/metrics', { schema }, async (_request, reply) => {
    reply.type(registry.contentType)
    return collect()
  })
}

/** Collecting blocks the event loop for some milliseconds: a pause leaves most of the time to other requests. */
const pauseMs = 100

/**
 * Allows one run at a time. Calls during a run and the pause after it share the next run, which begins after all of
 * them.
 */
const shareRuns = <Value>(run: () => Promise<Value>): (() => Promise<Value>) => {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<Value> | undefined
  const begin = (): Promise<Value> => {
    next = undefined
    const running = run()
    const pause = () => next && delay(pauseMs)
    last = running.then(pause, pause)
    return running
  }
  return () => {
    next ??= last.then(begin)
    return next
  }
}

/** Registers a gauge of the pool's connections by state. */
export const watchPool = (pool: pg.Pool, registry: Registry): void => {
  new Gauge({
    name: 'database_connections',
    help: 'Connections to Postgres, busy and idle, and requests waiting for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'waiting' }, pool.waitingCount + countWaiting(pool))
    },
  })
  const help = 'Connections that Postgres refused, because a limit was reached.'
  const refusals = new Counter({ name: 'database_connections_refused_total', help, registers: [registry] })
  pool.on(refused as 'release', () => refusals.inc())
}
