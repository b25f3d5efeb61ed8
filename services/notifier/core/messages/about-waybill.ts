import { isUnderWay, type OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import { badText, isBadText, isBlank, required } from '@courier/shared/errors/field-errors.ts'
import { createClock } from '@courier/shared/postgres/clock.ts'
import type pg from 'pg'
import type { NamedTemplate } from '../channels/sync-templates.ts'
import { listTexts } from '../messaging-api/message-template.ts'
import { findOrders, type OrdersClient } from '../orders-client/orders-client.ts'
import { type Acceptance, acceptMessages, findAcceptance, type Origin } from './accept.ts'
import { fillFrom, hasPlaceholder, placeholderError, toSource } from './placeholders.ts'
import type { Batch, MessageBody, MessageRequest } from './schema.ts'

export interface WaybillDependencies {
  readonly pool: pg.Pool
  readonly orders: OrdersClient
  /** Is the only `messaging_product` that a message may name; if omitted, a message may name any. */
  readonly product?: string | undefined
  /** Reads the catalogue anew where it lacks one of these templates. */
  readonly syncLacking?: ((tenant: string, named: readonly NamedTemplate[]) => Promise<void>) | undefined
  /** Limits the messages of a bulk request, by default to 1000. */
  readonly maxMessages?: number | undefined
  /** Limits the bytes of a request, by default to 5 MiB. */
  readonly maxBodyBytes?: number | undefined
}

/** Limits how often orders are read again because an edit arrived meanwhile. */
const maxTries = 3

/**
 * Accepts messages about waybills. Before the transaction, it reads the orders of the messages that omit their
 * recipient, name fields or may spell their waybill otherwise, unless the request is a repetition. While orders is
 * unavailable it returns the errors found so far, if there are any.
 */
export const acceptBodies = async (
  dependencies: WaybillDependencies,
  tenant: string,
  bodies: Batch<MessageBody>,
  origin: Origin = {},
): Promise<Acceptance> => {
  const { pool } = dependencies
  const mayAsk = bodies.messages.some(body => body && asksOrders(body))
  const earlier = origin.key && mayAsk ? await findAcceptance(pool, tenant, origin.key) : undefined
  if (earlier) return earlier
  for (let tries = 1; tries <= maxTries; tries++) {
    const readAt = mayAsk ? await createClock(pool)() : undefined
    const requests = await readRequests(dependencies, tenant, bodies)
    if (!requests) break
    const acceptance = await acceptMessages(pool, tenant, requests, { ...origin, readAt })
    if (acceptance.kind !== 'orders_away') return acceptance
  }
  return bodies.errors.count > 0 ? { kind: 'refused', errors: bodies.errors } : { kind: 'orders_away' }
}

/** Returns the messages, filled from their orders if any; undefined while orders is needed and unavailable. */
export const readRequests = async (
  { orders, product, syncLacking }: Omit<WaybillDependencies, 'pool'>,
  tenant: string,
  batch: Batch<MessageBody>,
): Promise<Batch<MessageRequest> | undefined> => {
  checkBodies(batch, product)
  const bodies = batch.messages.filter(body => body !== undefined)
  await syncLacking?.(tenant, bodies.flatMap(toNamed))
  const waybills = bodies.filter(asksOrders).flatMap(({ waybill_number: waybill }) => {
    const isUsable = typeof waybill === 'string' && !isBlank(waybill) && !isBadText(waybill)
    return isUsable ? waybill : []
  })
  const found = await findOrders(orders, tenant, waybills)
  return found && { ...batch, messages: fillBodies(batch, found) }
}

const asksOrders = (body: MessageBody): boolean => needsOrder(body) || isTyped(body.waybill_number ?? '')

/** Returns true for a number with a digit and with blanks or lower-case letters, which orders may spell otherwise. */
const isTyped = (waybill: string): boolean => /\d/.test(waybill) && /[a-z\s]/.test(waybill)

/** Returns a waybill number as its order spells it, else as given; undefined while orders is unavailable. */
export const findTyped = async (orders: OrdersClient, tenant: string, waybill: string): Promise<string | undefined> => {
  if (!isTyped(waybill) || isBadText(waybill)) return waybill
  const found = await findOrders(orders, tenant, [waybill])
  return found && (found.get(waybill)?.waybill_number ?? waybill)
}

/** Returns the template that a message names; none if Postgres cannot store its channel name, which a check refuses. */
const toNamed = ({ channel, template: { name, language } }: MessageBody): NamedTemplate[] =>
  isBadText(channel ?? '') ? [] : [{ channel: channel || null, name, language: language.code }]

const needsOrder = (body: MessageBody): boolean =>
  isBlank(body.to) || listTexts(body.template).some(({ text }) => hasPlaceholder(text))

const needsWaybill = 'The waybill number field is required: a text names a field of its order.'

const checkBodies = ({ messages, errors, toPath }: Batch<MessageBody>, product: string | undefined): void => {
  for (const [index, body] of messages.entries()) {
    if (errors.isFull) return
    if (!body) continue
    const add = (path: string, sentence: string) => errors.add(toPath(index) + path, sentence)
    for (const { text, path } of listTexts(body.template)) {
      const error = placeholderError(text)
      if (error) add(`template.${path}`, error)
    }
    const { waybill_number: waybill, messaging_product: given } = body
    if (product !== undefined && !isBlank(given) && given !== product)
      add('messaging_product', `The messaging product field must be ${product}.`)
    if (isBadText(waybill ?? '')) add('waybill_number', badText('waybill_number'))
    if (!isBlank(waybill)) continue
    if (isBlank(body.to)) add('to', required('to'))
    else if (needsOrder(body)) add('waybill_number', needsWaybill)
  }
}

const unknownWaybill = 'The requested waybill does not exist in the system.'

const fillBodies = ({ messages, errors, toPath }: Batch<MessageBody>, found: ReadonlyMap<string, OrderSnapshot>) =>
  messages.map((body, index) => {
    if (!body) return undefined
    const order = found.get(body.waybill_number ?? '')
    if (order) return fillBody(body, order)
    if (needsOrder(body) && !isBlank(body.waybill_number))
      errors.addFirst(`${toPath(index)}waybill_number`, unknownWaybill)
    return isBlank(body.to) ? undefined : { ...body, to: body.to as string }
  })

const fillBody = (body: MessageBody, order: OrderSnapshot): MessageRequest => {
  const source = toSource(body.template, order, isBlank(body.to))
  return {
    ...body,
    waybill_number: order.waybill_number,
    to: source.isToCustomer ? order.customer_phone : (body.to as string),
    isUnderWay: needsOrder(body) && isUnderWay(order),
    ...fillFrom(source, order),
    source: needsOrder(body) ? source : undefined,
  }
}
