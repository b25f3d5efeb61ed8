export const processNames = ['A', 'B'] as const
export type ProcessName = (typeof processNames)[number]
/** The stages of a process while it holds the lease. It can stop before each of them. */
export const stages = ['read', 'send', 'store'] as const
export type Stage = (typeof stages)[number]

export interface Order {
  waybill: string
  status: string
}
export const orderEvent = ({ waybill, status }: Order): string => `${waybill} ${status}`

/** Times are in seconds. */
export interface World {
  now: number
  /** The result of Math.random(). */
  random: number
  orders: Order[]
  /** All events of the orders, in their order. */
  happened: string[]
}

/** A process's work between acquiring the lease and its end. */
export interface Drain<Item = unknown> {
  process: ProcessName
  next: Stage
  since: number
  due: Item[]
}

/** Two processes deliver the events of orders to one receiver, one at a time. */
export interface Channel<D extends Drain = Drain> {
  world: World
  /** The receiver's reaction to requests. */
  mood: string
  lease: { holder: ProcessName | 'nobody'; until: number } | undefined
  stopped: Partial<Record<ProcessName, D>>
  /** Since the last check. */
  requests: string[]
  /** Every event that arrived, the first one first. */
  seen: string[]
}

export interface Rules<C extends Channel<D>, D extends Drain> extends Record<Stage, (channel: C, drain: D) => void> {
  /** Orders were booked or moved. */
  happen: (channel: C, orders: readonly Order[]) => void
  /** Returns true if there is work for the process now. */
  mayWork: (channel: C, name: ProcessName) => boolean
  acquire: (channel: C, name: ProcessName) => D
}

export const beginChannel = (world: World) => {
  return { world, mood: 'works', lease: undefined, stopped: {}, requests: [], seen: [] }
}

export const isHeldElsewhere = ({ lease, world }: Channel, name: ProcessName): boolean =>
  lease !== undefined && lease.holder !== name && lease.until > world.now

/** Returns false when less than half of the lease is left, at which a process renews it. */
export const isFresh = ({ world }: Channel, { since }: Drain, leaseSeconds: number): boolean =>
  world.now - since < leaseSeconds / 2

export const createProcesses = <C extends Channel<D>, D extends Drain>(rules: Rules<C, D>) => {
  const advance = (channel: C, drain: D, stop?: Stage): void => {
    for (const stage of stages.slice(stages.indexOf(drain.next))) {
      drain.next = stage
      if (stage === stop && (stage === 'read' || drain.due.length > 0)) {
        channel.stopped[drain.process] = drain
        return
      }
      rules[stage](channel, drain)
    }
  }
  /** Delivers until there is no more work for the process, or until it stops. */
  const work = (channel: C, name: ProcessName, stop?: Stage): void => {
    while (!channel.stopped[name] && rules.mayWork(channel, name)) advance(channel, rules.acquire(channel, name), stop)
  }
  const goOn = (channel: C, name: ProcessName): void => {
    const drain = channel.stopped[name]
    delete channel.stopped[name]
    if (drain) advance(channel, drain)
    work(channel, name)
  }
  return { work, goOn }
}
