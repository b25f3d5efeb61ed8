export const processNames = ['A', 'B'] as const
export type ProcessName = (typeof processNames)[number]
/** What a process does with the lease in its hands. It can stop before each of them. */
export const stages = ['read', 'send', 'store'] as const
export type Stage = (typeof stages)[number]

export interface Order {
  waybill: string
  status: string
}

/** What a process does between acquiring the lease and its end. */
export interface Drain<Item = unknown> {
  process: ProcessName
  next: Stage
  since: number
  due: Item[]
}

/** Two processes deliver the events of orders, one at a time. Times are in seconds. */
export interface DeliveryState<D extends Drain = Drain> {
  now: number
  /** What Math.random() returns. */
  random: number
  /** What the receiver does with requests. */
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
  /** Who gets the events. */
  receiver: string
  /** Orders were booked or moved. */
  happen: (state: State, orders: readonly Order[]) => void
  /** Whether there is something for the process to do now. */
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

/** A process renews the lease when less than half is left. */
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
  /** A process delivers until there is nothing to do for it, or until it stops. */
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
