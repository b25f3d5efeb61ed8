import { maxEventBytesPerRequest, OrderEvents } from '@courier/shared/contract/order-events.ts'
import { errorResponses, type FieldErrors, invalid } from '@courier/shared/http/errors.ts'
import { badText, isBadText } from '@courier/shared/http/field-errors.ts'
import { acceptJson } from '@courier/shared/http/json-body.ts'
import { requireService } from '@courier/shared/http/service.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { type EventOutcome, eventOutcomes, processEvents } from './process.ts'

export interface EventsOptions {
  readonly pool: pg.Pool
  readonly serviceToken: string
  /** Called when there may be messages to send. */
  readonly onQueued: () => void
  /** Called with the number of events of each outcome. */
  readonly onProcessed: (outcome: EventOutcome, count: number) => void
}

/** Includes room for the JSON around the events. */
const maxBodyBytes = 2 * maxEventBytesPerRequest

const Taken = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      taken: Type.Integer({ description: 'Events that are new.' }),
      repeated: Type.Integer({ description: 'Events that were accepted before: they create no messages.' }),
    }),
  },
  {
    title: 'EventsAccepted',
    description: 'Committed: no event need be sent again.',
    examples: [{ message: 'The events are taken.', data: { taken: 1, repeated: 0 } }],
  },
)

/** Events from orders. */
export const events: FastifyPluginAsyncTypebox<EventsOptions> = async (app, options) => {
  const { pool, serviceToken, onQueued, onProcessed } = options
  acceptJson(app)
  app.addHook('onRequest', requireService(serviceToken))

  app.post(
    '/internal/events',
    {
      bodyLimit: maxBodyBytes,
      schema: {
        tags: ['events'],
        operationId: 'acceptEvents',
        summary: 'Accept events of orders, each id once',
        description: 'An event for which no message can be created is accepted too; GET /api/timeline shows why.',
        security: [{ service: [] }],
        body: OrderEvents,
        response: { 200: Taken, ...errorResponses(400, 401, 413, 415, 422, 429, 503) },
      },
    },
    async request => {
      refuseBadTexts(request.body)
      const processed = await processEvents(pool, request.body)
      const { tenant, events } = request.body
      for (const outcome of eventOutcomes) if (processed[outcome] > 0) onProcessed(outcome, processed[outcome])
      if (processed.queued + processed.failed > 0) onQueued()
      const { repeated } = processed
      if (processed.unknown_tenant > 0)
        request.log.warn({ tenant, events: processed.unknown_tenant }, 'events.tenant_unknown')
      else request.log.info({ tenant, ...processed }, 'events.accepted')
      return { message: 'The events are taken.', data: { taken: events.length - repeated, repeated } }
    },
  )
}

/** Beyond the schema: Postgres stores neither U+0000 nor lone surrogates. Other fields only fill in message texts. */
const refuseBadTexts = ({ tenant, events }: OrderEvents): void => {
  const errors: FieldErrors = {}
  const refuse = (path: string, text: string): void => {
    if (isBadText(text)) errors[path] = [badText(path)]
  }
  refuse('tenant', tenant)
  for (const [index, { id, order }] of events.entries()) {
    refuse(`events.${index}.id`, id)
    refuse(`events.${index}.order.waybill_number`, order.waybill_number)
    refuse(`events.${index}.order.status_key`, order.status_key)
  }
  if (Object.keys(errors).length > 0) throw invalid(errors)
}
