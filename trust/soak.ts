import { readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { median, rounded } from '../bench/figures.ts'
import type { ServiceProcess } from '../dev/service-process.ts'
import { eventually, request } from '../test/courier.ts'
import { ask, type Courier, stageCourier, telling } from './courier-stage.ts'
import { type BulkCall, book } from './order-calls.ts'
import type { Broken, TrustPromise } from './promise.ts'

const roundsPerSecond = 10
/** What a figure of the last third may be above that of the first one. */
const slack = { heap: 8_000_000, descriptors: 12, connections: 6, kept: 2_000_000 }

interface Sample {
  /** Bytes after a collection. */
  heap: number
  descriptors: number
  /** To Postgres. */
  connections: number
  /** Bytes of the tables that hold what is under way, not what was done. */
  kept: number
}
type Service = 'orders' | 'notifier'

/** What is deleted or changed in place all the time. */
const passing: Record<Service, readonly string[]> = {
  orders: ['outbox', 'outbox_leases', 'waybill_counters', 'tokens'],
  notifier: ['channels', 'secrets', 'tokens', 'templates', 'rules'],
}

/** Where the system has no /proc the number is 0. */
const descriptorsOf = async ({ pid }: ServiceProcess): Promise<number> =>
  (await readdir(`/proc/${pid}/fd`).catch(() => [])).length

const sampleOf = async (courier: Courier, name: Service): Promise<Sample> => {
  const service = courier[name]
  const [row] = await courier.rows(
    name,
    `select (select count(*)::int from pg_stat_activity where datname = current_database() and application_name = '${name}')
       as connections,
     (select sum(pg_total_relation_size(oid))::bigint from pg_class
       where relkind = 'r' and relname in ('${passing[name].join("', '")}')) as kept`,
  )
  return {
    heap: Number((await ask(service, 'SIGURG'))[0]),
    descriptors: await descriptorsOf(service),
    connections: Number(row?.connections),
    kept: Number(row?.kept),
  }
}

/** Books, cancels, looks up and lists; the rules make messages, the simulator tells what becomes of them. */
const work = async (courier: Courier, turn: number, log: BulkCall[]): Promise<number> => {
  const { merchant, staffToken, orders } = courier
  const booked = await book(merchant, `t${turn}`, 1 + (turn % 4), { key: `t${turn}` })
  log.push(booked)
  const [waybill] = booked.waybills
  const answers = await Promise.all([
    request(`${orders.url}/api/public/merchant/order?page=1`, { token: merchant.token }),
    request(`${orders.url}/api/staff/order/${waybill}`, { token: staffToken }),
    request(`${orders.url}/api/public/merchant/order/bulk`, { token: merchant.token, body: { order_data: [{}] } }),
  ])
  const body = { waybill_numbers: [waybill], status_key: 'key_3' }
  answers.push(await request(`${orders.url}/api/staff/order/status`, { token: staffToken, body }))
  return answers.map(({ status }) => status).join() === '200,200,422,200' ? 0 : 1
}

const checkFlat = (name: Service, samples: readonly Sample[], broken: Broken): Record<string, string> => {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const shown: Record<string, string> = {}
  for (const figure of ['heap', 'descriptors', 'connections', 'kept'] as const) {
    const values = samples.map(sample => sample[figure])
    const [first, last] = [median(values.slice(0, third)), median(values.slice(-third))]
    const isFlat = last <= first * 1.1 + slack[figure]
    broken.require(isFlat, `${figure} of ${name} grew from ${first} to ${last}`)
    const isBytes = figure === 'heap' || figure === 'kept'
    const show = (value: number): string => (isBytes ? `${rounded(value / 1_000_000, 1)}` : `${value}`)
    shown[`${name} ${figure}${isBytes ? ' MB' : ''}`] = `${show(first)} -> ${show(last)}`
  }
  return shown
}

/** Load that can be taken up again. On a busy machine it waits rather than piles up. */
const createLoad = (courier: Courier) => {
  const log: BulkCall[] = []
  const counts = { rounds: 0, failed: 0 }
  const once = async (): Promise<void> => {
    counts.failed += await work(courier, counts.rounds++, log).catch(() => 1)
  }
  const runFor = async (seconds: number): Promise<void> => {
    const end = performance.now() + seconds * 1000
    const running = new Set<Promise<void>>()
    for (; performance.now() < end; await delay(1000 / roundsPerSecond)) {
      if (running.size >= roundsPerSecond) continue
      const one = once().finally(() => running.delete(one))
      running.add(one)
    }
    await Promise.all(running)
  }
  return { log, counts, runFor }
}

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const [warmUp, seconds, every] = t.short ? [2, 8, 1] : [60, 1800, 30]
  const courier = await stageCourier(t, { orders: telling, notifier: telling })
  const samples: Record<Service, Sample[]> = { orders: [], notifier: [] }
  const { log, counts, runFor } = createLoad(courier)
  await runFor(warmUp)
  for (let passed = every; passed <= seconds; passed += every) {
    await runFor(every)
    for (const name of ['orders', 'notifier'] as const) samples[name].push(await sampleOf(courier, name))
    if (passed % 300 === 0) t.report(`${passed} s`)
  }
  const left = () => courier.rows('orders', 'select count(*)::int as depth from outbox')
  await eventually('the outbox is empty', left, ([row]) => row?.depth === 0, 30)
  const { rounds, failed } = counts
  broken.require(failed === 0, `${failed} of ${rounds} rounds had an answer that was not expected`)
  const orders = log.reduce((sum, { waybills }) => sum + waybills.length, 0)
  const flat = { ...checkFlat('orders', samples.orders, broken), ...checkFlat('notifier', samples.notifier, broken) }
  return { s: seconds, orders, messages: (await courier.control('')).accepted, ...flat }
}

export const promise: TrustPromise = {
  promise: 'Under lasting load nothing grows that is not meant to grow',
  limit: '30 min mixed load: heap after a collection, descriptors, connections and transient tables as at the start',
  run,
}
