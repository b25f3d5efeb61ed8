import { merchantMoves, standardStatuses } from '../../../services/orders/core/statuses/statuses.ts'
import type { Check, Evidence, StoredOrder } from '../evidence.ts'
import { type Call, groupIntents } from '../history.ts'

/** Describes the fields of an order in a merchant's request. */
interface AskedOrder {
  readonly phone: string
  readonly cod: number
}

export const ordersAreInFull: Check = ({ history, orders }) => {
  const asked = new Map(
    history
      .filter(({ what }) => what === 'book')
      .flatMap(({ name, asked }) =>
        (asked as AskedOrder[]).map((order, part) => [`${name} ${part}` as string, order] as const),
      ),
  )
  return orders
    .filter(order => {
      const wanted = asked.get(`${order.name} ${order.part}`)
      return wanted && (wanted.phone !== order.phone || wanted.cod !== order.cod)
    })
    .map(({ waybill, name, part }) => `${waybill} is not stored as ${name} ${part} had it`)
}

/** Requires that each order has its own waybill, and that the response lists waybills in the order of the request. */
export const waybillsAreTrue: Check = ({ history, orders }) => {
  const stored = new Map(orders.map(order => [order.waybill, `${order.name} ${order.part}`]))
  const twice = [...Map.groupBy(orders, ({ waybill }) => waybill)].filter(([, all]) => all.length > 1)
  const wrong = groupIntents(history)
    .filter(({ what, ending }) => what === 'book' && ending === 'done')
    .flatMap(({ name, parts, calls }) => {
      const data = calls.find(({ ending }) => ending === 'done')?.data
      const waybills: unknown[] = Array.isArray(data) ? data : []
      const isTrue =
        parts.length === waybills.length &&
        parts.every((part, n) => stored.get(String(waybills[n])) === `${name} ${part}`)
      return isTrue ? [] : [`the response to ${name} names ${waybills.slice(0, 5)}, which are not its orders`]
    })
  return [...twice.map(([waybill]) => `${waybill} was given to several orders`), ...wrong]
}

const legal = new Set([
  ...standardStatuses.flatMap(({ key, moves }) => moves.map(to => `${key} ${to}`)),
  ...Object.entries(merchantMoves).flatMap(([key, moves]) => moves.map(to => `${key} ${to}`)),
])

/** Requires that an order's timeline begins with its creation, has only legal moves, and ends with its status. */
export const timelinesAreTrue: Check = ({ orders, timeline }) => {
  const steps = Map.groupBy(timeline, ({ waybill }) => waybill)
  return orders.flatMap(({ waybill, status }) => {
    const keys = (steps.get(waybill) ?? []).map(step => step.status)
    const hasBegun = keys[0] === 'key_1' || keys[0] === 'key_2'
    const illegal = keys.slice(1).find((key, n) => !legal.has(`${keys[n]} ${key}`))
    return hasBegun && illegal === undefined && keys.at(-1) === status
      ? []
      : [`${waybill} is ${status}, its timeline is ${keys.join(' ') || 'empty'}`]
  })
}

/** Returns true if the order's customer was asked to confirm the address and did. */
const isConfirmed = ({ messages, acted }: Evidence, { waybill, address, phone }: StoredOrder): boolean =>
  messages.some(
    ({ id, question, person, waybill: about }) =>
      question === address &&
      about === waybill &&
      `+${person}` === phone &&
      acted.some(action => action.id === `${id} 0 address` && action.outcome === 'done'),
  )

/**
 * Requires that edits are kept. A merchant edits one order after another, each time with a new address. An edit in
 * doubt may take effect at any time, even after a repetition and after later edits. The check ignores when customers
 * confirmed.
 */
export const editsAreKept: Check = evidence => {
  const { history, orders, acted, texts } = evidence
  const addresses = acted.filter(({ action, outcome }) => action === 'change_address' && outcome === 'done')
  const byCustomer = new Set(addresses.map(({ waybill }) => waybill))
  const written = new Set(texts.map(({ text }) => text))
  const edits = Map.groupBy(
    groupIntents(history).filter(({ what }) => what === 'edit'),
    ({ calls }) => String(calls[0]?.asked),
  )
  return orders.flatMap(order => {
    const { waybill, address } = order
    const all = edits.get(waybill) ?? []
    if (all.some(({ name, ending }) => ending === 'refused' && name === address))
      return [`${waybill} has the address of ${address}, which was refused`]
    if (written.has(address) && !isConfirmed(evidence, order))
      return [`${waybill} has the address ${address}, which its customer did not confirm`]
    const last = all.findLast(({ ending }) => ending === 'done')
    const possible = all.filter(edit => edit === last || edit.calls.some(({ ending }) => ending === 'in doubt'))
    const hasCustomers = byCustomer.has(waybill)
    const isKept = possible.some(({ name }) => name === address) || (hasCustomers && written.has(address))
    if (isKept || !(last || hasCustomers)) return []
    const wanted = [...(last ? [last.name] : []), ...(hasCustomers ? ['its customer'] : [])].join(' or ')
    return [`${waybill} has the address ${address}, not that of ${wanted}, which was acknowledged`]
  })
}

/** Returns the statuses of an order that were acknowledged before `at`. */
const acknowledgedBefore = (history: readonly Call[], at: number, waybill: string): unknown[] =>
  history
    .filter(
      ({ what, ending, respondedAt }) => ['move', 'cancel'].includes(what) && ending === 'done' && respondedAt < at,
    )
    .filter(({ parts }) => parts.includes(waybill))
    .map(({ asked }) => asked)

/** Requires that a look-up finds an order that was acknowledged before, with a status that it had then or later. */
export const readersSeeWhatWasAcknowledged: Check = ({ history, timeline }) => {
  const steps = Map.groupBy(timeline, ({ waybill }) => waybill)
  return history.flatMap(({ what, name, parts: [waybill = ''], status, ending, data, sentAt }) => {
    if (what !== 'look up') return []
    if (status === 404) return [`${name} did not find ${waybill}, which had been acknowledged`]
    if (ending !== 'done') return []
    const keys = (steps.get(waybill) ?? []).map(step => step.status)
    const found = (data as { status?: { key?: string } } | null)?.status?.key ?? ''
    const least = Math.max(0, ...acknowledgedBefore(history, sentAt, waybill).map(key => keys.indexOf(String(key))))
    return keys.lastIndexOf(found) >= least
      ? []
      : [`${name} found ${waybill} with ${found || 'no status'}, its timeline is ${keys.join(' ')}`]
  })
}

/** Requires a line with its COD for each delivered parcel, none for any other, and transfers that equal the lines. */
export const moneyIsBookedOnce: Check = ({ orders, money, brokenLedger }) => {
  const lines = Map.groupBy(money, ({ waybill }) => waybill)
  const wrong = orders.flatMap(({ waybill, status, cod }) => {
    const booked = (lines.get(waybill) ?? []).map(line => line.cod).join()
    return booked === (status === 'key_13' ? String(cod) : '')
      ? []
      : [`${waybill} is ${status} with the COD ${cod}, and its lines have ${booked || 'nothing'}`]
  })
  return [...wrong, ...brokenLedger.map(found => `the check of the ledger found ${found}`)]
}
