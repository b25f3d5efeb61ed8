import type { Actor } from '@courier/shared/audit.ts'
import type { Faults } from '@courier/shared/http/errors.ts'
import { badText, isBadText, isBlank, required } from '@courier/shared/http/faults.ts'
import type { IdempotencyKey } from '@courier/shared/idempotency.ts'
import type { OrderFacts } from '@courier/shared/order-facts.ts'
import type pg from 'pg'
import type { OrderDesk } from '../events/order-desk.ts'
import { type Acceptance, acceptMessages, findAnswer, type PathOf } from './accept.ts'
import { findOrders } from './find-orders.ts'
import { fillText, hasPlaceholder, placeholderFault } from './placeholders.ts'
import type { MessageBody, MessageRequest, MessageTemplate } from './schema.ts'

export interface WaybillDesk {
  readonly pool: pg.Pool
  readonly orders: OrderDesk
}

/**
 * As `acceptMessages`, for messages about a waybill: orders is asked for those that leave out their recipient or name
 * fields of the order in their texts, before the transaction. A call that was done before is not asked about again.
 */
export const acceptBodies = async (
  { pool, orders }: WaybillDesk,
  tenant: string,
  bodies: readonly MessageBody[],
  pathOf: PathOf,
  key?: IdempotencyKey,
  by?: Actor,
): Promise<Acceptance | { kind: 'orders_away' }> => {
  const faults = checkBodies(bodies, pathOf)
  if (Object.keys(faults).length > 0) return { kind: 'refused', faults }
  const asking = bodies.filter(needsOrder)
  const earlier = key && asking.length > 0 ? await findAnswer(pool, tenant, key) : undefined
  if (earlier) return earlier
  const found = await findOrders(
    orders,
    tenant,
    asking.map(({ waybill_number }) => waybill_number as string),
  )
  if (!found) return { kind: 'orders_away' }
  const { requests, unknown } = fillBodies(bodies, found, pathOf)
  if (Object.keys(unknown).length > 0) return { kind: 'refused', faults: unknown }
  return acceptMessages(pool, tenant, requests, pathOf, key, by)
}

const parametersOf = ({ template }: MessageBody) =>
  template.components.flatMap(({ parameters }, c) =>
    parameters.map(({ text }, p) => ({ text, path: `template.components.${c}.parameters.${p}.text` })),
  )

const needsOrder = (body: MessageBody): boolean =>
  isBlank(body.to) || parametersOf(body).some(({ text }) => hasPlaceholder(text))

const needsWaybill = 'The waybill number field is required: a text names a field of its order.'

const checkBodies = (bodies: readonly MessageBody[], pathOf: PathOf): Faults => {
  const faults: Faults = {}
  for (const [index, body] of bodies.entries()) {
    const prefix = pathOf(index)
    for (const { text, path } of parametersOf(body)) {
      const fault = placeholderFault(text)
      if (fault) faults[prefix + path] = [fault]
    }
    const { waybill_number: waybill } = body
    if (isBadText(waybill ?? '')) faults[`${prefix}waybill_number`] = [badText('waybill_number')]
    if (!isBlank(waybill)) continue
    if (isBlank(body.to)) faults[`${prefix}to`] = [required('to')]
    else if (needsOrder(body)) faults[`${prefix}waybill_number`] = [needsWaybill]
  }
  return faults
}

const fillBodies = (bodies: readonly MessageBody[], found: ReadonlyMap<string, OrderFacts>, pathOf: PathOf) => {
  const unknown: Faults = {}
  const requests: MessageRequest[] = []
  for (const [index, body] of bodies.entries()) {
    const order = found.get(body.waybill_number ?? '')
    if (order) requests.push(fillBody(body, order))
    else if (!needsOrder(body)) requests.push({ ...body, to: body.to ?? '' })
    else unknown[`${pathOf(index)}waybill_number`] = ['The requested waybill does not exist in the system.']
  }
  return { requests, unknown }
}

const fillBody = (body: MessageBody, order: OrderFacts): MessageRequest => ({
  ...body,
  to: isBlank(body.to) ? order.customer_phone : (body.to as string),
  template: fillTemplate(body.template, order),
})

/** Texts without a field of the order stay as they are. */
const fillTemplate = (template: MessageTemplate, order: OrderFacts): MessageTemplate => ({
  ...template,
  components: template.components.map(component => ({
    ...component,
    parameters: component.parameters.map(parameter =>
      hasPlaceholder(parameter.text) ? { ...parameter, text: fillText(parameter.text, order) } : parameter,
    ),
  })),
})
