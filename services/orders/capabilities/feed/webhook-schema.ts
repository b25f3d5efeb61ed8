import { cursorFields, listCursor } from '@courier/shared/lists/cursor.ts'
import { listQuery, oneOf as oneOfFilter } from '@courier/shared/lists/filters.ts'
import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { Type } from '@sinclair/typebox'
import { changeTypes } from './change-types.ts'
import { ChangeItem } from './feed-page.ts'

/** Limits the endpoints of a merchant: each costs deliveries of its own. */
export const maxEndpoints = 5

const Nullable = (description: string) => orNull(Type.String(), { description })

const Url = Type.String({ maxLength: 1_024, description: 'https, without a user name, at a public address.' })
const Events = Type.Array(oneOf(changeTypes), {
  minItems: 1,
  maxItems: changeTypes.length,
  uniqueItems: true,
  description: 'The types of events that the webhook gets.',
})
const State = Type.Union([Type.Literal('enabled'), Type.Literal('disabled')])

const url = 'https://shop.example/webhooks/courier'
export const NewWebhook = Type.Object(
  {
    url: Url,
    events: Type.Optional({ ...Events, description: 'The types of events that the webhook gets. Default: all.' }),
  },
  { title: 'NewWebhook', examples: [{ url, events: ['order.created', 'order.status_changed'] }] },
)
export const WebhookChange = Type.Object(
  { url: Type.Optional(Url), events: Type.Optional(Events), state: Type.Optional(State) },
  { title: 'WebhookChange', minProperties: 1, examples: [{ state: 'enabled' }] },
)

export const Webhook = component('Webhook', {
  id: Type.String({ examples: ['6c0b6a0e-6d2f-4c53-9f3f-3a0e3c1f1f9a'] }),
  url: Type.String({ examples: [url] }),
  events: Events,
  state: State,
  disabled_reason: Nullable(
    'merchant: you disabled it; gone: it responded with 410; failing: nothing was delivered for five days; ' +
      'merchant_inactive: your account is deactivated.',
  ),
  disabled_at: Nullable('ISO 8601, UTC.'),
  failing_since: Nullable('The time of the first failure since the last success.'),
  previous_secret_until: Nullable('Until this time, messages are also signed with the previous secret.'),
  created_at: Type.String(),
})

export const WebhookWithSecret = component('WebhookWithSecret', {
  ...Webhook.properties,
  secret: Type.String({
    description: 'The key that signs the messages. Shown only once.',
    examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='],
  }),
})

/** Defines the result of a request. */
const attempt = {
  code: orNull(Type.Integer(), {
    description: 'The HTTP status of the response; null if there was none.',
    examples: [204],
  }),
  ms: Type.Integer({ description: 'The duration of the request, in milliseconds.', examples: [87] }),
  error: Nullable('The reason why there was no response.'),
  response_body: Nullable('The first 1,024 bytes of the response body.'),
}
export const Ping = Type.Object(attempt, { title: 'Ping' })

const time = '^(19|2\\d)\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,6})?)?(Z|[+-]\\d\\d:\\d\\d)$'
const Time = (description: string) =>
  Type.String({
    maxLength: 32,
    pattern: time,
    description,
    must: 'be a time such as 2026-02-19T08:00:00Z',
    documented: { type: 'string', format: 'date-time' },
  })
export const ReplayPeriod = Type.Object(
  { from: Time('Events from this time on.'), to: Type.Optional(Time('Events up to this time. Default: now.')) },
  { title: 'ReplayPeriod', examples: [{ from: '2026-02-19T08:00:00Z', to: '2026-02-19T12:00:00Z' }] },
)

const deliveryStates = ['pending', 'delivered', 'failed'] as const

export const WebhookDelivery = component('WebhookDelivery', {
  id: ChangeItem.properties.id,
  type: oneOf(changeTypes),
  waybill_number: orNull(Type.String()),
  state: oneOf(deliveryStates),
  attempts: Type.Integer(),
  ...attempt,
  ms: orNull(Type.Integer()),
  last_attempt_at: Nullable('ISO 8601, UTC.'),
  next_attempt_at: Nullable('While pending, null means that an earlier event of the waybill comes first.'),
  body: Type.Unknown({ description: 'The body that is sent.', examples: [{ type: 'order.created' }] }),
})

export const DeliveryQuery = listQuery(cursorFields, {
  state: oneOfFilter(deliveryStates, 'Only events in this state.'),
})
export const cursors = listCursor(/^[1-9]\d{0,17}$/)

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

/** Describes the request to a merchant's webhook, for the OpenAPI document. */
export const messageOperation = {
  tags: ['webhooks'],
  operationId: 'merchantEvent',
  summary: 'Something happened to one of your orders or invoices',
  description:
    'Sent to your webhooks, signed according to Standard Webhooks, until they acknowledge it ' +
    '(docs/merchants/webhooks.md).',
  security: [],
  parameters: [
    header('webhook-id', 'The id of the event, the same in every attempt.'),
    header('webhook-timestamp', 'The time of the attempt, in seconds since 1970.'),
    header('webhook-signature', 'One signature, or two for a day after the secret was rotated.'),
  ],
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: component('WebhookMessage', {
          type: ChangeItem.properties.type,
          timestamp: ChangeItem.properties.happened_at,
          data: ChangeItem,
        }),
      },
    },
  },
  responses: {
    '2XX': { description: 'The event is acknowledged and not sent again.' },
    410: { description: 'The webhook is disabled.' },
    default: { description: 'The event is sent again.' },
  },
}
