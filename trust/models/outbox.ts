import { randomUUID } from 'node:crypto'
import { createServiceClient, type ServiceClient } from '@courier/shared/http/service-client.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import fc from 'fast-check'
import { pino } from 'pino'
import type { Tx } from '../../services/orders/database/tables.ts'
import { drainTenant } from '../../services/orders/outbox/drain-tenant.ts'
import { findWaiting } from '../../services/orders/outbox/queries.ts'
import { drainedBy } from '../../services/orders/outbox/relay.ts'
import { findEvents, requeue } from '../../services/orders/restoring/queries.ts'
import { serviceToken } from '../../services/orders/test/build.ts'
import { type Reaction, startReceiver } from '../../services/orders/test/receiver.ts'
import { type CreateModel, expectSame, pick, type Step } from './history.ts'
import {
  createProcess,
  Gate,
  type Order,
  type ProcessName,
  processNames,
  type Runner,
  type Stop,
  stoppedOrders,
  stops,
} from './process.ts'

/** What the notifier does with a request. Of a lost response nobody knows that the events are there. */
const moods: Record<string, Reaction> = {
  ...{ works: 'acknowledge', 'loses its responses': 'lose', 'is away': 'cut', refuses: 422, fails: 500 },
  'does not know the tenant': 'unknown',
}
type Mood = keyof typeof moods

/** What a process does when it goes on. */
interface Stopped {
  at: Stop
  since: number
  events: string[]
  /** The rows that are delivered completely with them. */
  finished: Row[]
  mood?: Mood
}

interface Process {
  /** Failures in a row, and until when it leaves the notifier alone. */
  failures: number
  waitsUntil: number
  stopped?: Stopped | undefined
}

/** The events of one change. */
type Row = string[]

/** Times are in seconds. */
interface State {
  now: number
  random: number
  mood: Mood
  orders: Order[]
  /** What was not acknowledged, the oldest first. */
  rows: Row[]
  lease: { holder: ProcessName | 'nobody'; until: number; unknownSince?: number | undefined } | undefined
  processes: Record<ProcessName, Process>
  /** The events of each request, since the last look. */
  requests: string[]
  /** All events in their order, and what the notifier got. */
  happened: string[]
  got: Set<string>
  /** Every event that a request brought, first ones first. */
  seen: string[]
}

const leaseSeconds = 20

/** A request, and what the process makes of the response. */
const send = (state: State, name: ProcessName, stopped: Stopped): void => {
  request(state, stopped)
  store(state, name, stopped)
}
const request = (state: State, stopped: Stopped): void => {
  stopped.mood = state.mood
  state.requests.push(stopped.events.join(', '))
  if (state.mood === 'works' || state.mood === 'loses its responses')
    for (const event of stopped.events) state.got.add(event)
}
const store = (state: State, name: ProcessName, { mood, finished }: Stopped): void => {
  const process = state.processes[name]
  const isHolder = state.lease?.holder === name
  if (mood === 'works') {
    // What was acknowledged may go, whoever has the lease.
    state.rows = state.rows.filter(row => !finished.includes(row))
    Object.assign(process, { failures: 0, waitsUntil: 0 })
    if (isHolder) state.lease = undefined
  } else if (mood === 'does not know the tenant') {
    Object.assign(process, { failures: 0, waitsUntil: 0 })
    if (isHolder) state.lease = suspended(state)
  } else {
    process.failures++
    process.waitsUntil = state.now + Math.min(30, 0.5 * 2 ** (process.failures - 1)) * (1 - state.random / 2)
    if (isHolder && state.lease) state.lease.until = state.now
  }
}
const suspended = ({ now, random, lease }: State): State['lease'] => {
  const unknownSince = lease?.unknownSince ?? now
  const seconds = Math.min(300, Math.max(1, now - unknownSince))
  return { holder: 'nobody', until: now + seconds * (1 - random / 2), unknownSince }
}

const isHeldElsewhere = ({ lease, now }: State, name: ProcessName): boolean =>
  lease !== undefined && lease.holder !== name && lease.until > now

