import { errorAnswers, type Faults, invalid } from '@courier/shared/http/errors.ts'
import { badText, isBadText } from '@courier/shared/http/faults.ts'
import { acceptJson } from '@courier/shared/http/json-body.ts'
import { requireService } from '@courier/shared/http/service.ts'
import { maxEventsBytesPerCall, OrderEvents } from '@courier/shared/order-facts.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { type EventOutcome, eventOutcomes, takeEvents } from './take.ts'

export interface EventsOptions {
  readonly pool: pg.Pool
  readonly serviceToken: string
  /** Told that there may be messages to send. */
  readonly onQueued: () => void
  /** Told how many events of a call came to what. */
  readonly onTaken: (outcome: EventOutcome, count: number) => void
}

/** With room for what stands around the events. */
const maxBodyBytes = 2 * maxEventsBytesPerCall

const Taken = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      taken: Type.Integer({ description: 'Events that are new.' }),
      repeated: Type.Integer({ description: 'Events that were taken before: nothing is made of them.' }),
    }),
  },
  { description: 'All of it is on disk: no event need be told again.' },
)

/** What orders tells. */
export const events: FastifyPluginAsyncTypebox<EventsOptions> = async (app, options) => {
  const { pool, serviceToken, onQueued, onTaken } = options
  acceptJson(app)
  app.addHook('onRequest', requireService(serviceToken))

  app.post(
    '/internal/events',
    {
      bodyLimit: maxBodyBytes,
      schema: {
        tags: ['events'],
        summary: 'Take events of orders, each id once',
        description: 'An event that no message can be made of is taken too; GET /api/timeline tells why.',
        security: [{ service: [] }],
        body: OrderEvents,
        response: { 200: Taken, ...errorAnswers(400, 401, 413, 415, 422, 429, 503) },
      },
    },
    async request => {
      refuseBadTexts(request.body)
      const taken = await takeEvents(pool, request.body)
      const { tenant, events } = request.body
      for (const outcome of eventOutcomes) if (taken[outcome] > 0) onTaken(outcome, taken[outcome])
      if (taken.queued + taken.failed > 0) onQueued()
      const { repeated } = taken
      if (taken.unknown_tenant > 0) request.log.warn({ tenant, events: taken.unknown_tenant }, 'events.tenant_unknown')
      else request.log.info({ tenant, ...taken }, 'events.taken')
      return { message: 'The events are taken.', data: { taken: events.length - repeated, repeated } }
    },
  )
}

/** What a schema cannot say: Postgres takes neither U+0000 nor lone surrogates. Of other fields only texts are made. */
const refuseBadTexts = ({ tenant, events }: OrderEvents): void => {
  const faults: Faults = {}
  const refuse = (path: string, text: string): void => {
    if (isBadText(text)) faults[path] = [badText(path)]
  }
  refuse('tenant', tenant)
  for (const [index, { id, order }] of events.entries()) {
    refuse(`events.${index}.id`, id)
    refuse(`events.${index}.order.waybill_number`, order.waybill_number)
    refuse(`events.${index}.order.status_key`, order.status_key)
  }
  if (Object.keys(faults).length > 0) throw invalid(faults)
}
