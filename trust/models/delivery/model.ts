export const processNames = ['A', 'B'] as const
export type ProcessName = (typeof processNames)[number]
/** The stages of a process while it holds the lease. It can stop before each of them. */
export const stages = ['read', 'send', 'store'] as const
export type Stage = (typeof stages)[number]

export interface Order {
  waybill: string
  status: string
}

/** A process's work between acquiring the lease and its end. */
export interface Drain<Item = unknown> {
  process: ProcessName
  next: Stage
  since: number
  due: Item[]
}

/** Two processes deliver the events of orders, one at a time. Times are in seconds. */
export interface DeliveryState<D extends Drain = Drain> {
  now: number
  /** The result of Math.random(). */
  random: number
  /** The receiver's reaction to requests. */
  mood: string
  orders: Order[]
  lease: { holder: ProcessName | 'nobody'; until: number } | undefined
  stopped: Partial<Record<ProcessName, D>>
  /** Since the last check. */
  requests: string[]
  /** Every event that arrived, the first one first. */
  seen: string[]
}

export interface Rules<State extends DeliveryState<D>, D extends Drain> extends Record<Stage, Rule<State, D>> {
  /** The receiver of the events. */
  receiver: string
  /** Orders were booked or moved. */
  happen: (state: State, orders: readonly Order[]) => void
  /** Returns true if there is work for the process now. */
  mayWork: (state: State, name: ProcessName) => boolean
  acquire: (state: State, name: ProcessName) => D
}
type Rule<State, D> = (state: State, drain: D) => void

export const orderEvent = ({ waybill, status }: Order): string => `${waybill} ${status}`

export const beginDeliveries = (now: number, random: number) => ({
  ...{ now, random, mood: 'works', orders: [], lease: undefined, stopped: {}, requests: [], seen: [] },
})

export const isHeldElsewhere = ({ lease, now }: DeliveryState, name: ProcessName): boolean =>
  lease !== undefined && lease.holder !== name && lease.until > now

/** Returns false when less than half of the lease is left, at which a process renews it. */
export const isFresh = ({ now }: DeliveryState, { since }: Drain, leaseSeconds: number): boolean =>
  now - since < leaseSeconds / 2

export const processesOf = <State extends DeliveryState<D>, D extends Drain>(rules: Rules<State, D>) => {
  const advance = (state: State, drain: D, stop?: Stage): void => {
    for (const stage of stages.slice(stages.indexOf(drain.next))) {
      drain.next = stage
      if (stage === stop && (stage === 'read' || drain.due.length > 0)) {
        state.stopped[drain.process] = drain
        return
      }
      rules[stage](state, drain)
    }
  }
  /** Delivers until there is no more work for the process, or until it stops. */
  const work = (state: State, name: ProcessName, stop?: Stage): void => {
    while (!state.stopped[name] && rules.mayWork(state, name)) advance(state, rules.acquire(state, name), stop)
  }
  const goOn = (state: State, name: ProcessName): void => {
    const drain = state.stopped[name]
    delete state.stopped[name]
    if (drain) advance(state, drain)
    work(state, name)
  }
  return { work, goOn }
}
