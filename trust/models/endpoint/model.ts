import {
  beginDeliveries,
  type DeliveryState,
  type Drain,
  isFresh,
  isHeldElsewhere,
  orderEvent,
  type Rules,
} from '../delivery/model.ts'
import { activate, downAfter, type Endpoint, type Event, type Response, settle, waitingIn } from './settle.ts'

interface Sending extends Drain<Event> {
  url: number
  limit: number
  responses: Response[]
}

/** One endpoint of a merchant: docs/merchants/webhooks.md. */
export interface State extends Endpoint, DeliveryState<Sending> {
  /** The number of changes of its address. */
  url: number
}

type Mood = { status: number; isLost?: true; retryAfter?: number }

/** The endpoint's reaction to a request. After a lost response nobody knows that it accepted the event. */
export const moods: Record<string, Mood> = {
  ...{ works: { status: 204 }, refuses: { status: 400 }, fails: { status: 500 } },
  ...{ 'loses its responses': { status: 204, isLost: true }, 'is away': { status: 503, isLost: true } },
  ...{ 'is gone': { status: 410 }, 'is busy for ten minutes': { status: 429, retryAfter: 600 } },
  'refuses one waybill': { status: 204 },
}
export const reactionTo = ({ mood, orders }: State, waybill: string): Mood => {
  const isRefused = mood === 'refuses one waybill' && waybill === orders[0]?.waybill
  return (isRefused ? moods.refuses : moods[mood]) as Mood
}

export const leaseSeconds = 22

export const begin = (now: number, random: number): State => ({
  ...beginDeliveries(now, random),
  ...{ url: 0, events: [], disabled: null, failures: 0, fewestFailures: 0, failingSince: undefined, retryAt: 0 },
})

const dueOf = (state: State): Event[] => waitingIn(state).filter(({ dueAt = 0 }) => dueAt <= state.now)

export const rules: Rules<State, Sending> = {
  receiver: 'endpoint',
  happen: ({ events }, orders) => {
    const fresh = { state: undefined, attempts: 0, code: null, dueAt: undefined, isAccepted: false }
    events.push(...orders.map(order => ({ ...order, ...fresh, others: [] })))
  },
  mayWork: (state, name) =>
    state.disabled === null &&
    state.retryAt <= state.now &&
    !isHeldElsewhere(state, name) &&
    (dueOf(state).length > 0 || state.events.some(event => event.state === undefined)),
  acquire: (state, process) => {
    const { now, url, failures } = state
    state.lease = { holder: process, until: now + leaseSeconds }
    const limit = failures < downAfter ? 256 : 1
    return { process, next: 'read', since: now, due: [], url, limit, responses: [] }
  },
  /** Adds the new events of the feed. Without the lease it sends nothing, unless it cannot know that. */
  read: (state, drain) => {
    const isHolder = state.lease?.holder === drain.process
    if (isHolder) for (const event of state.events) event.state ??= 'pending'
    if (isHolder) activate(state)
    if (isHolder || isFresh(state, drain, leaseSeconds)) drain.due = dueOf(state).slice(0, drain.limit)
  },
  send: (state, { due, url, responses }) => {
    for (const event of due) {
      const { status, isLost, retryAfter = 0 } = reactionTo(state, event.waybill)
      state.requests.push(`${orderEvent(event)} to ${url}`)
      if (status === 204) event.isAccepted = true
      responses.push({ event, code: isLost ? null : status, retryAfter })
    }
  },
  /** Only responses to the holder of the lease count. */
  store: (state, { process, responses }) => {
    if (state.lease?.holder !== process) return
    if (responses.length > 0 && state.disabled === null) settle(state, responses)
    state.lease = undefined
  },
}

export type Verb = 'enables' | 'disables' | 'moves'
/** Applies a merchant's change: the endpoint begins anew, and events that waited for another attempt are due. */
export const change = (state: State, verb: Verb): void => {
  if (verb === 'moves') state.url++
  else state.disabled = verb === 'enables' ? null : (state.disabled ?? 'merchant')
  Object.assign(state, { failures: 0, fewestFailures: 0, failingSince: undefined, retryAt: 0, lease: undefined })
  if (state.disabled === null)
    for (const event of waitingIn(state)) Object.assign(event, { dueAt: state.now, attempts: 0 })
}

/** Fails all but one of the attempts of three days. */
export const tire = (state: State): void => {
  for (const event of waitingIn(state)) if (event.attempts > 0) Object.assign(event, { attempts: 9, dueAt: state.now })
}
