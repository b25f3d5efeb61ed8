import type { Reaction } from '../../../services/orders/test/receiver.ts'
import { type Drain, formatEvent, leaseSeconds, type Order, type ProcessName, Reader } from './model.ts'

/** Maps moods to the notifier's reaction. After a lost response nobody knows that the events arrived. */
export const notifierMoods: Record<string, Reaction> = {
  works: 'acknowledge',
  'loses its responses': 'lose',
  'is unreachable': 'cut',
  refuses: 422,
  fails: 500,
  'does not know the tenant': 'unknown',
}

/** Lists the events of one change. */
type Row = string[]

interface Sending extends Drain<string> {
  /** Lists the rows that this drain delivers completely. */
  finished: Row[]
  mood?: string
}

interface Backoff {
  /** Counts the failures in a row. */
  failures: number
  until: number
}
const none: Backoff = { failures: 0, until: 0 }

/** Models one tenant's events that wait for the notifier: they are delivered in order, until acknowledged. */
export class Outbox extends Reader<Sending> {
  readonly leaseSeconds = leaseSeconds.notifier
  /** Lists the unacknowledged events, oldest first. */
  rows: Row[] = []
  /** Holds the time since which the notifier does not know the tenant; nothing is sent before the lease ends. */
  unknownSince: number | undefined
  readonly backoffs: Record<ProcessName, Backoff> = { A: none, B: none }

  happen(orders: readonly Order[]): void {
    this.rows.push(orders.map(formatEvent))
  }

  /** Returns true if the process has work now. A process forgets the failures of a tenant without waiting events. */
  mayWork(name: ProcessName): boolean {
    const { rows, unknownSince, lease, world, backoffs } = this
    const isSuspended = unknownSince !== undefined && lease !== undefined && lease.until > world.now
    const isWaiting = rows.length > 0 && !isSuspended
    if (!isWaiting) backoffs[name] = none
    return isWaiting && backoffs[name].until <= world.now
  }

  /** Begins a drain. For an unknown tenant a process sends only the first event, to learn whether it is known now. */
  begin(drain: Drain<never>): Sending {
    if (this.unknownSince === undefined) return { ...drain, due: this.rows.flat(), finished: [...this.rows] }
    const [first = []] = this.rows
    return { ...drain, due: first.slice(0, 1), finished: first.length === 1 ? [first] : [] }
  }

  /** Renews an old lease, unless another process holds it. Another may have delivered the events: they arrive again. */
  read(drain: Sending): void {
    if (this.isFresh(drain)) return
    if (this.isHeldElsewhere(drain.process)) drain.due = []
    else this.hold(drain.process)
  }

  send(drain: Sending): void {
    if (drain.due.length === 0) return
    drain.mood = this.mood
    this.requests.push(drain.due.join(', '))
  }

  store(drain: Sending): void {
    const { process, due, finished, mood } = drain
    if (due.length === 0) return
    // Acknowledged events may be deleted, whoever holds the lease.
    if (mood === 'works') this.rows = this.rows.filter(row => !finished.includes(row))
    const isFailure = mood !== 'works' && mood !== 'does not know the tenant'
    this.backoffs[process] = isFailure ? this.#backOff(process) : none
    if (!this.isHeldBy(drain)) return
    if (isFailure) this.lease = { holder: process, until: this.world.now }
    else if (mood === 'works') this.lease = this.unknownSince = undefined
    else this.#suspend()
  }

  show(): Row[] {
    return this.rows
  }

  #backOff(process: ProcessName): Backoff {
    const { now, random } = this.world
    const failures = this.backoffs[process].failures + 1
    return { failures, until: now + Math.min(30, 0.5 * 2 ** (failures - 1)) * (1 - random / 2) }
  }

  /** Suspends delivery for as long as the tenant has been unknown, up to five minutes. */
  #suspend(): void {
    const { now, random } = this.world
    this.unknownSince ??= now
    const seconds = Math.min(300, Math.max(1, now - this.unknownSince))
    this.lease = { holder: 'nobody', until: now + seconds * (1 - random / 2) }
  }
}
