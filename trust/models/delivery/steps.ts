import fc from 'fast-check'
import { expectSame, pick, type Step } from '../history.ts'
import { nextStatus } from '../order/model.ts'
import {
  type DeliveryState,
  type Drain,
  orderEvent,
  type ProcessName,
  processesOf,
  processNames,
  type Rules,
  type Stage,
  stages,
} from './model.ts'
import type { StoppedOrders } from './orders.ts'
import type { Runner } from './process.ts'

export const number = fc.nat(1_000)
export const processName = fc.constantFrom(...processNames)
export const delivery = fc.record({
  name: processName,
  stop: fc.option(fc.constantFrom(...stages), { freq: 1, nil: undefined }),
})

/** The steps of every history in which processes deliver. */
export const deliverySteps = <State extends DeliveryState<D>, D extends Drain>(
  rules: Rules<State, D>,
  { book, move, pass }: StoppedOrders,
  runners: Record<ProcessName, Runner>,
) => {
  const { work, goOn } = processesOf(rules)
  const books = (count: number): Step<State> => ({
    text: () => `merchant books ${count}`,
    run: async state => {
      const made = await book(count)
      state.orders.push(...made)
      rules.happen(state, made)
      return made.map(({ waybill }) => waybill).join(', ')
    },
  })
  /** Moves orders with the status of the first. */
  const moves = ({ which, to }: { which: number[]; to: number }): Step<State> => ({
    isPossible: ({ orders }) => orders.some(order => nextStatus(order.status, to)),
    text: () => 'staff moves',
    run: async state => {
      const open = state.orders.filter(order => nextStatus(order.status, to))
      const first = pick(open, which[0] ?? 0)
      const status = nextStatus(first.status, to) as string
      const chosen = open.filter(
        (order, index) => order === first || (order.status === first.status && which.includes(index)),
      )
      const waybills = chosen.map(({ waybill }) => waybill)
      expectSame('status', (await move(waybills, status)).status, 200)
      for (const order of chosen) order.status = status
      rules.happen(state, chosen)
      return chosen.map(orderEvent).join(', ')
    },
  })
  const changes = (mood: string): Step<State> => ({
    text: () => `the ${rules.receiver} ${mood}`,
    run: async state => {
      state.mood = mood
      return 'from now on'
    },
  })
  const delivers = ({ name, stop }: { name: ProcessName; stop?: Stage | undefined }): Step<State> => ({
    isPossible: ({ stopped }) => !stopped[name],
    text: () => `process ${name} delivers${stop ? ` and stops before it can ${stop}` : ''}`,
    run: async state => {
      work(state, name, stop)
      expectSame('it stopped', await runners[name].run(stop), state.stopped[name] !== undefined)
      return state.requests.join('; ') || 'nothing'
    },
  })
  const goesOn = (name: ProcessName): Step<State> => ({
    isPossible: ({ stopped }) => stopped[name] !== undefined,
    text: () => `process ${name} goes on`,
    run: async state => {
      goOn(state, name)
      await runners[name].wake()
      return state.requests.join('; ') || 'nothing'
    },
  })
  /** Makes every request succeed from now on, and resumes the processes. */
  const allGoOn = async (state: State, check: (state: State) => Promise<void>): Promise<void> => {
    state.mood = 'works'
    for (const name of processNames.filter(name => state.stopped[name])) {
      await goesOn(name).run(state)
      await check(state)
    }
  }
  const passes = (seconds: number): Step<State> => ({
    text: () => `${seconds} seconds pass`,
    run: async state => {
      state.now = await pass(seconds)
      return 'done'
    },
  })
  return { books, moves, changes, delivers, goesOn, allGoOn, passes }
}

/** Requires that earlier events of a waybill arrived or were given up before a later one first arrives. */
export const expectInOrder = ({ orders, seen }: DeliveryState, happened: readonly string[]): void => {
  for (const { waybill } of orders) {
    const of = (events: readonly string[]) => [...new Set(events)].filter(event => event.startsWith(waybill))
    const first = of(seen)
    expectSame(`first arrivals of ${waybill}`, first, of(happened).slice(0, first.length))
  }
}
