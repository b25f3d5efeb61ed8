import type { Check } from '../evidence.ts'

export const pressesActOnce: Check = ({ actions, acted }) => {
  const twice = [actions, acted].flatMap(all =>
    [...Map.groupBy<string, { id: string }>(all, ({ id }) => id)].filter(([, same]) => same.length > 1),
  )
  return twice.map(([id, same]) => `the press ${id} acted ${same.length} times`)
}

/** The simulator got a 200 for at least one copy of the webhook of each, unless it gave up all of them. */
export const noPressIsLost: Check = ({ presses, actions, givenUp }) => {
  const known = new Set(actions.map(({ id }) => id))
  const copies = Map.groupBy(givenUp, ({ inbound }) => inbound)
  return presses
    .filter(press => (copies.get(press.inbound)?.length ?? 0) < press.copies)
    .map(({ message, index }) => `${message} ${index}`)
    .filter((id, n, all) => !known.has(id) && all.indexOf(id) === n)
    .map(id => `the press ${id} was acknowledged and is lost`)
}

export const ordersAndNotifierAgree: Check = ({ actions, acted }) => {
  const outcomes = new Map(acted.map(({ id, outcome }) => [id, outcome]))
  const known = new Set(actions.map(({ id }) => id))
  return [
    ...actions
      .filter(({ id, outcome }) => outcomes.get(id) !== outcome)
      .map(({ id, outcome }) => `the press ${id} is ${outcome} at the notifier and ${outcomes.get(id)} in orders`),
    ...acted.filter(({ id }) => !known.has(id)).map(({ id }) => `orders acted on ${id}, which nobody pressed`),
  ]
}

const moveOf: Readonly<Record<string, string>> = { confirm_order: 'key_2', cancel_order: 'key_3' }

/** What a customer did is one step of the timeline, and every such step is what a customer did. */
export const customersStepsAreTheirs: Check = ({ acted, timeline }) => {
  const listOf = (steps: readonly string[]) => Map.groupBy(steps, step => step)
  const done = listOf(
    acted.flatMap(({ waybill, action, outcome }) =>
      outcome === 'done' && moveOf[action] ? [`${waybill} ${moveOf[action]}`] : [],
    ),
  )
  const steps = listOf(
    timeline.filter(({ by }) => by === 'customer').map(({ waybill, status }) => `${waybill} ${status}`),
  )
  return [...new Set([...done.keys(), ...steps.keys()])]
    .filter(step => done.get(step)?.length !== steps.get(step)?.length)
    .map(
      step =>
        `${step} was done ${done.get(step)?.length ?? 0} times by customers and is ${steps.get(step)?.length ?? 0} times in the timeline`,
    )
}
