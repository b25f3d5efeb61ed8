import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { type CreateModel, expectSame, pick, type Step, stepWith, times } from '../history.ts'
import { nextStatus } from '../order/model.ts'
import { Endpoint, endpointMoods, type Verb } from './endpoint.ts'
import {
  formatEvent,
  type Order,
  type ProcessName,
  processNames,
  type Reader,
  type Stage,
  stages,
  type World,
} from './model.ts'
import { notifierMoods, Outbox } from './outbox.ts'
import type { Runner } from './process.ts'
import { startEndpoint, startNotifier, startOrders } from './real.ts'

/** Holds the log of one merchant, and the two receivers to which processes deliver it. */
interface State extends World {
  /** Only the steps of these receivers happen before the end of the history. */
  receivers: string
  notifier: Outbox
  endpoint: Endpoint
}

interface Receiver {
  readonly runners: Record<ProcessName, Pick<Runner, 'run' | 'wake'>>
  /** Lists the requests since the last check. */
  readonly arrived: string[]
  /** Reads the state that `show` returns for the model. */
  readonly look: () => Promise<object>
}

const number = fc.nat(1_000)
const processName = fc.constantFrom(...processNames)
const deliveries = fc.record({
  name: processName,
  stop: fc.option(fc.constantFrom(...stages), { freq: 1, nil: undefined }),
})

const done = (text: string, act: (state: State) => unknown): Step<State> => ({
  text: () => text,
  run: async state => {
    await act(state)
    return 'done'
  },
})

/** Builds the steps in which processes deliver to one receiver. */
const deliverySteps = (receiver: 'notifier' | 'endpoint', { runners, arrived, look }: Receiver, moods: object) => {
  const findReader = (state: State): Reader => state[receiver]
  const isPlayed = ({ receivers }: State): boolean => receivers.includes(receiver)
  const reacts = (mood: string): Step<State> => ({
    ...done(`the ${receiver} ${mood} from now on`, state => Object.assign(findReader(state), { mood })),
    isPossible: isPlayed,
  })
  const delivers = ({ name, stop }: { name: ProcessName; stop?: Stage | undefined }): Step<State> => ({
    isPossible: state => isPlayed(state) && !findReader(state).stopped[name],
    text: () => `process ${name} delivers to the ${receiver}${stop ? ` and stops before it can ${stop}` : ''}`,
    run: async state => {
      const reader = findReader(state)
      reader.work(name, stop)
      expectSame('it stopped', await runners[name].run(stop), reader.stopped[name] !== undefined)
      return reader.requests.join('; ') || 'nothing'
    },
  })
  const goesOn = (name: ProcessName): Step<State> => ({
    isPossible: state => findReader(state).stopped[name] !== undefined,
    text: () => `process ${name} goes on delivering to the ${receiver}`,
    run: async state => {
      findReader(state).goOn(name)
      await runners[name].wake()
      return findReader(state).requests.join('; ') || 'nothing'
    },
  })
  /** Compares requests and state with the model, and requires that a waybill's events first arrive in order. */
  const check = async (state: State): Promise<void> => {
    const reader = findReader(state)
    // The requests may be in flight.
    for (let tries = 0; tries < 200 && arrived.length < reader.requests.length; tries++) await delay(10)
    const requests = arrived.splice(0)
    expectSame(`requests to the ${receiver}`, requests, reader.requests)
    for (const request of requests) reader.seen.push(...request.replace(/ to .*/, '').split(', '))
    reader.requests = []
    expectSame(receiver, await look(), reader.show())
    for (const { waybill } of state.orders) {
      const select = (events: readonly string[]) => [...new Set(events)].filter(event => event.startsWith(waybill))
      const first = select(reader.seen)
      expectSame(`first arrivals of ${waybill}`, first, select(state.happened).slice(0, first.length))
    }
  }
  /** Makes every request succeed from now on, and resumes the processes. */
  const recover = async (state: State): Promise<void> => {
    const reader = findReader(state)
    reader.mood = 'works'
    for (const name of processNames.filter(name => reader.stopped[name])) {
      await goesOn(name).run(state)
      await check(state)
    }
  }
  /** Requires that every event has arrived after one more delivery. */
  const finish = async (state: State): Promise<void> => {
    await delivers({ name: 'A' }).run(state)
    await check(state)
    const { seen } = findReader(state)
    const lost = state.happened.filter(event => !seen.includes(event))
    expectSame(`never arrived at the ${receiver}`, lost, [])
  }
  const steps = [
    ...times(2, fc.constantFrom('works', 'works', 'works', ...Object.keys(moods)).map(reacts)),
    ...times(4, deliveries.map(delivers)),
    ...times(3, processName.map(goesOn)),
  ]
  return { isPlayed, steps, check, recover, finish }
}

