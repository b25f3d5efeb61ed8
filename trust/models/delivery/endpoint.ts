import {
  beginChannel,
  type Channel,
  type Drain,
  isFresh,
  isHeldElsewhere,
  type Order,
  orderEvent,
  type Rules,
  type World,
} from './model.ts'

interface Event extends Order {
  /** undefined: it is in the feed, no process has read it yet. */
  state: 'pending' | 'delivered' | 'failed' | undefined
  attempts: number
  code: number | null
  /** undefined: not before an earlier one of its waybill. */
  dueAt: number | undefined
}

interface Sending extends Drain<Event> {
  url: number
  limit: number
  sent: number
  /** null: the response was lost. */
  response: { event: Event; code: number | null; retryAfter: number } | undefined
}

/** One endpoint of a merchant: docs/merchants/webhooks.md. */
export interface Endpoint extends Channel<Sending> {
  /** The number of changes of its address. */
  url: number
  events: Event[]
  disabled: string | null
  /** The number of failures in a row. */
  failures: number
  failingSince: number | undefined
  /** The endpoint gets nothing before. */
  retryAt: number
}

type Mood = { status: number; isLost?: true; retryAfter?: number }

/** The endpoint's reaction to a request. After a lost response nobody knows that it accepted the event. */
export const endpointMoods: Record<string, Mood> = {
  works: { status: 204 },
  refuses: { status: 400 },
  fails: { status: 500 },
  'loses its responses': { status: 204, isLost: true },
  'is away': { status: 503, isLost: true },
  'is gone': { status: 410 },
  'is busy for ten minutes': { status: 429, retryAfter: 600 },
  'refuses one waybill': { status: 204 },
}
export const reactionTo = ({ mood, world: { orders } }: Endpoint, waybill: string): Mood => {
  const isRefused = mood === 'refuses one waybill' && waybill === orders[0]?.waybill
  return (isRefused ? endpointMoods.refuses : endpointMoods[mood]) as Mood
}

export const endpointLeaseSeconds = 22
const [minute, hour, day] = [60, 3_600, 86_400]
/** The delays after the first attempt, the second and so on: docs/merchants/webhooks.md. */
const delays = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
/** This many failures in a row bring an endpoint down. */
const downAfter = 5

export const beginEndpoint = (world: World): Endpoint => ({
  ...beginChannel(world),
  url: 0,
  events: [],
  disabled: null,
  failures: 0,
  failingSince: undefined,
  retryAt: 0,
})

const waitingIn = ({ events }: Endpoint): Event[] => events.filter(({ dueAt }) => dueAt !== undefined)
const dueIn = (endpoint: Endpoint): Event[] =>
  waitingIn(endpoint).filter(({ dueAt = 0 }) => dueAt <= endpoint.world.now)

export const endpointRules: Rules<Endpoint, Sending> = {
  happen: ({ events }, orders) => {
    const fresh = { state: undefined, attempts: 0, code: null, dueAt: undefined }
    events.push(...orders.map(order => ({ ...order, ...fresh })))
  },
  mayWork: (endpoint, name) =>
    endpoint.disabled === null &&
    endpoint.retryAt <= endpoint.world.now &&
    !isHeldElsewhere(endpoint, name) &&
    (dueIn(endpoint).length > 0 || endpoint.events.some(event => event.state === undefined)),
  acquire: (endpoint, process) => {
    const { url, failures } = endpoint
    const { now } = endpoint.world
    endpoint.lease = { holder: process, until: now + endpointLeaseSeconds }
    const limit = failures < downAfter ? 256 : 1
    return { process, next: 'read', since: now, due: [], url, limit, sent: 0, response: undefined }
  },
  /** Adds the new events of the feed. Without the lease it sends nothing, unless it cannot know that. */
  read: (endpoint, drain) => {
    const isHolder = endpoint.lease?.holder === drain.process
    if (isHolder) for (const event of endpoint.events) event.state ??= 'pending'
    if (isHolder) activate(endpoint)
    if (isHolder || isFresh(endpoint, drain, endpointLeaseSeconds)) drain.due = dueIn(endpoint).slice(0, drain.limit)
  },
  send: (endpoint, drain) => {
    const event = drain.due[drain.sent++]
    if (!event) return
    const { status, isLost, retryAfter = 0 } = reactionTo(endpoint, event.waybill)
    endpoint.requests.push(`${orderEvent(event)} to ${drain.url}`)
    drain.response = { event, code: isLost ? null : status, retryAfter }
  },
  /** Only responses to the holder of the lease count. The requests that began with the first go on. */
  store: (endpoint, drain) => {
    const isHolder = endpoint.lease?.holder === drain.process
    if (isHolder && drain.response && endpoint.disabled === null) settle(endpoint, drain.response)
    if (drain.sent < drain.due.length) {
      endpointRules.send(endpoint, drain)
      endpointRules.store(endpoint, drain)
    } else if (isHolder) endpoint.lease = undefined
  },
}

