import fc from 'fast-check'
import { type CreateModel, expectSame, pick, type Step, stepWith, times } from '../history.ts'
import { nextStatus } from '../order/model.ts'
import {
  beginEndpoint,
  change,
  type Endpoint,
  endpointMoods,
  endpointRules,
  showEndpoint,
  tire,
  type Verb,
} from './endpoint.ts'
import {
  type Channel,
  createProcesses,
  type Drain,
  type Order,
  orderEvent,
  type ProcessName,
  processNames,
  type Rules,
  type Stage,
  stages,
  type World,
} from './model.ts'
import { beginOutbox, notifierMoods, type Outbox, outboxRules } from './outbox.ts'
import type { Runner } from './process.ts'
import { startEndpoint, startNotifier, startOrders } from './real.ts'

/** The log of one merchant, and the two receivers to which processes deliver it. */
interface State extends World {
  /** Only the steps of these receivers happen before the end of the history. */
  receivers: string
  notifier: Outbox
  endpoint: Endpoint
}

interface Receiver {
  readonly runners: Record<ProcessName, Runner>
  /** Returns the requests since the last time; waits for the `expected` ones, which may be under way. */
  readonly arrivals: (expected: number) => Promise<string[]>
  /** Reads the state that `show` returns for the model. */
  readonly look: () => Promise<object>
}

const number = fc.nat(1_000)
const processName = fc.constantFrom(...processNames)
const deliveries = fc.record({
  name: processName,
  stop: fc.option(fc.constantFrom(...stages), { freq: 1, nil: undefined }),
})

