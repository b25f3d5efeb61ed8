import { type Static, Type } from '@sinclair/typebox'

/** One post to a callback, as the control calls show it. */
export const WebhookView = Type.Object(
  {
    at: Type.String(),
    phone_number_id: Type.String(),
    url: Type.String(),
    updates: Type.Integer(),
    attempt: Type.Integer(),
    status: Type.Union([Type.Integer(), Type.Null()], { description: 'Of the answer; null when there was none.' }),
    error: Type.Optional(Type.String()),
    duration_ms: Type.Integer(),
  },
  { title: 'Webhook' },
)
export type WebhookView = Static<typeof WebhookView>

export const WebhookCounts = Type.Object({
  waiting: Type.Integer({ description: 'Updates not yet posted.' }),
  under_way: Type.Integer({ description: 'Updates posted and not yet answered.' }),
  to_retry: Type.Integer({ description: 'Updates that wait for their next attempt.' }),
  delivered: Type.Integer({ description: 'Updates answered with 200.' }),
  lost: Type.Integer({ description: 'Updates given up.' }),
})
export type WebhookCounts = Static<typeof WebhookCounts>
