import { readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { median, roundTo } from '../bench/statistics.ts'
import { startBed } from './chaos/bed.ts'
import { startClients } from './chaos/clients.ts'
import { createRecorder } from './chaos/record.ts'
import { type Courier, measure, waitForOutbox, withProbe } from './courier.ts'
import type { Broken, TrustPromise } from './promise.ts'

/** Limits how much the median may grow, beyond a tenth, from the first third of a run to the last. */
const slack = { 'heap MB': 8, descriptors: 12, connections: 6, 'transient tables MB': 2 }
type Sample = Record<keyof typeof slack, number>

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

const checkStable = (name: Service, samples: readonly Sample[], broken: Broken): Record<string, string> => {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const shown: Record<string, string> = {}
  for (const [what, more] of Object.entries(slack) as [keyof Sample, number][]) {
    const values = samples.map(each => each[what])
    const [first, last] = [median(values.slice(0, third)), median(values.slice(-third))]
    broken.require(last <= first * 1.1 + more, `${what} of ${name} grew from ${first} to ${last}`)
    shown[`${name} ${what}`] = `${roundTo(first, 1)} -> ${roundTo(last, 1)}`
  }
  return shown
}

const run: TrustPromise['run'] = async t => {
  const [warmUp, seconds, every] = t.short ? [2, 8, 1] : [60, 1800, 30]
  const bed = await startBed(t, { environment: withProbe })
  const recorder = createRecorder()
  const crew = { merchants: 4, clerks: 2, agents: 1, customers: 1 }
  const clients = startClients(bed, recorder, crew, t.seed, [])
  t.teardown(clients.stop)
  const samples: Record<Service, Sample[]> = { orders: [], notifier: [] }
  await delay(warmUp * 1000)
  for (let passed = every; passed <= seconds; passed += every) {
    await Promise.race([delay(every * 1000), clients.working])
    for (const name of services) samples[name].push(await sample(bed.courier, name))
    if (passed % 300 === 0) t.report(`${passed} s`)
  }
  await clients.finish()
  for (const { what, name, status, code } of recorder.history.filter(({ status }) => status === 0 || status >= 500))
    t.broken.add(`${what} ${name} failed: ${status} ${code}`)
  await waitForOutbox(bed.courier, 30)
  const { accepted } = await bed.courier.control('')
  const stable = services.map(name => checkStable(name, samples[name], t.broken))
  return { s: seconds, calls: recorder.history.length, messages: accepted, ...stable[0], ...stable[1] }
}

export const promise: TrustPromise = {
  promise: 'Under lasting load nothing grows that is not meant to grow',
  limit: '30 min mixed load: heap after a collection, descriptors, connections and transient tables as at the start',
  run,
}
