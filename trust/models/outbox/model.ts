import type { Reaction } from '../../../services/orders/test/receiver.ts'
import {
  beginDeliveries,
  type DeliveryState,
  type Drain,
  isFresh,
  isHeldElsewhere,
  orderEvent,
  type ProcessName,
  type Rules,
} from '../delivery/model.ts'

/** The notifier's reaction to a request. After a lost response nobody knows that the events are there. */
export const moods: Record<string, Reaction> = {
  ...{ works: 'acknowledge', 'loses its responses': 'lose', 'is away': 'cut', refuses: 422, fails: 500 },
  'does not know the tenant': 'unknown',
}

/** The events of one change. */
type Row = string[]

interface Sending extends Drain<string> {
  /** The rows that are delivered completely. */
  finished: Row[]
  mood?: string
}

interface Backoff {
  /** In a row. */
  failures: number
  until: number
}
const none: Backoff = { failures: 0, until: 0 }

/** The events of one tenant that wait for the notifier: each is delivered until it is acknowledged, in their order. */
export interface State extends DeliveryState<Sending> {
  /** The unacknowledged events, oldest first. */
  rows: Row[]
  /** The time since which the notifier does not know the tenant; nothing is sent before the lease ends. */
  unknownSince: number | undefined
  backoffs: Record<ProcessName, Backoff>
  /** All events in their order, and those that the notifier has. */
  happened: string[]
  got: Set<string>
}

export const leaseSeconds = 20

export const begin = (now: number, random: number): State => ({
  ...beginDeliveries(now, random),
  ...{ rows: [], unknownSince: undefined, backoffs: { A: none, B: none }, happened: [], got: new Set() },
})

const isSuspended = ({ unknownSince, lease, now }: State): boolean =>
  unknownSince !== undefined && lease !== undefined && lease.until > now

const acquireLease = (state: State, holder: ProcessName): void => {
  state.lease = { holder, until: state.now + leaseSeconds }
}

export const rules: Rules<State, Sending> = {
  receiver: 'notifier',
  happen: (state, orders) => {
    const row = orders.map(orderEvent)
    state.rows.push(row)
    state.happened.push(...row)
  },
  /** A process forgets the failures of a tenant without waiting events. */
  mayWork: (state, name) => {
    const isWaiting = state.rows.length > 0 && !isSuspended(state)
    if (!isWaiting) state.backoffs[name] = none
    return isWaiting && !isHeldElsewhere(state, name) && state.backoffs[name].until <= state.now
  },
  /** A process reads one event alone of an unknown tenant, which shows if the tenant is known now. */
  acquire: (state, process) => {
    acquireLease(state, process)
    const { rows, unknownSince, now } = state
    const begun = { process, next: 'read', since: now } as const
    if (unknownSince === undefined) return { ...begun, due: rows.flat(), finished: [...rows] }
    const [first = []] = rows
    return { ...begun, due: first.slice(0, 1), finished: first.length === 1 ? [first] : [] }
  },
  /** Events read before may have been delivered meanwhile: then they arrive once more. */
  read: (state, drain) => {
    if (isFresh(state, drain, leaseSeconds)) return
    if (isHeldElsewhere(state, drain.process)) drain.due = []
    else acquireLease(state, drain.process)
  },
  send: (state, drain) => {
    if (drain.due.length === 0) return
    drain.mood = state.mood
    state.requests.push(drain.due.join(', '))
    if (state.mood === 'works' || state.mood === 'loses its responses')
      for (const event of drain.due) state.got.add(event)
  },
  store: (state, { process, due, finished, mood }) => {
    if (due.length === 0) return
    // Acknowledged events may be deleted, whoever holds the lease.
    if (mood === 'works') state.rows = state.rows.filter(row => !finished.includes(row))
    const isFailure = mood !== 'works' && mood !== 'does not know the tenant'
    state.backoffs[process] = isFailure ? backOff(state, process) : none
    if (state.lease?.holder !== process) return
    if (isFailure) state.lease.until = state.now
    else if (mood === 'works') Object.assign(state, { lease: undefined, unknownSince: undefined })
    else suspend(state)
  },
}

const backOff = ({ now, random, backoffs }: State, process: ProcessName): Backoff => {
  const failures = backoffs[process].failures + 1
  return { failures, until: now + Math.min(30, 0.5 * 2 ** (failures - 1)) * (1 - random / 2) }
}

/** Suspends delivery for as long as the tenant has been unknown, up to five minutes. */
const suspend = (state: State): void => {
  const { now, random } = state
  state.unknownSince ??= now
  const seconds = Math.min(300, Math.max(1, now - state.unknownSince))
  state.lease = { holder: 'nobody', until: now + seconds * (1 - random / 2) }
}
