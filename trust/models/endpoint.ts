import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import fc from 'fast-check'
import { pino } from 'pino'
import type { Tx } from '../../services/orders/database/tables.ts'
import { webhookKeyring } from '../../services/orders/test/build.ts'
import { type Reaction, startWebhookReceiver } from '../../services/orders/test/webhook-receiver.ts'
import { createAgent } from '../../services/orders/webhooks/addresses.ts'
import { type EndpointKey, findWaiting } from '../../services/orders/webhooks/delivery-queries.ts'
import { drainEndpoint } from '../../services/orders/webhooks/drain-endpoint.ts'
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

/** What the endpoint does with a request. Of a lost response nobody knows that it accepted the event. */
const moods: Record<string, Reaction> = {
  ...{ works: {}, refuses: { status: 400 }, fails: { status: 500 }, 'loses its responses': { isLost: true } },
  ...{ 'is away': { status: 503, isLost: true }, 'is gone': { status: 410 } },
  'is busy for ten minutes': { status: 429, headers: { 'retry-after': '600' } },
  'refuses one waybill': {},
}

interface Event {
  waybill: string
  status: string
  /** undefined: it is in the feed, no process has looked yet. */
  state: 'pending' | 'delivered' | 'failed' | undefined
  attempts: number
  code: number | null
  /** undefined: not before an earlier one of its waybill. */
  dueAt: number | undefined
  isAccepted: boolean
  /** What may be as well: it depends on which of several outcomes was stored first. */
  other?: Pick<Event, 'state' | 'attempts' | 'code' | 'dueAt'> | undefined
}

interface Response {
  event: Event
  code: number | null
  retryAfter: number
}

/** What a process does when it goes on. */
interface Stopped {
  at: Stop
  since: number
  limit: number
  url: number
  due: Event[]
  responses: Response[]
}

/** Times are in seconds. */
interface State {
  now: number
  random: number
  id: string
  mood: string
  /** How often its address was changed. */
  url: number
  orders: Order[]
  events: Event[]
  disabled: string | null
  failures: number
  failingSince: number | undefined
  /** It gets nothing before. */
  retryAt: number
  lease: { holder: ProcessName; until: number } | undefined
  stopped: Partial<Record<ProcessName, Stopped>>
  /** Since the last look. */
  requests: string[]
  /** Every event that a request brought, the first one first. */
  seen: string[]
}

const leaseSeconds = 22
const [minute, hour, day] = [60, 3_600, 86_400]
/** docs/webhooks.md: after the first attempt, the second and so on. */
const delays = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
const downAfter = 5

const nameOf = ({ waybill, status }: { waybill: string; status: string }): string => `${waybill} ${status}`
/** The first one of each waybill is due now, if it was not before; the others wait for it. */
const activate = ({ events, now }: State): void => {
  for (const event of events.filter(({ state }) => state === 'pending')) {
    const isFirst = events.find(({ waybill, state }) => waybill === event.waybill && state === 'pending') === event
    event.dueAt = isFirst ? (event.dueAt ?? now) : undefined
  }
}
const isPending = ({ state }: Event): boolean => state === 'pending'
const dueOf = ({ events, now }: State): Event[] =>
  events.filter(event => isPending(event) && event.dueAt !== undefined && event.dueAt <= now)
const jittered = ({ random }: State, seconds: number): number => seconds * (0.9 + random / 5)

const respond = (state: State, event: Event): Response => {
  const isRefused = state.mood === 'refuses one waybill' && event.waybill === state.orders[0]?.waybill
  const { status = 204, headers, isLost } = isRefused ? { status: 400 } : (moods[state.mood] as Reaction)
  state.requests.push(`${nameOf(event)} to ${state.url}`)
  if (status < 300) event.isAccepted = true
  return {
    event,
    code: isLost ? null : status,
    retryAfter: Number((headers as object & { 'retry-after'?: string })?.['retry-after'] ?? 0),
  }
}

