import { merchantMoves, standardStatuses } from '../../../services/orders/orders/statuses.ts'
import type { Check } from '../facts.ts'
import { intentsOf } from '../history.ts'

/** What a merchant's request had of an order. */
export interface AskedOrder {
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

/** Each order has its own, and the response lists them in the order of the request. */
export const waybillsAreTrue: Check = ({ history, orders }) => {
  const stored = new Map(orders.map(order => [order.waybill, `${order.name} ${order.part}`]))
  const twice = [...Map.groupBy(orders, ({ waybill }) => waybill)].filter(([, all]) => all.length > 1)
  const wrong = intentsOf(history)
    .filter(({ what, ending }) => what === 'book' && ending === 'done')
    .flatMap(({ name, parts, calls }) => {
      const waybills = calls.find(({ ending }) => ending === 'done')?.data as string[]
      const isTrue = parts.length === waybills.length && parts.every((part, n) => isOf(waybills[n], `${name} ${part}`))
      return isTrue ? [] : [`the response to ${name} names ${waybills.slice(0, 5)}, which are not its orders`]
    })
  function isOf(waybill: string | undefined, order: string): boolean {
    const found = stored.get(waybill ?? '')
    // What is not stored at all is another check's.
    return found === undefined || found === order
  }
  return [...twice.map(([waybill]) => `${waybill} was given to several orders`), ...wrong]
}

const legal = new Set([
  ...standardStatuses.flatMap(({ key, moves }) => moves.map(to => `${key} ${to}`)),
  ...Object.entries(merchantMoves).flatMap(([key, moves]) => moves.map(to => `${key} ${to}`)),
])

/** An order's timeline begins with its creation, has legal moves alone, and ends with its status. */
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

/** The merchant edits one order after the other, each time with an address of its own. */
export const editsAreKept: Check = ({ history, orders, acted }) => {
  const addresses = acted.filter(({ action, outcome }) => action === 'change_address' && outcome === 'done')
  const byCustomer = new Set(addresses.map(({ waybill }) => waybill))
  const current = new Map(orders.map(({ waybill, address }) => [waybill, address]))
  const edits = intentsOf(history).filter(({ what }) => what === 'edit')
  return [...Map.groupBy(edits, ({ calls }) => String(calls[0]?.asked))].flatMap(([waybill, all]) => {
    const last = all.findLast(({ ending }) => ending === 'done')
    const possible = all.filter(edit => edit === last || edit.ending === 'in doubt').map(({ name }) => name)
    const refused = all.filter(({ ending }) => ending === 'refused').map(({ name }) => name)
    const address = current.get(waybill) ?? ''
    if (refused.includes(address)) return [`${waybill} has the address of ${address}, which was refused`]
    const isLost = last && !byCustomer.has(waybill) && !possible.includes(address) && current.has(waybill)
    return isLost ? [`${waybill} has the address ${address}, not that of ${last.name}, which was acknowledged`] : []
  })
}

/** Who looks up what was acknowledged before finds it. */
export const readersSeeWhatWasAcknowledged: Check = ({ history }) =>
  history
    .filter(({ what, status }) => what === 'look up' && status === 404)
    .map(({ name, parts }) => `${name} did not find ${parts}, which had been acknowledged`)
