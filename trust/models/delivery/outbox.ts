import type { Reaction } from '../../../services/orders/test/receiver.ts'
import {
  beginChannel,
  type Channel,
  type Drain,
  isFresh,
  isHeldElsewhere,
  orderEvent,
  type ProcessName,
  type Rules,
  type World,
} from './model.ts'

/** The notifier's reaction to a request. After a lost response nobody knows that the events are there. */
export const notifierMoods: Record<string, Reaction> = {
  works: 'acknowledge',
  'loses its responses': 'lose',
  'is away': 'cut',
  refuses: 422,
  fails: 500,
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
  /** The number of failures in a row. */
  failures: number
  until: number
}
const none: Backoff = { failures: 0, until: 0 }

/** The events of one tenant that wait for the notifier: each is delivered until it is acknowledged, in their order. */
export interface Outbox extends Channel<Sending> {
  /** The unacknowledged events, oldest first. */
  rows: Row[]
  /** The time since which the notifier does not know the tenant; nothing is sent before the lease ends. */
  unknownSince: number | undefined
  backoffs: Record<ProcessName, Backoff>
}

export const outboxLeaseSeconds = 20

export const beginOutbox = (world: World): Outbox => ({
  ...beginChannel(world),
  rows: [],
  unknownSince: undefined,
  backoffs: { A: none, B: none },
})

const isSuspended = ({ unknownSince, lease, world }: Outbox): boolean =>
  unknownSince !== undefined && lease !== undefined && lease.until > world.now

const acquireLease = (outbox: Outbox, holder: ProcessName): void => {
  outbox.lease = { holder, until: outbox.world.now + outboxLeaseSeconds }
}

export const outboxRules: Rules<Outbox, Sending> = {
  happen: (outbox, orders) => {
    outbox.rows.push(orders.map(orderEvent))
  },
  /** A process forgets the failures of a tenant without waiting events. */
  mayWork: (outbox, name) => {
    const isWaiting = outbox.rows.length > 0 && !isSuspended(outbox)
    if (!isWaiting) outbox.backoffs[name] = none
    return isWaiting && !isHeldElsewhere(outbox, name) && outbox.backoffs[name].until <= outbox.world.now
  },
  /** A process reads one event alone of an unknown tenant, which shows if the tenant is known now. */
  acquire: (outbox, process) => {
    acquireLease(outbox, process)
    const { rows, unknownSince, world } = outbox
    const begun = { process, next: 'read', since: world.now } as const
    if (unknownSince === undefined) return { ...begun, due: rows.flat(), finished: [...rows] }
    const [first = []] = rows
    return { ...begun, due: first.slice(0, 1), finished: first.length === 1 ? [first] : [] }
  },
  /** Events read before may have been delivered meanwhile: then they arrive once more. */
  read: (outbox, drain) => {
    if (isFresh(outbox, drain, outboxLeaseSeconds)) return
    if (isHeldElsewhere(outbox, drain.process)) drain.due = []
    else acquireLease(outbox, drain.process)
  },
  send: (outbox, drain) => {
    if (drain.due.length === 0) return
    drain.mood = outbox.mood
    outbox.requests.push(drain.due.join(', '))
  },
  store: (outbox, { process, due, finished, mood }) => {
    if (due.length === 0) return
    // Acknowledged events may be deleted, whoever holds the lease.
    if (mood === 'works') outbox.rows = outbox.rows.filter(row => !finished.includes(row))
    const isFailure = mood !== 'works' && mood !== 'does not know the tenant'
    outbox.backoffs[process] = isFailure ? backOff(outbox, process) : none
    if (outbox.lease?.holder !== process) return
    if (isFailure) outbox.lease.until = outbox.world.now
    else if (mood === 'works') Object.assign(outbox, { lease: undefined, unknownSince: undefined })
    else suspend(outbox)
  },
}

const backOff = ({ world: { now, random }, backoffs }: Outbox, process: ProcessName): Backoff => {
  const failures = backoffs[process].failures + 1
  return { failures, until: now + Math.min(30, 0.5 * 2 ** (failures - 1)) * (1 - random / 2) }
}

/** Suspends delivery for as long as the tenant has been unknown, up to five minutes. */
const suspend = (outbox: Outbox): void => {
  const { now, random } = outbox.world
  outbox.unknownSince ??= now
  const seconds = Math.min(300, Math.max(1, now - outbox.unknownSince))
  outbox.lease = { holder: 'nobody', until: now + seconds * (1 - random / 2) }
}