/** What comes of responses. */
const settle = (state: State, responses: readonly Response[]): void => {
  const { now } = state
  const wasDown = state.failures >= downAfter
  const failed = responses.filter(({ code }) => code !== 204)
  const further = state.retryAt > now ? 0 : failed.length
  const isOver = state.failingSince !== undefined && state.failingSince <= now - 5 * day
  // Many at once bring it down, no further.
  state.failures =
    failed.length < responses.length ? 0 : Math.min(state.failures + further, Math.max(state.failures + 1, downAfter))
  const isDown = state.failures >= downAfter
  const before = responses.map(({ event: { state, attempts, code, dueAt } }) => ({ state, attempts, code, dueAt }))
  for (const { event, code, retryAfter } of responses) {
    event.attempts++
    event.code = code
    const delay = delays[event.attempts - 1] ?? (isDown ? day : undefined)
    event.state = code === 204 ? 'delivered' : delay === undefined ? 'failed' : 'pending'
    event.dueAt = event.state === 'pending' ? now + Math.max(jittered(state, delay ?? 0), retryAfter) : undefined
  }
  // The one that brings it down was not given up; those before it were.
  if (isDown && !wasDown)
    for (const { event } of responses)
      if (event.attempts > delays.length)
        event.other = { state: 'failed', attempts: event.attempts, code: event.code, dueAt: undefined }
  activate(state)
  if (wasDown && state.failures === 0)
    for (const event of state.events) if (event.dueAt !== undefined) event.dueAt = Math.min(event.dueAt, now)
  const pause = isDown ? jittered(state, Math.min(5 * minute, 5 * 2 ** (state.failures - downAfter))) : 0
  const wait = Math.max(pause, ...responses.map(({ retryAfter }) => retryAfter))
  if (wait > 0) state.retryAt = Math.max(state.retryAt, now + wait)
  state.failingSince = state.failures > 0 ? (state.failingSince ?? now) : undefined
  if (failed.some(({ code }) => code === 410)) state.disabled = 'gone'
  else if (state.failures > 0 && isOver) state.disabled = 'failing'
  // What comes when another one has disabled it is not stored.
  if (state.disabled !== null && responses.length > 1)
    for (const [index, { event }] of responses.entries()) event.other = before[index]
}

/** What the holder of the lease learns counts, and nobody else's. */
const store = (state: State, name: ProcessName, responses: readonly Response[]): void => {
  if (state.lease?.holder !== name) return
  if (responses.length > 0 && state.disabled === null) settle(state, responses)
  state.lease = undefined
}
const addNew = (state: State): void => {
  for (const event of state.events) event.state ??= 'pending'
  activate(state)
}
const mayWork = ({ disabled, retryAt, lease, now, events, ...rest }: State, name: ProcessName): boolean =>
  disabled === null &&
  retryAt <= now &&
  !(lease && lease.holder !== name && lease.until > now) &&
  (events.some(({ state }) => state === undefined) || dueOf({ events, now, ...rest } as State).length > 0)

/** A process delivers until there is nothing to do for it, or until it stops. */
const work = (state: State, name: ProcessName, stop?: Stop): void => {
  while (mayWork(state, name)) {
    const { now, url, failures } = state
    state.lease = { holder: name, until: now + leaseSeconds }
    const limit = failures >= downAfter ? 1 : 256
    const stopped: Stopped = { at: stop ?? 'read', since: now, limit, url, due: [], responses: [] }
    if (stop !== 'read') addNew(state)
    if (stop !== 'read') stopped.due = dueOf(state).slice(0, limit)
    if (stop !== 'send') stopped.responses = stopped.due.map(event => respond(state, event))
    if (stop === 'read' || (stop && stopped.due.length > 0)) {
      state.stopped[name] = stopped
      return
    }
    store(state, name, stopped.responses)
  }
}
const goOn = (state: State, name: ProcessName, stopped: Stopped): void => {
  delete state.stopped[name]
  const isHolder = state.lease?.holder === name
  const { at, since, limit, due, responses } = stopped
  if (at === 'store') store(state, name, responses)
  else {
    if (at === 'read' && isHolder) addNew(state)
    const isFresh = state.now - since < leaseSeconds / 2
    // Without the lease nothing more is sent, unless it cannot know that.
    const goes = at === 'send' ? due : isHolder || isFresh ? dueOf(state).slice(0, limit) : []
    const current = state.url
    state.url = stopped.url
    const got = goes.map(event => respond(state, event))
    state.url = current
    store(state, name, got)
  }
  work(state, name)
}

