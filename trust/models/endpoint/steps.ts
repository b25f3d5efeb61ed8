import fc from 'fast-check'
import { orderEvent, processNames } from '../delivery/model.ts'
import { delivery, deliverySteps, expectInOrder, number, processName } from '../delivery/steps.ts'
import { type CreateModel, expectSame, type Step, times } from '../history.ts'
import { begin, change, moods, rules, type State, tire, type Verb } from './model.ts'
import { startEndpoint } from './real.ts'
import { day, downAfter, type Event, resolve } from './settle.ts'

/**
 * The excluded mood: of concurrent successes and failures the first one stored would decide if the endpoint is down, or
 * disabled.
 */
const mixed = 'refuses one waybill'
const isUnclear = ({ mood, failures }: State): boolean => mood === mixed && failures >= downAfter - 1

const where = (step: Step<State>, holds: (state: State) => boolean): Step<State> => ({
  ...step,
  isPossible: state => holds(state) && (step.isPossible?.(state) ?? true),
})

export const endpoint: CreateModel = async t => {
  const real = await startEndpoint(t)
  const { runners } = real
  const { books, moves, changes, delivers, goesOn, allGoOn, passes } = deliverySteps(rules, real, runners)

  const changed = async (state: State, verb: Verb): Promise<string> => {
    change(state, verb)
    await real.change(verb, state.url)
    return 'done'
  }
  const patches = fc
    .constantFrom<Verb[]>('enables', 'disables', 'moves')
    .map(verb => ({ text: () => `the merchant ${verb} the endpoint`, run: (state: State) => changed(state, verb) }))
  const tires = fc.constant<Step<State>>({
    isPossible: ({ events }) => events.some(({ attempts, dueAt }) => attempts > 0 && dueAt !== undefined),
    text: () => 'what failed has failed nine times',
    run: async state => {
      tire(state)
      await real.tire(state.now)
      return 'done'
    },
  })
  const mood = fc
    .constantFrom('works', 'works', 'works', ...Object.keys(moods))
    .map(mood => where(changes(mood), ({ failures }) => mood !== mixed || failures === 0))
  const time = fc
    .constantFrom(6.3, 6.3, 23.1, 371.7, 7_233.3, 91_111.1)
    .map(seconds => where(passes(seconds), ({ mood }) => mood !== mixed || seconds < day))

  const check = async (state: State): Promise<void> => {
    const arrived = await real.arrivals(state.requests.length)
    expectSame('requests', arrived.toSorted(), state.requests.toSorted())
    state.seen.push(...arrived.map(request => request.replace(/ to .*/, '')))
    state.requests = []
    const { endpoint, deliveries } = await real.look()
    resolve(state, endpoint.failures, deliveries)
    const { disabled, failures, failingSince } = state
    expectSame('endpoint', endpoint, { disabled, failures, failingSince })
    expectSame('deliveries', deliveries, state.events.filter(event => event.state).map(shown))
    expectInOrder(state, state.events.map(orderEvent))
  }

  return {
    settings: fc.record({ random: fc.constantFrom(0, 0.5, 0.9) }),
    begin: async ({ random }) => {
      for (const name of processNames) await runners[name].wake()
      Math.random = () => random
      const state = begin(await real.pass(1_000), random)
      await real.create(state)
      return state
    },
    steps: [
      fc.constantFrom(1, 1, 2).map(count => where(books(count), ({ orders }) => orders.length < 5)),
      ...times(3, fc.record({ which: fc.tuple(number), to: number }).map(moves)),
      ...times(2, mood),
      ...[patches, tires],
      ...times(3, time),
      ...times(
        4,
        delivery.map(chosen => where(delivers(chosen), state => !isUnclear(state))),
      ),
      ...times(3, processName.map(goesOn)),
    ],
    check,
    end: async (state: State) => {
      await allGoOn(state, check)
      await changed(state, 'enables')
      await delivers({ name: 'A' }).run(state)
      await check(state)
      const lost = state.events.filter(
        ({ state, isAccepted }) => state !== 'failed' && !(isAccepted && state === 'delivered'),
      )
      expectSame('not delivered', lost.map(orderEvent), [])
      expectSame('forged', real.receiver.forged, 0)
    },
  }
}

const shown = (event: Event) => {
  const { state, attempts, code, dueAt } = event
  const tenths = dueAt === undefined ? undefined : Math.round(dueAt * 10) / 10
  return { event: orderEvent(event), state, attempts, code, dueAt: tenths }
}