/** Makes the first event of each waybill due now, unless it was due before; the others wait for it. */
const activate = ({ events, world: { now } }: Endpoint): void => {
  const waybills = new Set<string>()
  for (const event of events.filter(({ state }) => state === 'pending')) {
    event.dueAt = waybills.has(event.waybill) ? undefined : (event.dueAt ?? now)
    waybills.add(event.waybill)
  }
}

const settle = (endpoint: Endpoint, { event, code, retryAfter }: NonNullable<Sending['response']>): void => {
  const { failures, failingSince, retryAt } = endpoint
  const { now, random } = endpoint.world
  const jittered = (seconds: number): number => seconds * (0.9 + random / 5)
  // Failures of requests that were in flight when it was paused do not count again.
  endpoint.failures = code === 204 ? 0 : failures + (retryAt > now ? 0 : 1)
  endpoint.failingSince = endpoint.failures > 0 ? (failingSince ?? now) : undefined
  const isDown = endpoint.failures >= downAfter
  const delay = delays[event.attempts] ?? (isDown ? day : undefined)
  Object.assign(event, { attempts: event.attempts + 1, code, dueAt: undefined })
  if (code === 204) event.state = 'delivered'
  else if (delay === undefined) event.state = 'failed'
  else event.dueAt = now + Math.max(jittered(delay), retryAfter)
  activate(endpoint)
  if (failures >= downAfter && endpoint.failures === 0)
    for (const waiting of waitingIn(endpoint)) waiting.dueAt = Math.min(waiting.dueAt ?? now, now)
  const pause = isDown ? jittered(Math.min(5 * minute, 5 * 2 ** (endpoint.failures - downAfter))) : 0
  if (pause > 0 || retryAfter > 0) endpoint.retryAt = Math.max(retryAt, now + Math.max(pause, retryAfter))
  if (code === 410) endpoint.disabled = 'gone'
  else if (endpoint.failures > 0 && failingSince !== undefined && failingSince <= now - 5 * day)
    endpoint.disabled = 'failing'
}

/** Shows the endpoint as the merchant sees it, with its failures in a row. */
export const showEndpoint = ({ disabled, failures, failingSince, events }: Endpoint) => ({
  endpoint: { disabled, failures, failingSince },
  deliveries: events
    .filter(({ state }) => state !== undefined)
    .map(({ waybill, status, state, attempts, code, dueAt }) => {
      const tenths = dueAt === undefined ? undefined : Math.round(dueAt * 10) / 10
      return { event: orderEvent({ waybill, status }), state, attempts, code, dueAt: tenths }
    }),
})

export type Verb = 'enables' | 'disables' | 'moves'
/** Applies a merchant's change: the endpoint begins anew, and events that waited for another attempt are due. */
export const change = (endpoint: Endpoint, verb: Verb): void => {
  if (verb === 'moves') endpoint.url++
  else endpoint.disabled = verb === 'enables' ? null : (endpoint.disabled ?? 'merchant')
  Object.assign(endpoint, { failures: 0, failingSince: undefined, retryAt: 0, lease: undefined })
  if (endpoint.disabled === null)
    for (const event of waitingIn(endpoint)) Object.assign(event, { dueAt: endpoint.world.now, attempts: 0 })
}

/** Fails all but one of the attempts of three days. */
export const tire = (endpoint: Endpoint): void => {
  const { now } = endpoint.world
  for (const event of waitingIn(endpoint)) if (event.attempts > 0) Object.assign(event, { attempts: 9, dueAt: now })
}
