import { readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { median, rounded } from '../bench/figures.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { request } from '../test/courier.ts'
import { type Courier, measure, startCourier, waitForOutbox, withProbe } from './courier.ts'
import type { Broken, TrustPromise } from './promise.ts'

const roundsPerSecond = 10
/** Limits by how much the median of the last third may exceed that of the first, beside a tenth. */
const slack = { 'heap MB': 8, descriptors: 12, connections: 6, 'transient tables MB': 2 }
type Sample = Record<keyof typeof slack, number>

const services = ['orders', 'notifier'] as const
type Service = (typeof services)[number]

/** Lists the tables whose rows are deleted or changed in place. */
const transient: Record<Service, readonly string[]> = {
  orders: ['outbox_leases', 'waybill_counters', 'tokens'],
  notifier: ['channels', 'secrets', 'tokens', 'templates', 'rules'],
}

/** Measures the heap after a collection, and connections to Postgres. Without /proc there are 0 descriptors. */
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

/** Books, lists, looks up, gets refused and cancels; messages and webhooks follow. Returns how many orders it made. */
const playRound = async ({ tokens, orders }: Courier, n: number): Promise<number> => {
  const [ofMerchant, ofStaff] = [`${orders.url}/api/public/merchant/order`, `${orders.url}/api/staff/order`]
  const body = batch(Array.from({ length: 1 + (n % 4) }, () => order({ initial_status_key: 'key_2' })))
  const booked = await request(`${ofMerchant}/bulk`, { token: tokens.merchant, key: `t${n}`, body })
  const [waybill] = booked.body.data ?? []
  const responses = await Promise.all([
    request(`${ofMerchant}?page=1`, { token: tokens.merchant }),
    request(`${ofStaff}/${waybill}`, { token: tokens.staff }),
    request(`${ofMerchant}/bulk`, { token: tokens.merchant, body: { order_data: [{}] } }),
  ])
  const move = { waybill_numbers: [waybill], status_key: 'key_3' }
  responses.push(await request(`${ofStaff}/status`, { token: tokens.staff, body: move }))
  const statuses = [booked, ...responses].map(({ status }) => status).join()
  if (statuses !== '200,200,200,422,200') throw new Error(`round ${n} had the statuses ${statuses}`)
  return booked.body.data.length
}

/** Plays rounds for so many seconds. On a busy machine it waits instead of queuing rounds. */
const createLoad = (courier: Courier, broken: Broken) => {
  const counts = { rounds: 0, orders: 0 }
  const playOne = async (): Promise<void> => {
    const made = await playRound(courier, counts.rounds++)
    counts.orders += made
  }
  const runFor = async (seconds: number): Promise<void> => {
    const end = performance.now() + seconds * 1000
    const running = new Set<Promise<void>>()
    for (; performance.now() < end; await delay(1000 / roundsPerSecond)) {
      if (running.size >= roundsPerSecond) continue
      const one = playOne()
        .catch(error => broken.add(String(error)))
        .finally(() => running.delete(one))
      running.add(one)
    }
    await Promise.all(running)
  }
  return { counts, runFor }
}

const checkStable = (name: Service, samples: readonly Sample[], broken: Broken): Record<string, string> => {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const shown: Record<string, string> = {}
  for (const [what, more] of Object.entries(slack) as [keyof Sample, number][]) {
    const values = samples.map(each => each[what])
    const [first, last] = [median(values.slice(0, third)), median(values.slice(-third))]
    broken.require(last <= first * 1.1 + more, `${what} of ${name} grew from ${first} to ${last}`)
    shown[`${name} ${what}`] = `${rounded(first, 1)} -> ${rounded(last, 1)}`
  }
  return shown
}

const run: TrustPromise['run'] = async t => {
  const [warmUp, seconds, every] = t.short ? [2, 8, 1] : [60, 1800, 30]
  const courier = await startCourier(t, { orders: withProbe, notifier: withProbe })
  const samples: Record<Service, Sample[]> = { orders: [], notifier: [] }
  const { counts, runFor } = createLoad(courier, t.broken)
  await runFor(warmUp)
  for (let passed = every; passed <= seconds; passed += every) {
    await runFor(every)
    for (const name of services) samples[name].push(await sample(courier, name))
    if (passed % 300 === 0) t.report(`${passed} s`)
  }
  await waitForOutbox(courier, 30)
  const { accepted } = await courier.control('')
  const stable = services.map(name => checkStable(name, samples[name], t.broken))
  return { s: seconds, orders: counts.orders, messages: accepted, ...stable[0], ...stable[1] }
}

export const promise: TrustPromise = {
  promise: 'Under lasting load nothing grows that is not meant to grow',
  limit: '30 min mixed load: heap after a collection, descriptors, connections and transient tables as at the start',
  run,
}
