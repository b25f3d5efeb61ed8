import { type Static, Type } from '@sinclair/typebox'
import { component, orNull } from '../schemas.ts'

/** Describes a message about an order, as its merchant may know it: without the text and the phone number. */
export const SentMessage = component('SentMessage', {
  template: orNull(Type.String(), {
    description: 'null: a text without a template.',
    examples: ['order_created'],
  }),
  status: Type.String({
    description: 'queued, held, sending, unknown, accepted, sent, delivered, read, failed, cancelled or expired.',
    examples: ['delivered'],
  }),
  at: Type.String({ description: 'The time when the message got this status. ISO 8601, UTC.' }),
})

/** Lists the newest messages about an order, newest first. */
export const SentMessages = component('SentMessages', { data: Type.Array(SentMessage) })
export type SentMessages = Static<typeof SentMessages>