/** Whether the process has something to send now. What does not wait is forgotten, with its failures. */
const mayWork = (state: State, name: ProcessName): boolean => {
  const { now, lease, rows, processes } = state
  const isSuspended = lease?.unknownSince !== undefined && lease.until > now
  if (rows.length === 0 || isSuspended) Object.assign(processes[name], { failures: 0, waitsUntil: 0 })
  return rows.length > 0 && !isSuspended && !isHeldElsewhere(state, name) && processes[name].waitsUntil <= now
}
const acquire = (state: State, name: ProcessName): Stopped => {
  const { now, lease, rows } = state
  const unknownSince = lease?.unknownSince
  state.lease = { holder: name, until: now + leaseSeconds, unknownSince }
  if (unknownSince === undefined) return { at: 'read', since: now, events: rows.flat(), finished: [...rows] }
  // One event alone, which shows whether the tenant is known now.
  const [first = []] = rows
  return { at: 'read', since: now, events: first.slice(0, 1), finished: first.length === 1 ? [first] : [] }
}
/** A process delivers until there is nothing to do for it, or until it stops. */
const work = (state: State, name: ProcessName, stop?: Stop): void => {
  while (mayWork(state, name)) {
    const begun = acquire(state, name)
    if (stop === 'store') request(state, begun)
    if (stop) {
      state.processes[name].stopped = { ...begun, at: stop }
      return
    }
    send(state, name, begun)
  }
}
const goOn = (state: State, name: ProcessName, stopped: Stopped): void => {
  state.processes[name].stopped = undefined
  if (stopped.at === 'store') store(state, name, stopped)
  else if (stopped.at === 'send') send(state, name, stopped)
  else if (state.now - stopped.since < leaseSeconds / 2) send(state, name, stopped)
  else if (!isHeldElsewhere(state, name)) {
    // It gets the lease again. What it read before may have been delivered meanwhile: then it comes once more.
    state.lease = { holder: name, until: state.now + leaseSeconds, unknownSince: state.lease?.unknownSince }
    send(state, name, stopped)
  }
  work(state, name)
}

const number = fc.nat(1_000)
const processName = fc.constantFrom(...processNames)
const eventOf = ({ waybill, status }: Order): string => `${waybill} ${status}`
const happen = (state: State, orders: readonly Order[]): void => {
  const row = orders.map(eventOf)
  state.rows.push(row)
  state.happened.push(...row)
}

