export const processNames = ['A', 'B'] as const
export type ProcessName = (typeof processNames)[number]
/** Lists the stages of a process while it holds the lease. The process can stop before each of them. */
export const stages = ['read', 'send', 'store'] as const
export type Stage = (typeof stages)[number]

export interface Order {
  waybill: string
  status: string
}
export const formatEvent = ({ waybill, status }: Order): string => `${waybill} ${status}`

export const leaseSeconds = { notifier: 20, endpoint: 22 }

/** Times are in seconds. */
export interface World {
  now: number
  /** Replaces the result of Math.random(). */
  random: number
  orders: Order[]
  /** Lists all events of the orders, oldest first. */
  happened: string[]
}

/** Describes a process's work between acquiring the lease and its end. */
export interface Drain<Item = unknown> {
  process: ProcessName
  next: Stage
  since: number
  due: Item[]
}

/** Reads the log in two processes, one at a time, and delivers its events to one receiver. */
export abstract class Reader<D extends Drain = Drain> {
  readonly world: World
  /** Names the receiver's reaction to requests. */
  mood = 'works'
  lease: { holder: ProcessName | 'nobody'; until: number } | undefined
  readonly stopped: Partial<Record<ProcessName, D>> = {}
  /** Lists the requests since the last check. */
  requests: string[] = []
  /** Lists every event that arrived, in the order of arrival. */
  readonly seen: string[] = []

  constructor(world: World) {
    this.world = world
  }

  abstract readonly leaseSeconds: number
  /** Adds the events of orders that were booked or moved. */
  abstract happen(orders: readonly Order[]): void
  /** Returns true if there is work for the process now. */
  abstract mayWork(name: ProcessName): boolean
  abstract begin(drain: Drain<never>): D
  abstract read(drain: D): void
  abstract send(drain: D): void
  abstract store(drain: D): void
  /** Returns what `look` reads from the application. */
  abstract show(): object

  hold(holder: ProcessName): void {
    this.lease = { holder, until: this.world.now + this.leaseSeconds }
  }

  isHeldBy({ process }: Drain): boolean {
    return this.lease?.holder === process
  }

  isHeldElsewhere(name: ProcessName): boolean {
    return this.lease !== undefined && this.lease.holder !== name && this.lease.until > this.world.now
  }

  /** Returns false if at most half of the lease is left, when a process renews it. */
  isFresh({ since }: Drain): boolean {
    return this.world.now - since < this.leaseSeconds / 2
  }

  /** Delivers until there is no more work for the process, or until it stops. */
  work(name: ProcessName, stop?: Stage): void {
    while (!this.stopped[name] && this.mayWork(name) && !this.isHeldElsewhere(name)) {
      this.hold(name)
      this.#advance(this.begin({ process: name, next: 'read', since: this.world.now, due: [] }), stop)
    }
  }

  goOn(name: ProcessName): void {
    const drain = this.stopped[name]
    delete this.stopped[name]
    if (drain) this.#advance(drain)
    this.work(name)
  }

  #advance(drain: D, stop?: Stage): void {
    for (const stage of stages.slice(stages.indexOf(drain.next))) {
      drain.next = stage
      if (stage === stop && (stage === 'read' || drain.due.length > 0)) {
        this.stopped[drain.process] = drain
        return
      }
      this[stage](drain)
    }
  }
}
