import { type Static, Type } from '@sinclair/typebox'

/** How the simulator behaves: set by its settings, changed while it runs by PUT /control/behaviour. */
export const Behaviour = Type.Object(
  {
    webhook_url: Type.Union([Type.String({ pattern: '^https?://.+' }), Type.Null()], {
      description: 'Where webhooks of numbers without an address of their own go; null sends none.',
      must: 'be an http:// or https:// address, or null',
    }),
    delay_factor: Type.Number({
      minimum: 0,
      maximum: 100,
      description: 'Multiplies the delays of the status webhooks; 0 sends them at once.',
      must: 'be a number, 0 to 100',
    }),
    served_version: Type.String({
      pattern: '^v\\d+\\.\\d+$',
      description: 'The oldest version still usable: it serves the calls to older ones (messaging-api 0).',
      must: 'look like v21.0',
    }),
    answer_latency_ms: Type.Integer({
      minimum: 0,
      maximum: 600_000,
      description: 'Every answer of the messaging API waits so many milliseconds.',
      must: 'be a whole number of milliseconds, 0 to 600000',
    }),
    throughput_per_second: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'Messages that a number may send in a second, else 130429; 0 is no limit.',
      must: 'be a whole number, 0 to 1000000',
    }),
    pair_rate: Type.Boolean({
      description: 'Whether one message per 6 s to one recipient, 45 ahead, is enforced by 131056.',
    }),
    magic_recipients: Type.Boolean({ description: 'Whether certain recipients cause trouble, as the README lists.' }),
    webhook_copies: Type.Integer({
      minimum: 1,
      maximum: 10,
      description: 'How often each status comes.',
      must: 'be a whole number, 1 to 10',
    }),
    webhook_disorder: Type.Boolean({ description: 'Whether read comes before delivered and delivered before sent.' }),
    webhook_batch: Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: 'How many updates one webhook may carry; it carries fewer when fewer are waiting.',
      must: 'be a whole number, 1 to 1000',
    }),
  },
  { title: 'Behaviour' },
)
export type Behaviour = Static<typeof Behaviour>

export const defaultBehaviour: Behaviour = {
  webhook_url: 'http://127.0.0.1:3001/webhooks/messaging',
  delay_factor: 1,
  served_version: 'v21.0',
  answer_latency_ms: 0,
  throughput_per_second: 80,
  // Off: a person at the demo, and tests, send many messages to one recipient on purpose.
  pair_rate: false,
  magic_recipients: true,
  webhook_copies: 1,
  webhook_disorder: false,
  webhook_batch: 100,
}
