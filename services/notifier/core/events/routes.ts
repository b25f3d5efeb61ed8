import { isTenantId } from '@courier/shared/access/authenticate.ts'
import {
  CourierEvents,
  KnownEvents,
  knownEventsPerPage,
  maxEventBytesPerRequest,
  UtcTime,
} from '@courier/shared/contract/order-events.ts'
import { SentMessages } from '@courier/shared/contract/sent-messages.ts'
import { errorResponses, httpError, invalid } from '@courier/shared/errors/errors.ts'
import { badText, isBadText } from '@courier/shared/errors/field-errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { inSpans, type Tracer } from '@courier/shared/traces.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { findTenant } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { EventPoint } from './process.ts'
import { type EventOutcome, eventOutcomes, processEvents } from './process.ts'
import { findKnownEvents, findSentMessages, maxSentMessages, readSubject } from './queries.ts'

interface EventsOptions {
  readonly pool: pg.Pool
  readonly points?: readonly EventPoint[] | undefined
  readonly tracer?: Tracer | undefined
  readonly onQueued: () => void
  readonly onProcessed: (outcome: EventOutcome, count: number) => void
}

const maxBodyBytes = 2 * maxEventBytesPerRequest

const Accepted = Type.Object(
  {
    message: Type.String({ examples: ['The events are accepted.'] }),
    data: Type.Object({
      // Orders of an earlier release require this name.
      taken: Type.Integer({ description: 'The number of new events.' }),
      repeated: Type.Integer({ description: 'Events that were accepted before: they create no messages.' }),
      expired: Type.Integer({ description: 'New events that are older than 24 hours: they create no messages.' }),
    }),
  },
  { title: 'EventsAccepted', description: 'The events are committed: none need be sent again.' },
)

/** Serves orders; the caller has checked that it is orders. */
export const eventRoutes: FastifyPluginAsyncTypebox<EventsOptions> = async (app, options) => {
  const { pool, tracer, onQueued, onProcessed } = options

  const AcceptEvents = {
    operationId: 'acceptEvents',
    summary: 'Accept events from orders, each id once',
    description:
      'An event for which no message can be created is accepted too; GET /api/timeline shows why. ' +
      'Events of a tenant that is unknown here are refused with `unknown_tenant`; they may be repeated later.',
    security: [{ service: [] }],
    body: CourierEvents,
    response: { 200: Accepted, ...errorResponses(404) },
  }
  app.post('/internal/events', { bodyLimit: maxBodyBytes, schema: AcceptEvents }, async request => {
    refuseBadTexts(request.body)
    const { tenant, events } = request.body
    const processed = await inSpans(tracer, 'events.process', 'consumer', events, traced =>
      processEvents(pool, { tenant, events: [...traced] }, options.points),
    )
    if (!processed) throw httpError('unknown_tenant', 'The tenant is unknown: its file has not been applied.')
    for (const outcome of eventOutcomes) if (processed[outcome] > 0) onProcessed(outcome, processed[outcome])
    if (processed.queued + processed.failed + processed.edited > 0) onQueued()
    const { repeated, expired } = processed
    request.log.info({ tenant, ...processed }, 'events.accepted')
    return { message: 'The events are accepted.', data: { taken: events.length - repeated, repeated, expired } }
  })

  const ListKnownEvents = {
    operationId: 'listKnownEvents',
    summary: 'List the events that the notifier has processed',
    description: 'Serves orders after a backup was restored. Ids are kept for 30 days.',
    security: [{ service: [] }],
    params: Type.Object({ tenant: Type.String() }),
    querystring: Type.Object({ since: UtcTime, after: Type.Optional(Type.String({ maxLength: 200 })) }),
    response: { 200: KnownEvents, ...errorResponses(404) },
  }
  app.get('/internal/events/:tenant', { schema: ListKnownEvents }, async ({ params, query }) => {
    const known = await readKnownEvents(pool, params.tenant, new Date(query.since), query.after)
    if (!known) throw app.httpErrors.notFound(`There is no tenant ${params.tenant}.`)
    return known
  })

  const ListSentMessages = {
    tags: ['timeline'],
    operationId: 'listSentMessages',
    summary: 'List the statuses of the messages about a parcel, for its merchant',
    description: `Returns the newest ${maxSentMessages}, newest first. Requires SERVICE_TOKEN.`,
    security: [{ service: [] }],
    params: Type.Object({ tenant: Type.String(), waybill: Type.String() }),
    response: { 200: SentMessages },
  }
  app.get('/internal/messages/:tenant/:waybill', { schema: ListSentMessages }, async ({ params }) => {
    const { tenant, waybill } = params
    if (!isTenantId.test(tenant) || isBadText(waybill)) return { data: [] }
    return { data: await inTenant(pool, tenant, (tx: Tx) => findSentMessages(tx, tenant, waybill)) }
  })
}

const readKnownEvents = async (pool: pg.Pool, tenant: string, since: Date, after?: string) => {
  if (after !== undefined && isBadText(after)) throw invalid({ after: [badText('after')] })
  const known = isTenantId.test(tenant)
    ? await inTenant(pool, tenant, async (tx: Tx) => ({
        tenant: await findTenant(tx, tenant),
        events: await findKnownEvents(tx, tenant, since, after, knownEventsPerPage + 1),
      }))
    : undefined
  if (!known?.tenant) return undefined
  const events = known.events.slice(0, knownEventsPerPage)
  const last = known.events.length > events.length ? events.at(-1)?.event_id : undefined
  return {
    data: events.map(({ event_id: _, happened_at: at, ...event }) => ({ ...event, happened_at: at.toISOString() })),
    next: last ?? null,
    in_doubt_before: known.tenant.in_doubt_before?.toISOString() ?? null,
  }
}

/** Refuses texts that Postgres cannot store. Fields other than these only fill in message texts. */
const refuseBadTexts = ({ tenant, events }: CourierEvents): void => {
  const texts = events.flatMap((event, index) => {
    const { waybill_number = '', status_key = '', merchant_name } = readSubject(event)
    return [
      [`events.${index}.id`, event.id],
      [`events.${index}.order.waybill_number`, waybill_number],
      [`events.${index}.order.status_key`, status_key],
      [
        `events.${index}.${Object.entries(event).find(([, value]) => typeof value === 'object')?.[0]}.merchant_name`,
        merchant_name,
      ],
    ]
  })
  const bad = [['tenant', tenant], ...texts].filter(([, text = '']) => isBadText(text))
  if (bad.length > 0) throw invalid(Object.fromEntries(bad.map(([path = '']) => [path, [badText(path)]])))
}
