import fc from 'fast-check'
import { processNames } from '../delivery/model.ts'
import { delivery, deliverySteps, expectInOrder, number, processName } from '../delivery/steps.ts'
import { type CreateModel, expectSame, stepWith, times } from '../history.ts'
import { begin, moods, rules, type State } from './model.ts'
import { startOutbox } from './real.ts'

export const outbox: CreateModel = async t => {
  const real = await startOutbox(t)
  const { pass, runners } = real
  const { books, moves, changes, delivers, goesOn, allGoOn, passes } = deliverySteps(rules, real, runners)

  const queuesAgain = number.map(
    stepWith(
      ({ orders }: State) => orders,
      ({ waybill }) => `the operator queues the events of ${waybill} again`,
      async ({ rows }, { waybill }) => {
        const events = await real.queueAgain(waybill)
        rows.push(...events.map(event => [event]))
        return events.length
      },
    ),
  )
  const check = async (state: State): Promise<void> => {
    const arrived = real.arrivals()
    expectSame('requests', arrived, state.requests)
    state.seen.push(...arrived.flatMap(request => request.split(', ')))
    state.requests = []
    expectSame('outbox', await real.readRows(), state.rows)
    expectInOrder(state, state.happened)
  }

  return {
    settings: fc.record({ random: fc.constantFrom(0, 0.5, 0.9) }),
    begin: async ({ random }) => {
      for (const name of processNames) await runners[name].wake()
      await real.empty('log')
      Math.random = () => random
      const state = begin(await pass(1_000), random)
      real.reactAs(state)
      // Nothing waits, so the processes forget their failures.
      for (const name of processNames) await runners[name].run()
      await real.empty('outbox_leases')
      real.arrivals()
      return state
    },
    steps: [
      fc.constantFrom(1, 1, 2).map(books),
      ...times(2, fc.record({ which: fc.array(number, { minLength: 1, maxLength: 2 }), to: number }).map(moves)),
      queuesAgain,
      ...times(2, fc.constantFrom('works', 'works', 'works', ...Object.keys(moods)).map(changes)),
      ...times(3, delivery.map(delivers)),
      ...times(3, processName.map(goesOn)),
      ...times(2, fc.constantFrom(0.6, 6.3, 23.1, 371.7).map(passes)),
    ],
    check,
    end: async (state: State) => {
      await allGoOn(state, check)
      state.now = await pass(1_000)
      await delivers({ name: 'A' }).run(state)
      await check(state)
      expectSame('outbox in the end', state.rows, [])
      const lost = state.happened.filter(event => !state.got.has(event))
      expectSame('never arrived', lost, [])
    },
  }
}