/** Of outcomes of both kinds the one that is stored first would decide whether the endpoint is down. */
const isUnclear = (mood: string, failures: number): boolean =>
  mood === 'refuses one waybill' && failures >= downAfter - 1

const number = fc.nat(1_000)
const processName = fc.constantFrom(...processNames)

export const endpoint: CreateModel = async t => {
  const { base, app, setTime, book, next, move, poolOf, token, rows } = await stoppedOrders(t)
  const receiver = await startWebhookReceiver(t)
  let arrived: string[] = []
  let now = 0

  const start = (): Runner<EndpointKey> => {
    const gate = new Gate()
    const agent = createAgent(undefined)
    t.teardown(() => agent.destroy())
    const dispatcher = agent.compose(dispatch => (request, handler) => {
      gate.pass('request').then(() => dispatch(request, handler))
      return true
    })
    const own = poolOf()
    const options = {
      ...{ pool: own, logger: pino({ level: 'silent' }), keyring: webhookKeyring, dispatcher, allowsPrivate: true },
      ...{ holder: randomUUID(), leaseSeconds, isStopping: () => false, onAttempt: () => {} },
      ...{ aborted: new AbortController().signal, clock: async () => new Date() },
    }
    return createProcess<EndpointKey>(
      {
        pool: own,
        findWaiting: () => inAllTenants(own, (tx: Tx) => findWaiting(tx, options.holder)),
        drain: key => drainEndpoint(options, key),
        idOf: ({ endpointId }) => endpointId,
      },
      gate,
    )
  }
  const runners = { A: start(), B: start() }
  const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => {
    const headers = { 'x-tenant': 'demo', authorization: `Bearer ${token}` }
    const url = `/api/public/merchant/webhook${path}`
    const response = await app.inject({ method, url, headers, ...(body && { payload: body }) })
    if (response.statusCode > 299) throw new Error(`${method} ${path}: ${response.body}`)
    return response.json().data
  }

  const happen = (state: State, orders: readonly Order[]): void => {
    const made = { state: undefined, attempts: 0, code: null, dueAt: undefined, isAccepted: false }
    state.events.push(...orders.map(order => ({ ...order, ...made })))
  }
  const books = fc.constantFrom(1, 1, 2).map(
    (count): Step<State> => ({
      isPossible: ({ orders }) => orders.length < 5,
      text: () => `merchant books ${count}`,
      run: async state => {
        const made = await book(count)
        state.orders.push(...made)
        happen(state, made)
        return made.map(({ waybill }) => waybill).join(', ')
      },
    }),
  )
  const moves = fc.record({ which: number, to: number }).map(
    ({ which, to }): Step<State> => ({
      isPossible: ({ orders }) => orders.some(order => next(order, to)),
      text: () => 'staff moves',
      run: async state => {
        const order = pick(
          state.orders.filter(order => next(order, to)),
          which,
        )
        order.status = next(order, to) as string
        expectSame('status', (await move([order.waybill], order.status)).status, 200)
        happen(state, [order])
        return nameOf(order)
      },
    }),
  )
  const changes = fc.constantFrom('works', 'works', 'works', ...Object.keys(moods)).map(
    (mood): Step<State> => ({
      isPossible: ({ failures }) => mood !== 'refuses one waybill' || failures === 0,
      text: () => `the endpoint ${mood}`,
      run: async state => {
        state.mood = mood
        return 'from now on'
      },
    }),
  )
  const isPatched = fc.constantFrom('enables', 'disables', 'moves').map(
    (verb): Step<State> => ({
      text: () => `the merchant ${verb} the endpoint`,
      run: async state => {
        if (verb === 'moves') state.url++
        else state.disabled = verb === 'enables' ? null : (state.disabled ?? 'merchant')
        await call(
          'PATCH',
          `/${state.id}`,
          verb === 'moves' ? { url: `${receiver.url}&n=${state.url}` } : { state: `${verb.slice(0, -1)}d` },
        )
        Object.assign(state, { failures: 0, failingSince: undefined, retryAt: 0, lease: undefined })
        if (state.disabled === null)
          for (const event of state.events.filter(({ dueAt }) => dueAt !== undefined))
            Object.assign(event, { dueAt: state.now, attempts: 0 })
        return 'done'
      },
    }),
  )
  /** Instead of three days. */
  const isTired = fc.constant<Step<State>>({
    isPossible: ({ events }) => events.some(({ attempts, dueAt }) => attempts > 0 && dueAt !== undefined),
    text: () => 'what failed has failed nine times',
    run: async state => {
      await rows(
        `update webhook_deliveries set attempts = 9, next_attempt_at = to_timestamp($2)
        where endpoint_id = $1 and state = 'pending' and attempts > 0 and next_attempt_at is not null`,
        [state.id, base / 1000 + state.now],
      )
      for (const event of state.events)
        if (event.attempts > 0 && event.dueAt !== undefined) Object.assign(event, { attempts: 9, dueAt: state.now })
      return 'done'
    },
  })
  const delivers = fc.record({ name: processName, stop: fc.option(fc.constantFrom(...stops), { freq: 2 }) }).map(
    ({ name, stop }): Step<State> => ({
      isPossible: ({ stopped, mood, failures }) => !stopped[name] && !isUnclear(mood, failures),
      text: () => `process ${name} delivers${stop ? ` and stops before it can ${stop}` : ''}`,
      run: async state => {
        work(state, name, stop ?? undefined)
        expectSame('it stopped', await runners[name].run(stop ?? undefined), state.stopped[name] !== undefined)
        return state.requests.join('; ') || 'nothing'
      },
    }),
  )
  const goesOn = processName.map(
    (name): Step<State> => ({
      isPossible: ({ stopped }) => stopped[name] !== undefined,
      text: () => `process ${name} goes on`,
      run: async state => {
        const stopped = state.stopped[name]
        if (stopped) goOn(state, name, stopped)
        await runners[name].wake()
        return state.requests.join('; ') || 'nothing'
      },
    }),
  )
  const pass = async (state: State, seconds: number): Promise<void> => {
    now = Math.round((now + seconds) * 10) / 10
    state.now = now
    await setTime(now)
  }
  const passes = fc.constantFrom(6.3, 6.3, 23.1, 371.7, 7_233.3, 91_111.1).map(
    (seconds): Step<State> => ({
      isPossible: ({ mood }) => mood !== 'refuses one waybill' || seconds < day,
      text: () => `${seconds} seconds pass`,
      run: async state => {
        await pass(state, seconds)
        return 'done'
      },
    }),
  )

  const check = async (state: State): Promise<void> => {
    const settled = () => arrived.length >= state.requests.length
    for (let tries = 0; tries < 200 && !settled(); tries++) await delay(10)
    expectSame('requests', arrived.toSorted(), state.requests.toSorted())
    for (const request of arrived) state.seen.push(request.replace(/ to .*/, ''))
    Object.assign(state, { requests: [] })
    arrived = []
    const [list, found] = await Promise.all([call('GET', `/${state.id}/deliveries?limit=100`), call('GET', '')])
    const secondsOf = (time: string | null) => time && Math.round(Date.parse(time) / 100 - base / 100) / 10
    const shown = found[0]
    // Of a success and a failure at once either may be the last one.
    if (state.mood === 'refuses one waybill' && state.failures < 2) {
      state.failures = shown.failing_since === null ? 0 : 1
      state.failingSince = shown.failing_since === null ? undefined : (state.failingSince ?? state.now)
    }
    adopt(state, list)
    const { disabled, failingSince = null } = state
    expectSame('endpoint', [shown.disabled_reason, secondsOf(shown.failing_since)], [disabled, failingSince])
    const events = state.events.filter(event => event.state !== undefined)
    expectSame(
      'deliveries',
      list.map(deliveryOf(secondsOf)).toReversed(),
      events.map(event => {
        const { state, attempts, code, dueAt } = event
        return [nameOf(event), state, attempts, code, dueAt === undefined ? null : Math.round(dueAt * 10) / 10]
      }),
    )
    expectInOrder(state)
  }

  return {
    settings: fc.record({ random: fc.constantFrom(0, 0.5, 0.9) }),
    begin: async ({ random }) => {
      for (const name of processNames) await runners[name].wake()
      for (const { id } of await call('GET', '')) await call('DELETE', `/${id}`)
      Math.random = () => random
      const { id, secret } = await call('POST', '', { url: `${receiver.url}&n=0` })
      const state: State = {
        ...{ now, random, id, mood: 'works', url: 0, orders: [], events: [], disabled: null, failures: 0, retryAt: 0 },
        ...{ failingSince: undefined, lease: undefined, stopped: {}, requests: [], seen: [] },
      }
      receiver.secret = secret
      arrived = []
      receiver.react = ({ waybill, body, path }) => {
        arrived.push(`${waybill} ${body.data.status.key} to ${/\d+$/.exec(path)}`)
        const isRefused = state.mood === 'refuses one waybill' && waybill === state.orders[0]?.waybill
        return isRefused ? { status: 400 } : (moods[state.mood] as Reaction)
      }
      await pass(state, 1_000)
      return state
    },
    steps: [
      ...[books, moves, moves, moves, changes, changes, isPatched, isTired, passes, passes, passes],
      ...[delivers, delivers, delivers, delivers, goesOn, goesOn, goesOn],
    ],
    check,
    end: async (state: State) => {
      state.mood = 'works'
      for (const name of processNames) {
        const stopped = state.stopped[name]
        if (!stopped) continue
        goOn(state, name, stopped)
        await runners[name].wake()
        await check(state)
      }
      state.disabled = null
      await call('PATCH', `/${state.id}`, { state: 'enabled' })
      Object.assign(state, { failures: 0, failingSince: undefined, retryAt: 0, lease: undefined })
      for (const event of state.events.filter(({ dueAt }) => dueAt !== undefined))
        Object.assign(event, { dueAt: state.now, attempts: 0 })
      work(state, 'A')
      await runners.A.run()
      await check(state)
      const lost = state.events.filter(
        event => event.state !== 'failed' && !(event.isAccepted && event.state === 'delivered'),
      )
      expectSame('not delivered', lost.map(nameOf), [])
      expectSame('forged', receiver.forged, 0)
    },
  }
}

const adopt = (state: State, rows: readonly Row[]): void => {
  for (const event of state.events) {
    const { other } = event
    const row = rows.find(each => keyOf(each) === nameOf(event))
    if (other && row?.state === other.state && row?.attempts === other.attempts) Object.assign(event, other)
    event.other = undefined
  }
  activate(state)
}

interface Row {
  waybill_number: string
  state: string
  attempts: number
  code: number | null
  next_attempt_at: string | null
  body: { data: { status: { key: string } } }
}
const keyOf = ({ waybill_number, body }: Row): string => `${waybill_number} ${body.data.status.key}`

const deliveryOf = (secondsOf: (time: string | null) => unknown) => (row: Row) => [
  keyOf(row),
  ...[row.state, row.attempts, row.code, secondsOf(row.next_attempt_at)],
]

/** Nothing is first sent before what happened earlier to the same waybill was accepted or given up. */
const expectInOrder = ({ orders, events, seen }: State): void => {
  for (const { waybill } of orders) {
    const of = (names: readonly string[]) => [...new Set(names)].filter(name => name.startsWith(waybill))
    const first = of(seen)
    expectSame(`first arrivals of ${waybill}`, first, of(events.map(nameOf)).slice(0, first.length))
  }
}
