import { inTenant } from '@courier/shared/database.ts'
import { errorAnswers } from '@courier/shared/http/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { OrderDesk } from '../events/order-desk.ts'
import { findFaultyEvents } from '../events/queries.ts'
import { ordersAway, unknownWaybill } from '../events/refusals.ts'
import { messageStatuses } from '../messages/status.ts'
import { mergeTimelines } from './merge.ts'
import { findMoments } from './queries.ts'

export interface TimelineOptions {
  readonly pool: pg.Pool
  readonly orders: OrderDesk
  readonly staffOf: (request: FastifyRequest) => { tenant: string }
}

const orNull = Type.Union([Type.String(), Type.Null()])
const at = Type.String({ description: 'ISO 8601, UTC' })

const Entry = Type.Union([
  Type.Object(
    {
      kind: Type.Literal('tracking'),
      at,
      status_key: Type.String(),
      status_name: Type.String(),
      staff_name: orNull,
      note: orNull,
    },
    { description: 'A status of the order.' },
  ),
  Type.Object(
    {
      kind: Type.Literal('message'),
      at,
      message_id: Type.String(),
      template: Type.String(),
      status: Type.Union(messageStatuses.map(status => Type.Literal(status))),
      detail: orNull,
    },
    { description: 'A status of a message about it.' },
  ),
  Type.Object(
    {
      kind: Type.Literal('event'),
      at,
      event_id: Type.String(),
      type: Type.String(),
      status_key: Type.String(),
      template: Type.String(),
      detail: Type.String(),
    },
    { description: 'A message that could not be made, and why.' },
  ),
])

const Timeline = Type.Object(
  {
    data: Type.Object({
      waybill_number: Type.String(),
      order: Type.Object({ status_key: Type.String(), status_name: Type.String() }),
      timeline: Type.Array(Entry, { description: 'Newest first.' }),
    }),
  },
  { title: 'Timeline' },
)

/** What happened to a parcel and what its customer was told. */
export const timeline: FastifyPluginAsyncTypebox<TimelineOptions> = async (app, options) => {
  app.get(
    '/api/timeline/:waybill',
    {
      schema: {
        tags: ['timeline'],
        summary: 'What happened to a parcel and what its customer was told',
        security: [{ token: [] }],
        params: Type.Object({
          waybill: Type.String({
            maxLength: 50,
            pattern: '^[^\\u0000\\ud800-\\udfff]+$',
            must: 'be a waybill number',
          }),
        }),
        response: { 200: Timeline, ...errorAnswers(400, 401, 404, 422, 429, 503) },
      },
    },
    request => tell(options, options.staffOf(request).tenant, request.params.waybill),
  )
}

const tell = async (
  { pool, orders }: TimelineOptions,
  tenant: string,
  waybill: string,
): Promise<Static<typeof Timeline>> => {
  const found = await orders.find(tenant, waybill)
  if (found.kind === 'unknown') throw unknownWaybill()
  if (found.kind === 'unavailable') throw ordersAway()
  const { waybill_number, status_key, status_name, timeline: tracking } = found.order
  const own = await inTenant(pool, tenant, async (tx: Tx) => ({
    messages: await findMoments(tx, tenant, waybill_number),
    events: await findFaultyEvents(tx, tenant, waybill_number),
  }))
  return {
    data: {
      waybill_number,
      order: { status_key, status_name },
      timeline: mergeTimelines({ tracking, ...own }),
    },
  }
}
