import type { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import { isUnderWay } from '@courier/shared/contract/order-events.ts'
import { badText, type ErrorList, isBadText, isBlank, required } from '@courier/shared/errors/field-errors.ts'
import type { Actor } from '@courier/shared/postgres/audit.ts'
import type { IdempotencyKey } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import type { NamedTemplate } from '../channels/sync-templates.ts'
import { textsOf } from '../messaging-api/message-template.ts'
import { findOrders } from '../orders-client/find-orders.ts'
import type { OrdersClient } from '../orders-client/orders-client.ts'
import { type Acceptance, acceptMessages, findAcceptance, type PathOf } from './accept.ts'
import { hasPlaceholder, placeholderError } from './placeholders.ts'
import type { MessageBody, MessageRequest } from './schema.ts'
import { fillFrom, toSource } from './source.ts'

export interface WaybillDependencies {
  readonly pool: pg.Pool
  readonly orders: OrdersClient
  /** What a message may name as its product; anything without it. */
  readonly product?: string | undefined
  /** Reads the catalogue anew where it lacks one of these. */
  readonly syncLacking?: ((tenant: string, named: readonly NamedTemplate[]) => Promise<void>) | undefined
}

/**
 * As `acceptMessages`, for messages about a waybill: orders is read for those that omit their recipient or name
 * fields of the order in their texts, before the transaction. A repeated request does not read orders again. While orders
 * is unavailable the errors found so far are returned, if there are any.
 */
export const acceptBodies = async (
  dependencies: WaybillDependencies,
  tenant: string,
  bodies: readonly (MessageBody | undefined)[],
  errors: ErrorList,
  pathOf: PathOf,
  key?: IdempotencyKey,
  by?: Actor,
  traceparent?: string,
): Promise<Acceptance | { kind: 'orders_away' }> => {
  const { pool } = dependencies
  const mayAsk = bodies.some(body => body && asksOrders(body))
  const earlier = key && mayAsk ? await findAcceptance(pool, tenant, key) : undefined
  if (earlier) return earlier
  const requests = await readRequests(dependencies, tenant, bodies, errors, pathOf)
  if (!requests) return errors.count > 0 ? { kind: 'refused', errors } : { kind: 'orders_away' }
  return acceptMessages(pool, tenant, requests, errors, pathOf, key, by, traceparent)
}

/**
 * The messages with what their orders say; undefined while orders is needed and unavailable. One whose order is not known is
 * left as it is, or out where it has no recipient.
 */
export const readRequests = async (
  { orders, product, syncLacking }: Omit<WaybillDependencies, 'pool'>,
  tenant: string,
  bodies: readonly (MessageBody | undefined)[],
  errors: ErrorList,
  pathOf: PathOf,
): Promise<(MessageRequest | undefined)[] | undefined> => {
  checkBodies(bodies, errors, pathOf, product)
  await syncLacking?.(
    tenant,
    bodies.flatMap(body => (body ? toNamed(body) : [])),
  )
  const asking = bodies.filter(body => body !== undefined).filter(asksOrders)
  const waybills = asking.flatMap(({ waybill_number: waybill }) =>
    isBlank(waybill) || isBadText(waybill as string) ? [] : `${waybill}`,
  )
  const found = await findOrders(orders, tenant, waybills)
  return found && fillBodies(bodies, found, errors, pathOf)
}

const asksOrders = (body: MessageBody): boolean => needsOrder(body) || isTyped(body.waybill_number ?? '')

/** Orders may spell a number with blanks or lower-case letters otherwise; a text without a digit is none of its numbers. */
const isTyped = (waybill: string): boolean => /\d/.test(waybill) && /[a-z\s]/.test(waybill)

/** A waybill number as its order has it, or as it is given if there is none; undefined while orders is needed and unavailable. */
export const findTyped = async (orders: OrdersClient, tenant: string, waybill: string): Promise<string | undefined> => {
  if (!isTyped(waybill) || isBadText(waybill)) return waybill
  const found = await findOrders(orders, tenant, [waybill])
  return found && (found.get(waybill)?.waybill_number ?? waybill)
}

/** A channel whose name is no text that Postgres can store is an error of the message. */
const toNamed = ({ channel, template: { name, language } }: MessageBody): NamedTemplate[] =>
  isBadText(channel ?? '') ? [] : [{ channel: channel || null, name, language: language.code }]

const needsOrder = (body: MessageBody): boolean =>
  isBlank(body.to) || textsOf(body.template).some(({ text }) => hasPlaceholder(text))

const needsWaybill = 'The waybill number field is required: a text names a field of its order.'

const checkBodies = (
  bodies: readonly (MessageBody | undefined)[],
  errors: ErrorList,
  pathOf: PathOf,
  product: string | undefined,
): void => {
  for (const [index, body] of bodies.entries()) {
    if (errors.isFull) return
    if (!body) continue
    const prefix = pathOf(index)
    for (const { text, path } of textsOf(body.template)) {
      const error = placeholderError(text)
      if (error) errors.add(`${prefix}template.${path}`, error)
    }
    const { waybill_number: waybill, messaging_product: given } = body
    if (product !== undefined && !isBlank(given) && given !== product)
      errors.add(`${prefix}messaging_product`, `The messaging product field must be ${product}.`)
    if (isBadText(waybill ?? '')) errors.add(`${prefix}waybill_number`, badText('waybill_number'))
    if (!isBlank(waybill)) continue
    if (isBlank(body.to)) errors.add(`${prefix}to`, required('to'))
    else if (needsOrder(body)) errors.add(`${prefix}waybill_number`, needsWaybill)
  }
}

const unknownWaybill = 'The requested waybill does not exist in the system.'

const fillBodies = (
  bodies: readonly (MessageBody | undefined)[],
  found: ReadonlyMap<string, OrderSnapshot>,
  errors: ErrorList,
  pathOf: PathOf,
): (MessageRequest | undefined)[] =>
  bodies.map((body, index) => {
    if (!body) return undefined
    const order = found.get(body.waybill_number ?? '')
    if (order) return fillBody(body, order)
    if (needsOrder(body) && !isBlank(body.waybill_number))
      errors.addFirst(`${pathOf(index)}waybill_number`, unknownWaybill)
    return isBlank(body.to) ? undefined : { ...body, to: body.to as string }
  })

const fillBody = (body: MessageBody, order: OrderSnapshot): MessageRequest => {
  const source = toSource(body.template, order, isBlank(body.to))
  return {
    ...body,
    waybill_number: order.waybill_number,
    to: isBlank(body.to) ? order.customer_phone : (body.to as string),
    isUnderWay: isUnderWay(order),
    ...fillFrom(source, order),
    source: needsOrder(body) ? source : undefined,
  }
}
