import type { Staff } from '@courier/shared/access/staff.ts'
import { actionOutcomes } from '@courier/shared/contract/customer-actions.ts'
import { errorResponses, notFound } from '@courier/shared/errors/errors.ts'
import { normalisePhone } from '@courier/shared/phone-number.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { oneOf, orNull, Time } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TProperties, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { findCountry } from '../../core/conversations/queries.ts'
import type { Tx } from '../../core/database/tables.ts'
import { Status } from '../../core/messages/view.ts'
import {
  type KnownOrder,
  type OrdersClient,
  ordersUnavailable,
  Previous,
} from '../../core/orders-client/orders-client.ts'
import { Rendered } from '../../core/templates/render.ts'
import { Cost } from '../costs/queries.ts'
import { findActions } from '../customer-actions/queries.ts'
import { mergeTimelines } from './merge.ts'
import { findFailedMessages, findInboundAbout, findStatusUpdates } from './queries.ts'

type TimelineOptions = { readonly pool: pg.Pool; readonly orders: OrdersClient }

const text = Type.String()
const key = Type.String({ examples: ['key_2'] })
const name = Type.String({ examples: ['CONFIRMED'] })
const textOrNull = orNull(text)
const at = Time({ description: 'ISO 8601, UTC' })
const by = Type.Optional(Type.String({ description: 'The party that made the change: merchant, staff or customer.' }))

const toEntry = <Kind extends string, Fields extends TProperties>(kind: Kind, description: string, fields: Fields) =>
  Type.Object({ kind: Type.Literal(kind), at, ...fields }, { description })

const actionText =
  'An action that the customer requested by a button; `outcome` is null until orders has responded, and unconfirmed for an address that the customer has not confirmed.'

const Entry = Type.Union([
  toEntry('tracking', 'A status of the order.', {
    status_key: key,
    status_name: name,
    staff_name: textOrNull,
    note: textOrNull,
    by,
  }),
  toEntry('edit', 'A change of the order: the names of the changed fields, with their previous values.', {
    fields: Type.Array(text),
    staff_name: textOrNull,
    reason: textOrNull,
    by,
    previous: Previous,
  }),
  toEntry('message', 'A status of a message about the order.', {
    message_id: text,
    template: textOrNull,
    status: Status,
    detail: textOrNull,
    text: orNull(text, { description: 'The text of a message without a template.' }),
    rendered: orNull(Rendered, { description: 'A template as the customer read it, if the catalogue ever had it.' }),
    cost: Cost,
  }),
  toEntry('event', 'A message that could not be created, with the reason.', {
    event_id: text,
    type: text,
    status_key: text,
    template: textOrNull,
    detail: text,
  }),
  toEntry('inbound', 'A message that the customer wrote since the order was created, on any subject.', {
    id: text,
    channel: Type.String({ description: 'Phone number id.' }),
    phone: Type.String({ description: 'E.164 digits without the plus, or a user id.' }),
    type: Type.String({ description: 'text, button, location, image, …' }),
    text: textOrNull,
    media_id: textOrNull,
  }),
  toEntry('action', actionText, {
    actor: Type.Literal('customer'),
    message_id: Type.String({ description: 'The message whose button was pressed.' }),
    action: text,
    outcome: orNull(oneOf([...actionOutcomes, 'unconfirmed', 'expired'])),
    detail: textOrNull,
  }),
])

const Timeline = Type.Object(
  {
    data: Type.Object({
      waybill_number: Type.String({ examples: ['DM00000001'] }),
      order: Type.Object({ status_key: key, status_name: name }),
      timeline: Type.Array(Entry, { description: 'Newest first.' }),
    }),
  },
  { title: 'Timeline' },
)

export const timelineRoutes: FastifyPluginAsyncTypebox<TimelineOptions> = async (app, options) => {
  const GetTimeline = {
    operationId: 'getTimeline',
    summary: 'Read the statuses of a parcel and the messages sent to its customer',
    params: Type.Object({
      waybill: Type.String({
        maxLength: 50,
        pattern: '^[^\\u0000\\ud800-\\udfff]+$',
        must: 'be a waybill number',
      }),
    }),
    response: { 200: Timeline, ...errorResponses(404) },
  }
  app.get('/api/timeline/:waybill', { schema: GetTimeline }, request =>
    readTimeline(options, request.staff, request.params.waybill),
  )
}

const readTimeline = async ({ pool, orders }: TimelineOptions, staff: Staff, waybill: string) => {
  const { tenant } = staff
  const found = await orders.find(tenant, waybill)
  if (found.kind === 'unknown') throw notFound('waybill')
  if (found.kind === 'unavailable') throw ordersUnavailable()
  const { waybill_number, status_key, status_name, timeline: tracking, edits } = found.order
  const stored = await inTenant(pool, tenant, async (tx: Tx) => ({
    messages: await findStatusUpdates(tx, staff, waybill_number),
    failed: await findFailedMessages(tx, tenant, waybill_number),
    actions: await findActions(tx, tenant, waybill_number, maxActions),
    inbound: await findInboundAbout(tx, tenant, {
      waybill: waybill_number,
      phones: await listPhones(tx, tenant, found.order),
      since: new Date(found.order.created_at ?? 0),
      limit: maxInbound,
    }),
  }))
  const timeline = mergeTimelines({ tracking, edits, ...stored })
  return { data: { waybill_number, order: { status_key, status_name }, timeline } }
}

const maxActions = 100
const maxInbound = 100

const listPhones = async (tx: Tx, tenant: string, order: KnownOrder): Promise<string[]> => {
  const country = await findCountry(tx, tenant)
  return [order.customer_phone, order.customer_secondary_phone].flatMap(
    phone => (phone && normalisePhone(phone, country)) || [],
  )
}
