import type { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import type { FieldErrors } from '@courier/shared/http/errors.ts'
import { badText, isBadText, isBlank, required } from '@courier/shared/http/field-errors.ts'
import type { Actor } from '@courier/shared/postgres/audit.ts'
import type { IdempotencyKey } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import type { MessageTemplate } from '../messaging-api/message-template.ts'
import { findOrders } from '../orders-client/find-orders.ts'
import type { OrdersClient } from '../orders-client/orders-client.ts'
import { type Acceptance, acceptMessages, findAcceptance, type PathOf } from './accept.ts'
import { fillText, hasPlaceholder, placeholderError } from './placeholders.ts'
import type { MessageBody, MessageRequest } from './schema.ts'

export interface WaybillDependencies {
  readonly pool: pg.Pool
  readonly orders: OrdersClient
  /** What a message may name as its product; anything without it. */
  readonly product?: string | undefined
}

/**
 * As `acceptMessages`, for messages about a waybill: orders is read for those that omit their recipient or name
 * fields of the order in their texts, before the transaction. A repeated request does not read orders again.
 */
export const acceptBodies = async (
  { pool, orders, product }: WaybillDependencies,
  tenant: string,
  bodies: readonly MessageBody[],
  pathOf: PathOf,
  key?: IdempotencyKey,
  by?: Actor,
): Promise<Acceptance | { kind: 'orders_away' }> => {
  const errors = checkBodies(bodies, pathOf, product)
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  const asking = bodies.filter(needsOrder)
  const earlier = key && asking.length > 0 ? await findAcceptance(pool, tenant, key) : undefined
  if (earlier) return earlier
  const found = await findOrders(
    orders,
    tenant,
    asking.map(({ waybill_number }) => waybill_number as string),
  )
  if (!found) return { kind: 'orders_away' }
  const { requests, unknown } = fillBodies(bodies, found, pathOf)
  if (Object.keys(unknown).length > 0) return { kind: 'refused', errors: unknown }
  return acceptMessages(pool, tenant, requests, pathOf, key, by)
}

const parametersOf = ({ template }: MessageBody) =>
  template.components.flatMap(({ parameters }, c) =>
    parameters.map(({ text }, p) => ({ text, path: `template.components.${c}.parameters.${p}.text` })),
  )

const needsOrder = (body: MessageBody): boolean =>
  isBlank(body.to) || parametersOf(body).some(({ text }) => hasPlaceholder(text))

const needsWaybill = 'The waybill number field is required: a text names a field of its order.'

const checkBodies = (bodies: readonly MessageBody[], pathOf: PathOf, product: string | undefined): FieldErrors => {
  const errors: FieldErrors = {}
  for (const [index, body] of bodies.entries()) {
    const prefix = pathOf(index)
    for (const { text, path } of parametersOf(body)) {
      const error = placeholderError(text)
      if (error) errors[prefix + path] = [error]
    }
    const { waybill_number: waybill, messaging_product: given } = body
    if (product !== undefined && !isBlank(given) && given !== product)
      errors[`${prefix}messaging_product`] = [`The messaging product field must be ${product}.`]
    if (isBadText(waybill ?? '')) errors[`${prefix}waybill_number`] = [badText('waybill_number')]
    if (!isBlank(waybill)) continue
    if (isBlank(body.to)) errors[`${prefix}to`] = [required('to')]
    else if (needsOrder(body)) errors[`${prefix}waybill_number`] = [needsWaybill]
  }
  return errors
}

const fillBodies = (bodies: readonly MessageBody[], found: ReadonlyMap<string, OrderSnapshot>, pathOf: PathOf) => {
  const unknown: FieldErrors = {}
  const requests: MessageRequest[] = []
  for (const [index, body] of bodies.entries()) {
    const order = found.get(body.waybill_number ?? '')
    if (order) requests.push(fillBody(body, order))
    else if (!needsOrder(body)) requests.push({ ...body, to: body.to ?? '' })
    else unknown[`${pathOf(index)}waybill_number`] = ['The requested waybill does not exist in the system.']
  }
  return { requests, unknown }
}

const fillBody = (body: MessageBody, order: OrderSnapshot): MessageRequest => ({
  ...body,
  to: isBlank(body.to) ? order.customer_phone : (body.to as string),
  template: fillTemplate(body.template, order),
})

/** Texts without a field of the order stay as they are. */
const fillTemplate = (template: MessageTemplate, order: OrderSnapshot): MessageTemplate => ({
  ...template,
  components: template.components.map(component => ({
    ...component,
    parameters: component.parameters.map(parameter =>
      hasPlaceholder(parameter.text) ? { ...parameter, text: fillText(parameter.text, order) } : parameter,
    ),
  })),
})