export const outbox: CreateModel = async t => {
  const { pool, setTime, book, next, move, poolOf } = await stoppedOrders(t)
  const receiver = Object.assign(await startReceiver(t), { milliseconds: 0 })
  /** The requests that arrived. */
  let arrived: string[] = []
  let now = 0

  const start = (): Runner<string> => {
    const gate = new Gate()
    const client = createServiceClient({ baseUrl: receiver.url, serviceToken, failuresToOpen: 1e9 })
    t.teardown(client.close)
    const post: ServiceClient['post'] = async (...words) => {
      await gate.pass('request')
      return client.post(...words)
    }
    const own = poolOf()
    const options = {
      ...{ pool: own, logger: pino({ level: 'silent' }), tracer: undefined, holder: randomUUID(), leaseSeconds },
      ...{ notifier: { ...client, post }, onDelivered: () => {}, isStopping: () => false },
    }
    const find = () => inAllTenants(own, (tx: Tx) => findWaiting(tx, options.holder))
    const drain = async (tenant: string) => drainedBy(await drainTenant(options, tenant), undefined)
    return createProcess({ pool: own, findWaiting: find, drain, idOf: tenant => tenant }, gate)
  }
  const runners = { A: start(), B: start() }

  const books = fc.constantFrom(1, 1, 2).map(
    (count): Step<State> => ({
      text: () => `merchant books ${count}`,
      run: async state => {
        const made = await book(count)
        state.orders.push(...made)
        happen(state, made)
        return made.map(({ waybill }) => waybill).join(', ')
      },
    }),
  )
  const moves = fc.record({ which: fc.array(number, { minLength: 1, maxLength: 2 }), to: number }).map(
    ({ which, to }): Step<State> => ({
      isPossible: ({ orders }) => orders.some(order => next(order, to)),
      text: () => 'staff moves',
      run: async state => {
        const open = state.orders.filter(order => next(order, to))
        const first = pick(open, which[0] ?? 0)
        const status = next(first, to) as string
        const chosen = open.filter(
          (order, index) => order === first || (order.status === first.status && which.includes(index)),
        )
        const { status: code } = await move(
          chosen.map(({ waybill }) => waybill),
          status,
        )
        expectSame('status', code, 200)
        for (const order of chosen) order.status = status
        happen(state, chosen)
        return chosen.map(eventOf).join(', ')
      },
    }),
  )
  /** As `restored` does after a restore of the notifier's database. */
  const queuesAgain = number.map(
    (which): Step<State> => ({
      isPossible: ({ orders }) => orders.length > 0,
      text: ({ orders }) => `the operator queues the events of ${pick(orders, which).waybill} again`,
      run: async state => {
        const { waybill } = pick(state.orders, which)
        const events = await inTenant(pool, tenant, async (tx: Tx) => {
          const own = (await findEvents(tx, tenant, new Date(0))).filter(event => event.waybill === waybill)
          await requeue(tx, tenant, own)
          return own.map(({ statusKey }) => `${waybill} ${statusKey}`)
        })
        state.rows.push(...events.map(event => [event]))
        return events.length
      },
    }),
  )
  const changes = fc.constantFrom('works', 'works', 'works', ...Object.keys(moods)).map(
    (mood): Step<State> => ({
      text: () => `the notifier ${mood}`,
      run: async state => {
        state.mood = mood
        return 'from now on'
      },
    }),
  )
  const delivers = fc.record({ name: processName, stop: fc.option(fc.constantFrom(...stops), { freq: 2 }) }).map(
    ({ name, stop }): Step<State> => ({
      isPossible: ({ processes }) => !processes[name].stopped,
      text: () => `process ${name} delivers${stop ? ` and stops before it can ${stop}` : ''}`,
      run: async state => {
        work(state, name, stop ?? undefined)
        const isStopped = await runners[name].run(stop ?? undefined)
        expectSame('it stopped', isStopped, state.processes[name].stopped !== undefined)
        return state.requests.join('; ') || 'nothing'
      },
    }),
  )
  const goesOn = processName.map(
    (name): Step<State> => ({
      isPossible: ({ processes }) => processes[name].stopped !== undefined,
      text: () => `process ${name} goes on`,
      run: async state => {
        const { stopped } = state.processes[name]
        if (stopped) goOn(state, name, stopped)
        await runners[name].wake()
        return state.requests.join('; ') || 'nothing'
      },
    }),
  )
  const passes = fc.constantFrom(0.6, 6.3, 23.1, 371.7).map(
    (seconds): Step<State> => ({
      text: () => `${seconds} seconds pass`,
      run: async state => {
        await pass(state, seconds)
        return 'done'
      },
    }),
  )
  const pass = async (state: State, seconds: number): Promise<void> => {
    now = Math.round((now + seconds) * 10) / 10
    state.now = now
    await setTime(now)
  }

  const check = async (state: State): Promise<void> => {
    expectSame('requests', arrived, state.requests)
    for (const event of arrived.flatMap(request => request.split(', ')))
      if (!state.seen.includes(event)) state.seen.push(event)
    arrived = []
    state.requests = []
    const query = 'select waybill_numbers as waybills, status_keys as statuses from outbox order by outbox_id'
    const { rows } = await inTenant(pool, tenant, (tx: Tx) => tx.client.query(query))
    const waiting = rows.map(({ waybills, statuses }) =>
      waybills.map((waybill: string, index: number) => `${waybill} ${statuses[index]}`),
    )
    expectSame('outbox', waiting, state.rows)
    for (const { waybill } of state.orders) {
      const of = (events: readonly string[]) => [...new Set(events)].filter(event => event.startsWith(waybill))
      const [first, due] = [of(state.seen), of(state.happened)]
      expectSame(`first arrivals of ${waybill}`, first, due.slice(0, first.length))
    }
  }

  return {
    settings: fc.record({ random: fc.constantFrom(0, 0.5, 0.9) }),
    begin: async ({ random }) => {
      for (const name of processNames) await runners[name].wake()
      await inTenant(pool, tenant, (tx: Tx) => tx.client.query('delete from outbox where tenant_id = $1', [tenant]))
      const state: State = {
        ...{ now, random, mood: 'works', orders: [], rows: [], lease: undefined, requests: [], happened: [], seen: [] },
        processes: { A: { failures: 0, waitsUntil: 0 }, B: { failures: 0, waitsUntil: 0 } },
        got: new Set(),
      }
      Math.random = () => random
      receiver.react = ({ events }) => {
        arrived.push(events.map(({ order }) => `${order.waybill_number} ${order.status_key}`).join(', '))
        return moods[state.mood] ?? 'hang'
      }
      await pass(state, 1_000)
      // Nothing waits: they forget their failures.
      for (const name of processNames) await runners[name].run()
      await inTenant(pool, tenant, (tx: Tx) =>
        tx.client.query('delete from outbox_leases where tenant_id = $1', [tenant]),
      )
      arrived = []
      return state
    },
    steps: [
      books,
      moves,
      moves,
      queuesAgain,
      changes,
      changes,
      delivers,
      delivers,
      delivers,
      goesOn,
      goesOn,
      goesOn,
      passes,
      passes,
    ],
    check,
    end: async (state: State) => {
      state.mood = 'works'
      for (const name of processNames) {
        const { stopped } = state.processes[name]
        if (!stopped) continue
        goOn(state, name, stopped)
        await runners[name].wake()
      }
      await pass(state, 1_000)
      work(state, 'A')
      await runners.A.run()
      await check(state)
      expectSame('outbox in the end', state.rows, [])
      expectSame(
        'never arrived',
        state.happened.filter(event => !state.got.has(event)),
        [],
      )
    },
  }
}

const tenant = 'demo'
