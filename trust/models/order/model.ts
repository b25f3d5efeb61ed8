import { readFileSync } from 'node:fs'
import { pick } from '../history.ts'

export interface Order {
  waybill: string
  /** Lists the order's statuses, oldest first. */
  statuses: string[]
  cod: number
  customer_address: string
  edits: number
  requests: string[]
}

export interface State {
  tenant: string
  token: string
  staffToken: string
  /** Is the merchant's own number, shared by all orders of this history. */
  order_no: string
  orders: Order[]
  /** Lists customers' acts, for repetition. */
  actions: { id: string; body: object; outcome: string }[]
  /** Holds the cursor of the feed of changes; the next field lists the changes expected after this step. */
  cursor: string
  changes: string[]
  touched: Order[]
}

type Actor = 'merchant' | 'staff' | 'customer'

/** Reads the moves that docs/merchants/contract.md#statuses lists. */
const contract = readFileSync(new URL('../../../docs/merchants/contract.md', import.meta.url), 'utf8')
export const moves = new Map(
  [...contract.matchAll(/^\| (key_\d+) \|.*\| (.*) \|$/gm)].map(([, key = '', to = '']) => [key, to.split(', ')]),
)
export const isFinal = (status: string): boolean => moves.get(status)?.[0] === '–'
/** Returns one of the statuses to which staff may move an order of this status, if there is one. */
export const nextStatus = (status: string, which: number): string | undefined =>
  isFinal(status) ? undefined : pick(moves.get(status) ?? [], which)
/** Returns true while a merchant may edit the order (docs/merchants/editing.md). */
const isBeforePickup = (status: string): boolean => ['key_1', 'key_2', 'key_4', 'key_5'].includes(status)
const isOver = (status: string): boolean => /^key_(3|7|13|14|18|19|20|21)$/.test(status)

export const readStatus = (order: Order): string => order.statuses.at(-1) ?? ''

/** Returns true if the actor may make the move. A merchant, or a customer by a button, may only confirm or cancel. */
export const mayMove = (by: Actor, order: Order, to: string): boolean => {
  const from = readStatus(order)
  if (by === 'staff') return moves.get(from)?.includes(to) === true
  return from === 'key_1' || (from === 'key_2' && to === 'key_3')
}
interface Edit {
  cod?: number
  customer_address?: string
}
export const mayEdit = (by: Actor, order: Order, { cod }: Edit): boolean =>
  isBeforePickup(readStatus(order)) || (by === 'staff' && cod === undefined && !isOver(readStatus(order)))

const touch = ({ touched }: State, order: Order): void => {
  if (!touched.includes(order)) touched.push(order)
}
const change = (state: State, order: Order, type: string, by: Actor): void => {
  state.changes.push(`${type} ${order.waybill} ${readStatus(order)} ${by}`)
  touch(state, order)
}
export const book = (state: State, waybill: string, status: string): void => {
  const given = { cod: 4500, customer_address: '12 Temple Road, Galle' }
  const made = { waybill, statuses: [status], ...given, edits: 0, requests: [] }
  state.orders.push(made)
  change(state, made, 'order.created', 'merchant')
}
export const moveTo = (state: State, order: Order, to: string, by: Actor): void => {
  order.statuses.push(to)
  change(state, order, 'order.status_changed', by)
}
export const edit = (state: State, order: Order, fields: Edit, by: Actor): void => {
  const { cod, customer_address } = { ...order, ...fields }
  if (cod === order.cod && customer_address === order.customer_address) return
  Object.assign(order, { cod, customer_address, edits: order.edits + 1 })
  change(state, order, 'order.edited', by)
}

export const buttons = ['confirm_order', 'cancel_order', 'change_address', 'call_me'] as const
/** Applies a customer's press of a button; returns the outcome. */
export const press = (state: State, order: Order, button: (typeof buttons)[number], address: string): string => {
  if (button === 'call_me') {
    if (isFinal(readStatus(order))) return 'refused'
    if (!order.requests.includes(button)) order.requests.push(button)
    touch(state, order)
    return 'requested'
  }
  if (button === 'change_address') {
    if (!isBeforePickup(readStatus(order))) return 'refused'
    edit(state, order, { customer_address: address }, 'customer')
    return 'done'
  }
  const to = button === 'confirm_order' ? 'key_2' : 'key_3'
  if (!mayMove('customer', order, to)) return 'refused'
  moveTo(state, order, to, 'customer')
  return 'done'
}
