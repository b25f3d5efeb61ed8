import { readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { median, roundTo } from '../bench/statistics.ts'
import { waitUntil } from '../test/courier.ts'
import { type Bed, startBed } from './chaos/bed.ts'
import { nobodyWaitsForever } from './chaos/checks/effects.ts'
import { startClients } from './chaos/clients.ts'
import type { Call } from './chaos/history.ts'
import { createRecorder } from './chaos/record.ts'
import { comeToRest } from './chaos/recover.ts'
import { type Courier, measure, waitForOutbox, withProbe } from './courier.ts'
import type { TrustOptions, TrustPromise } from './promise.ts'

/** Limits how much the median may grow, beyond a tenth, from the first third of a run to the last. */
const slack = { 'heap MB': 8, descriptors: 12, connections: 6, 'transient tables MB': 2 }
/** Is how many messages the API must have accepted before the samples begin. */
const warmMessages = 50
/** Limits how long a slow machine may take to finish the work that clients have left. */
const maxRestSeconds = 120
type Measure = keyof typeof slack
type Sample = Record<Measure, number>
const measures = Object.keys(slack) as Measure[]
const mapMeasures = (read: (what: Measure) => number): Sample =>
  Object.fromEntries(measures.map(what => [what, read(what)])) as Sample

/** Selects what a busy service may say, or a late response: its client repeats the request. */
const isBusy = ({ status, code }: Call): boolean => status === 0 || code === 'unavailable'

/** Requires that no request fails, or in the short form, beside other tests, that few are repeated and none is left. */
const checkResponses = (history: readonly Call[], { short, broken }: TrustOptions): number => {
  const failed = history.filter(({ status }) => status === 0 || status >= 500)
  const wrong = short ? failed.filter(call => !isBusy(call)) : failed
  for (const { what, name, status, code } of wrong) broken.add(`${what} ${name} failed: ${status} ${code}`)
  for (const sentence of nobodyWaitsForever({ history })) broken.add(sentence)
  const busy = failed.length - wrong.length
  broken.require(busy * 5 <= history.length, `${busy} of ${history.length} requests had to be repeated`)
  return busy
}

const services = ['orders', 'notifier'] as const
type Service = (typeof services)[number]

/** Lists tables that must not grow, since their rows are deleted or changed in place. */
const transient: Record<Service, readonly string[]> = {
  orders: ['outbox_leases', 'waybill_counters', 'tokens'],
  notifier: ['channels', 'secrets', 'tokens', 'templates', 'rules'],
}

/** Measures the heap after a collection, descriptors (0 without /proc), connections and the transient tables. */
const sample = async (courier: Courier, name: Service): Promise<Sample> => {
  const [row] = await courier.rows(
    name,
    `select (select count(*) from pg_stat_activity where datname = current_database() and application_name = $1)
      as connections,
       (select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r' and relname = any($2)) as bytes`,
    [name, transient[name]],
  )
  const [heap = 0] = await measure(courier[name], 'SIGURG')
  return {
    'heap MB': heap / 1e6,
    descriptors: (await readdir(`/proc/${courier[name].pid}/fd`).catch(() => [])).length,
    connections: Number(row?.connections),
    'transient tables MB': Number(row?.bytes) / 1e6,
  }
}

/**
 * Samples a service that has nothing left to do until no value is above its limit, for half a minute at most: a leak
 * stays.
 */
const sampleAtRest = async (bed: Bed, name: Service, limits: Sample, t: TrustOptions): Promise<Sample> => {
  await comeToRest(bed, 16, performance.now() + maxRestSeconds * 1000, t.report)
  for (let tries = 30; ; tries--) {
    const rest = await sample(bed.courier, name)
    if (tries === 0 || measures.every(what => rest[what] <= limits[what])) return rest
    await delay(1_000)
  }
}

/** Compares the thirds of a run. A value above its limit while requests were under way must be below it at rest. */
const checkStable = async (bed: Bed, name: Service, samples: readonly Sample[], t: TrustOptions) => {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const toMedians = (part: readonly Sample[]) => mapMeasures(what => median(part.map(each => each[what])))
  const [first, last] = [toMedians(samples.slice(0, third)), toMedians(samples.slice(-third))]
  const limits = mapMeasures(what => first[what] * 1.1 + slack[what])
  const grown = measures.filter(what => last[what] > limits[what])
  const rest = grown.length > 0 ? await sampleAtRest(bed, name, limits, t) : last
  for (const what of grown)
    t.broken.require(rest[what] <= limits[what], `${what} of ${name} grew from ${first[what]} to ${rest[what]}`)
  return Object.fromEntries(
    measures.map(what => [`${name} ${what}`, `${roundTo(first[what], 1)} -> ${roundTo(rest[what], 1)}`]),
  )
}

const run: TrustPromise['run'] = async t => {
  const [warmUp, seconds, every] = t.short ? [2, 6, 1] : [60, 1800, 30]
  const bed = await startBed(t, { environment: withProbe })
  const recorder = createRecorder()
  const crew = { merchants: 4, clerks: 2, agents: 1, customers: 1 }
  const clients = startClients(bed, recorder, crew, t.seed, [])
  t.teardown(clients.stop)
  const samples: Record<Service, Sample[]> = { orders: [], notifier: [] }
  await delay(warmUp * 1000)
  // Only then has a slow machine opened the connections that messages need.
  await waitUntil(
    'messages arrive',
    () => bed.courier.control(''),
    ({ accepted }) => accepted >= warmMessages,
    120,
  )
  for (let passed = every; passed <= seconds; passed += every) {
    await Promise.race([delay(every * 1000), clients.working])
    for (const name of services) samples[name].push(await sample(bed.courier, name))
    if (passed % 300 === 0) t.report(`${passed} s`)
  }
  await clients.finish()
  const busy = checkResponses(recorder.history, t)
  await waitForOutbox(bed.courier, t.short ? 120 : 30)
  const { accepted } = await bed.courier.control('')
  const orders = await checkStable(bed, 'orders', samples.orders, t)
  const notifier = await checkStable(bed, 'notifier', samples.notifier, t)
  return { s: seconds, calls: recorder.history.length, repeated: busy, messages: accepted, ...orders, ...notifier }
}

export const promise: TrustPromise = {
  promise: 'Under lasting load nothing grows that is not meant to grow',
  limit: '30 min mixed load: heap after a collection, descriptors, connections and transient tables as at the start',
  run,
}
