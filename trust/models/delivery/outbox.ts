import type { Reaction } from '../../../services/orders/test/receiver.ts'
import { type Drain, formatEvent, leaseSeconds, type Order, Reader } from './model.ts'

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

/** Models one tenant's events that wait for the notifier: they are delivered in order, until acknowledged. */
export class Outbox extends Reader<Sending> {
  readonly leaseSeconds = leaseSeconds.notifier
  /** Lists the unacknowledged events, oldest first. */
  rows: Row[] = []
  /** Counts the failures in a row, of all processes. */
  failures = 0

  happen(orders: readonly Order[]): void {
    this.rows.push(orders.map(formatEvent))
  }

  mayWork(): boolean {
    return this.rows.length > 0
  }

  begin(drain: Drain<never>): Sending {
    return { ...drain, due: this.rows.flat(), finished: [...this.rows] }
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
    const { due, finished, mood } = drain
    if (due.length === 0) return
    // Acknowledged events may be deleted, whoever holds the lease.
    if (mood === 'works') this.rows = this.rows.filter(row => !finished.includes(row))
    if (!this.isHeldBy(drain)) return
    this.lease = mood === 'works' ? undefined : this.#backOff(mood === 'does not know the tenant' ? 300 : 30)
    this.failures = mood === 'works' ? 0 : this.failures + 1
  }

  show(): Row[] {
    return this.rows
  }

  /** Blocks the lease for half a second, doubled with each failure in a row up to `longest` seconds. */
  #backOff(longest: number): Reader['lease'] {
    const { now, random } = this.world
    return { holder: 'nobody', until: now + Math.min(longest, 0.5 * 2 ** this.failures) * (1 - random / 2) }
  }
}