export const delivery: CreateModel = async t => {
  const real = await startOrders(t)
  const notifier = await startNotifier(t, real)
  const endpoint = await startEndpoint(t, real)
  const toNotifier = deliverySteps('notifier', notifier, notifierMoods)
  const toEndpoint = deliverySteps('endpoint', endpoint, endpointMoods)
  const both = [toNotifier, toEndpoint]

  const happen = (state: State, changed: readonly Order[]): string => {
    for (const reader of [state.notifier, state.endpoint]) reader.happen(changed)
    state.happened.push(...changed.map(formatEvent))
    return changed.map(formatEvent).join(', ')
  }
  const books = (count: number): Step<State> => ({
    isPossible: ({ orders }) => orders.length < 5,
    text: () => `the merchant books ${count === 1 ? 'an order' : `${count} orders`}`,
    run: async state => {
      const made = await real.book(count)
      state.orders.push(...made)
      return happen(state, made)
    },
  })
  /** Moves the first chosen order, and the other chosen ones with the same status. */
  const moves = ({ which, to }: { which: number[]; to: number }): Step<State> => ({
    isPossible: ({ orders }) => orders.some(order => nextStatus(order.status, to)),
    text: () => 'staff move orders',
    run: async state => {
      const open = state.orders.filter(order => nextStatus(order.status, to))
      const first = pick(open, which[0] ?? 0)
      const status = nextStatus(first.status, to) as string
      const chosen = open.filter(
        (order, index) => order === first || (order.status === first.status && which.includes(index)),
      )
      const waybills = chosen.map(({ waybill }) => waybill)
      expectSame('status', (await real.move(waybills, status)).status, 200)
      for (const order of chosen) order.status = status
      return happen(state, chosen)
    },
  })
  const queuesAgain = stepWith(
    ({ orders }: State) => orders,
    ({ waybill }) => `the operator queues the events of ${waybill} again`,
    async (state, { waybill }) => {
      const events = await notifier.queueAgain(waybill)
      state.notifier.rows.push(...events.map(event => [event]))
      return events.length
    },
  )
  const changes = (verb: Verb) =>
    done(`the merchant ${verb} the endpoint`, state => {
      state.endpoint.change(verb)
      return endpoint.change(verb, state.endpoint.url)
    })
  const tires = done('each event that failed has now failed nine times', state => {
    state.endpoint.tire()
    return endpoint.tire(state.now)
  })
  const passes = (seconds: number) =>
    done(`${seconds} seconds pass`, async state => {
      state.now = await real.pass(seconds)
    })

  return {
    settings: fc.record({
      random: fc.constantFrom(0, 0.5, 0.9),
      receivers: fc.constantFrom('notifier', 'endpoint', 'notifier endpoint'),
    }),
    begin: async ({ random, receivers }) => {
      for (const { runners } of [notifier, endpoint]) for (const runner of Object.values(runners)) await runner.wake()
      await notifier.empty('log')
      Math.random = () => random
      const world: World = { now: await real.pass(1_000), random, orders: [], happened: [] }
      const readers = { notifier: new Outbox(world), endpoint: new Endpoint(world) }
      const state: State = Object.assign(world, { receivers, ...readers })
      await endpoint.create(state.endpoint)
      notifier.reactAs(state.notifier)
      // Nothing waits, so the processes forget their failures.
      for (const runner of Object.values(notifier.runners)) await runner.run()
      await notifier.empty('outbox_leases')
      notifier.arrived.length = 0
      return state
    },
    steps: [
      ...times(2, fc.constantFrom(1, 1, 2).map(books)),
      ...times(3, fc.record({ which: fc.array(number, { minLength: 1, maxLength: 2 }), to: number }).map(moves)),
      number.map(queuesAgain),
      ...times(2, fc.constantFrom<Verb[]>('enables', 'disables', 'moves').map(changes)),
      fc.constant(tires),
      ...times(3, fc.constantFrom(0.6, 6.3, 23.1, 371.7, 7_233.3, 91_111.1).map(passes)),
      ...toNotifier.steps,
      ...toEndpoint.steps,
    ],
    check: async (state: State) => {
      for (const { isPlayed, check } of both) if (isPlayed(state)) await check(state)
    },
    end: async (state: State) => {
      for (const { recover } of both) await recover(state)
      await changes('enables').run(state)
      await passes(1_000).run(state)
      for (const { finish } of both) await finish(state)
      expectSame('outbox in the end', state.notifier.rows, [])
      expectSame('forged', endpoint.receiver.forged, 0)
    },
  }
}
