import { type Check, compareCounts, type Evidence } from '../evidence.ts'

type Action = Evidence['actions'][number]

/** The id of an address is the message and the index of its question's button, followed by this ending. */
const ending = ' address'
const isAddress = ({ id }: Action): boolean => id.endsWith(ending)
/** Returns the message and the index of the button that caused the action. */
const findButton = ({ id }: Action): string => id.replace(ending, '')
const isUnconfirmed = ({ outcome }: Action): boolean => outcome === 'unconfirmed'

export const pressesActOnce: Check = ({ actions, acted }) => {
  const twice = [actions, acted].flatMap(all =>
    [...Map.groupBy<string, { id: string }>(all, ({ id }) => id)].filter(([, same]) => same.length > 1),
  )
  return twice.map(([id, same]) => `the press ${id} acted ${same.length} times`)
}

/** Requires that every action, except an unconfirmed address, comes from a customer's press. */
export const onlyPressesAct: Check = ({ presses, actions }) => {
  const pressed = new Set(presses.map(({ message, index }) => `${message} ${index}`))
  return actions
    .filter(action => !isUnconfirmed(action) && !pressed.has(findButton(action)))
    .map(({ id, outcome }) => `the press ${id} is ${outcome}, and nobody pressed it`)
}

/**
 * Requires that each question shows a text that its person wrote and no other question shows, and that it is about a
 * parcel whose `change_address` button the person pressed.
 */
export const questionsFollowTexts: Check = ({ presses, texts, messages, actions }) => {
  const written = new Set(texts.map(({ person, text }) => `${person} ${text}`))
  const byId = new Map(messages.map(message => [message.id, message]))
  const wanted = new Set(
    presses
      .filter(({ index }) => index === 2)
      .map(({ message }) => `${byId.get(message)?.person} ${byId.get(message)?.waybill}`),
  )
  const asked = messages.filter(({ question }) => question !== null)
  const twice = [...Map.groupBy(asked, ({ question }) => question)].filter(([, same]) => same.length > 1)
  const about = new Map(asked.map(({ id, waybill }) => [`${id} 0`, waybill]))
  const addresses = new Map(actions.filter(isAddress).map(action => [findButton(action), action.waybill]))
  return [
    ...asked
      .filter(
        ({ person, question, waybill }) => !written.has(`${person} ${question}`) || !wanted.has(`${person} ${waybill}`),
      )
      .map(({ id, person, question, waybill }) => `${id} asks ${person} about ${question} for ${waybill}, unasked`),
    ...twice.map(([question, same]) => `${question} was asked about ${same.length} times`),
    ...[...new Set([...about.keys(), ...addresses.keys()])]
      .filter(id => about.get(id) !== addresses.get(id))
      .map(id => `${id} asks about ${about.get(id)}, and its address is for ${addresses.get(id)}`),
  ]
}

/**
 * Requires that no press is lost: the simulator got a 200 for at least one copy of the webhook of each, unless it gave
 * up all of them. An address whose button was pressed stays unconfirmed only if a later address of the order is
 * confirmed.
 */
export const noPressIsLost: Check = ({ presses, actions, givenUp }) => {
  const isReplaced = ({ waybill }: Action, n: number): boolean =>
    actions.slice(n + 1).some(later => isAddress(later) && !isUnconfirmed(later) && later.waybill === waybill)
  const known = new Set(actions.filter((action, n) => !isUnconfirmed(action) || isReplaced(action, n)).map(findButton))
  const copies = Map.groupBy(givenUp, ({ inbound }) => inbound)
  return presses
    .filter(press => (copies.get(press.inbound)?.length ?? 0) < press.copies)
    .map(({ message, index }) => `${message} ${index}`)
    .filter((id, n, all) => !known.has(id) && all.indexOf(id) === n)
    .map(id => `the press ${id} was acknowledged and is lost`)
}

/** Requires that orders has the customers' actions, but not their unconfirmed addresses. */
export const ordersAndNotifierAgree: Check = ({ actions, acted }) => {
  const outcomes = new Map(acted.map(({ id, outcome }) => [id, outcome]))
  const known = new Set(actions.map(({ id }) => id))
  return [
    ...actions
      .filter(action => outcomes.get(action.id) !== (isUnconfirmed(action) ? undefined : action.outcome))
      .map(({ id, outcome }) => `the press ${id} is ${outcome} at the notifier and ${outcomes.get(id)} in orders`),
    ...acted.filter(({ id }) => !known.has(id)).map(({ id }) => `orders acted on ${id}, which nobody pressed`),
  ]
}

/** Lists the outcomes that make a message, by the rules of trust/chaos/bed.ts. */
const outcomesWithRules = [
  ...['confirm_order.done', 'cancel_order.refused', 'change_address.asked', 'change_address.done'],
  ...['change_address.refused', 'call_me.requested', 'call_me.declined'],
]

/** Requires that each outcome makes exactly one message. */
export const outcomesMakeTheirMessagesOnce: Check = ({ actions, messages }) => {
  const due = actions.map(({ waybill, action, outcome }) => ({ waybill, event: `${action}.${outcome}` }))
  const [wanted, made] = [due, messages].map((all: readonly { waybill: string | null; event: string | null }[]) =>
    all
      .filter(({ event }) => outcomesWithRules.includes(event ?? ''))
      .map(({ waybill, event }) => `${event} of ${waybill}`),
  )
  return compareCounts(wanted ?? [], made ?? []).map(
    ([name, times, count]) => `${name} came ${times} times and made ${count} messages`,
  )
}

const statusByAction: Readonly<Record<string, string>> = { confirm_order: 'key_2', cancel_order: 'key_3' }

/**
 * Requires that each confirmation or cancellation by a customer is one step of the timeline, and that the timeline has
 * no other steps by customers.
 */
export const customersStepsAreTheirs: Check = ({ acted, timeline }) => {
  const done = acted.flatMap(({ waybill, action, outcome }) =>
    outcome === 'done' && statusByAction[action] ? [`${waybill} ${statusByAction[action]}`] : [],
  )
  const steps = timeline.filter(({ by }) => by === 'customer').map(({ waybill, status }) => `${waybill} ${status}`)
  return compareCounts(done, steps).map(
    ([step, times, count]) => `${step} was done ${times} times by customers and is ${count} times in the timeline`,
  )
}