/** Builds the steps in which processes deliver to one receiver. */
const deliverySteps = <C extends Channel<D>, D extends Drain>(
  receiver: string,
  channelOf: (state: State) => C,
  rules: Rules<C, D>,
  { runners, arrivals, look }: Receiver,
  show: (channel: C) => object,
) => {
  const { work, goOn } = createProcesses(rules)
  const isPlayed = ({ receivers }: State): boolean => receivers.includes(receiver)
  const reacts = (mood: string): Step<State> => ({
    isPossible: isPlayed,
    text: () => `the ${receiver} ${mood}`,
    run: async state => {
      channelOf(state).mood = mood
      return 'from now on'
    },
  })
  const delivers = ({ name, stop }: { name: ProcessName; stop?: Stage | undefined }): Step<State> => ({
    isPossible: state => isPlayed(state) && !channelOf(state).stopped[name],
    text: () => `process ${name} delivers to the ${receiver}${stop ? ` and stops before it can ${stop}` : ''}`,
    run: async state => {
      const channel = channelOf(state)
      work(channel, name, stop)
      expectSame('it stopped', await runners[name].run(stop), channel.stopped[name] !== undefined)
      return channel.requests.join('; ') || 'nothing'
    },
  })
  const goesOn = (name: ProcessName): Step<State> => ({
    isPossible: state => channelOf(state).stopped[name] !== undefined,
    text: () => `process ${name} goes on delivering to the ${receiver}`,
    run: async state => {
      goOn(channelOf(state), name)
      await runners[name].wake()
      return channelOf(state).requests.join('; ') || 'nothing'
    },
  })
  /** Compares requests and state with the model, and requires that a waybill's events first arrive in order. */
  const check = async (state: State): Promise<void> => {
    const channel = channelOf(state)
    const arrived = await arrivals(channel.requests.length)
    expectSame(`requests to the ${receiver}`, arrived, channel.requests)
    for (const request of arrived) channel.seen.push(...request.replace(/ to .*/, '').split(', '))
    channel.requests = []
    expectSame(receiver, await look(), show(channel))
    for (const { waybill } of state.orders) {
      const of = (events: readonly string[]) => [...new Set(events)].filter(event => event.startsWith(waybill))
      const first = of(channel.seen)
      expectSame(`first arrivals of ${waybill}`, first, of(state.happened).slice(0, first.length))
    }
  }
  /** Makes every request succeed from now on, and resumes the processes. */
  const recover = async (state: State): Promise<void> => {
    channelOf(state).mood = 'works'
    for (const name of processNames.filter(name => channelOf(state).stopped[name])) {
      await goesOn(name).run(state)
      await check(state)
    }
  }
  /** Requires that every event has arrived after one more delivery. */
  const finish = async (state: State): Promise<void> => {
    await delivers({ name: 'A' }).run(state)
    await check(state)
    const { seen } = channelOf(state)
    const lost = state.happened.filter(event => !seen.includes(event))
    expectSame(`never arrived at the ${receiver}`, lost, [])
  }
  const steps = (moods: object) => [
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
  const outboxOf = (state: State) => state.notifier
  const endpointOf = (state: State) => state.endpoint
  const toNotifier = deliverySteps('notifier', outboxOf, outboxRules, notifier, ({ rows }) => rows)
  const toEndpoint = deliverySteps('endpoint', endpointOf, endpointRules, endpoint, showEndpoint)

  const happen = (state: State, changed: readonly Order[]): string => {
    outboxRules.happen(state.notifier, changed)
    endpointRules.happen(state.endpoint, changed)
    state.happened.push(...changed.map(orderEvent))
    return changed.map(orderEvent).join(', ')
  }
  const books = (count: number): Step<State> => ({
    isPossible: ({ orders }) => orders.length < 5,
    text: () => `merchant books ${count}`,
    run: async state => {
      const made = await real.book(count)
      state.orders.push(...made)
      return happen(state, made)
    },
  })
  /** Moves the first chosen order, and the other chosen ones with the same status. */
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
  const done = (text: string, act: (state: State) => Promise<unknown>): Step<State> => ({
    text: () => text,
    run: state => act(state).then(() => 'done'),
  })
  const changes = (verb: Verb) =>
    done(`the merchant ${verb} the endpoint`, state => {
      change(state.endpoint, verb)
      return endpoint.change(verb, state.endpoint.url)
    })
  const tires = done('what failed has failed nine times', state => {
    tire(state.endpoint)
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
      for (const { runners } of [notifier, endpoint]) for (const name of processNames) await runners[name].wake()
      await notifier.empty('log')
      Math.random = () => random
      const world: World = { now: await real.pass(1_000), random, orders: [], happened: [] }
      const state: State = Object.assign(world, {
        receivers,
        notifier: beginOutbox(world),
        endpoint: beginEndpoint(world),
      })
      await endpoint.create(state.endpoint)
      notifier.reactAs(state.notifier)
      // Nothing waits, so the processes forget their failures.
      for (const name of processNames) await notifier.runners[name].run()
      await notifier.empty('outbox_leases')
      await notifier.arrivals()
      return state
    },
    steps: [
      ...times(2, fc.constantFrom(1, 1, 2).map(books)),
      ...times(3, fc.record({ which: fc.array(number, { minLength: 1, maxLength: 2 }), to: number }).map(moves)),
      number.map(queuesAgain),
      ...times(2, fc.constantFrom<Verb[]>('enables', 'disables', 'moves').map(changes)),
      fc.constant(tires),
      ...times(3, fc.constantFrom(0.6, 6.3, 23.1, 371.7, 7_233.3, 91_111.1).map(passes)),
      ...toNotifier.steps(notifierMoods),
      ...toEndpoint.steps(endpointMoods),
    ],
    check: async (state: State) => {
      for (const { isPlayed, check } of [toNotifier, toEndpoint]) if (isPlayed(state)) await check(state)
    },
    end: async (state: State) => {
      await toNotifier.recover(state)
      await toEndpoint.recover(state)
      await changes('enables').run(state)
      await passes(1_000).run(state)
      await toNotifier.finish(state)
      await toEndpoint.finish(state)
      expectSame('outbox in the end', state.notifier.rows, [])
      expectSame('forged', endpoint.receiver.forged, 0)
    },
  }
}
