import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'

/** Describes the simulator's behaviour: settings define it, and PUT /control/behaviour changes it at run time. */
export const Behaviour = closed(
  {
    webhook_url: Type.Union([Type.String({ maxLength: 2048, pattern: '^https?://.+' }), Type.Null()], {
      description: 'The address of webhooks; null sends none.',
      must: 'be an http:// or https:// address, or null',
    }),
    delay_factor: Type.Number({
      minimum: 0,
      maximum: 100,
      description: 'Multiplies the delays of the status webhooks; 0 sends them at once.',
      must: 'be a number, 0 to 100',
    }),
    answer_latency_ms: Type.Integer({
      minimum: 0,
      maximum: 600_000,
      description: 'The delay of every response of the messaging API, in milliseconds.',
      must: 'be a whole number of milliseconds, 0 to 600000',
    }),
    throughput_per_second: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'The messages per second beyond which a number gets error 130429; 0 sets no limit.',
      must: 'be a whole number, 0 to 1000000',
    }),
    portfolio_limit: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description:
        'The people whom templates outside an open window may reach in 24 hours, from all numbers; 0 sets no limit. A change forgets whom they reached.',
      must: 'be a whole number, 0 to 1000000',
    }),
    people: oneOf(['phones', 'both', 'user_ids', 'user_ids_in_from'], {
      description:
        'How webhooks name people: by phone number, by that and the user id, by the user id alone, or by a user id in the fields for phone numbers.',
    }),
    prices: oneOf(['2026-10', '2025-07'], {
      description: 'The prices in force: since October 2026 or, as before, with utility messages free in open windows.',
    }),
    payment_method: Type.Boolean({
      description:
        'True if the accounts have a payment method. Without one, free-form messages above the free ones are accepted and not delivered.',
    }),
    free_service_messages: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'The free-form messages of a number and month that cost nothing.',
      must: 'be a whole number, 0 to 1000000',
    }),
    webhook_fields: Type.Array(Type.String({ maxLength: 100 }), {
      maxItems: 100,
      description: 'The fields that the app is subscribed to; others send no webhook.',
      must: 'be a list of names of fields',
    }),
  },
  { title: 'Behaviour' },
)
export type Behaviour = Static<typeof Behaviour>

export const defaultBehaviour: Behaviour = {
  webhook_url: 'http://127.0.0.1:3001/webhooks/messaging',
  delay_factor: 1,
  answer_latency_ms: 0,
  throughput_per_second: 80,
  portfolio_limit: 0,
  people: 'phones',
  prices: '2026-10',
  payment_method: true,
  free_service_messages: 1000,
  webhook_fields: [
    ...['messages', 'standby', 'messaging_handovers', 'calls', 'smb_message_echoes', 'user_preferences'],
    ...['message_template_status_update', 'template_category_update', 'message_template_quality_update'],
    ...['account_update', 'business_capability_update', 'phone_number_quality_update', 'phone_number_name_update'],
    ...['account_review_update', 'account_alerts', 'business_status_update', 'security', 'flows'],
  ],
}
