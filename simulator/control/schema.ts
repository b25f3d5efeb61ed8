import { errorResponses } from '@courier/shared/errors/errors.ts'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { AccessToken, PhoneNumber } from '../accounts/account.ts'
import { Template } from '../accounts/template.ts'
import { Behaviour } from '../basics/behaviour.ts'
import { oneOf } from '../basics/one-of.ts'
import { Outage, Script } from '../trouble/scripts.ts'
import { statusWords } from '../trouble/trouble.ts'
import { WebhookCounts } from '../webhooks/schema.ts'

/** A number in a path. */
export const OfNumber = Type.Object({
  id: Type.String({ maxLength: 20, pattern: '^[0-9]{1,20}$', must: 'be 1 to 20 digits' }),
})

const Count = Type.String({ maxLength: 6, pattern: '^[0-9]{1,6}$', must: 'be a whole number' })

/** A PUT leaves omitted fields as they are; a new number takes them from the demo account. */
export const NumberChange = Type.Partial(Type.Omit(PhoneNumber, ['phone_number_id']), { title: 'NumberChange' })
export type NumberChange = Static<typeof NumberChange>

export const TokenChange = Type.Composite(
  [Type.Pick(AccessToken, ['access_token']), Type.Partial(Type.Omit(AccessToken, ['access_token']))],
  { title: 'TokenChange' },
)
export type TokenChange = Static<typeof TokenChange>

export const BehaviourChange = Type.Partial(Behaviour, { title: 'BehaviourChange', additionalProperties: false })
export type BehaviourChange = Static<typeof BehaviourChange>

export const MessageQuery = Type.Object({
  to: Type.Optional(Type.String({ description: 'Recipient; anything but digits is ignored.' })),
  phone_number_id: Type.Optional(Type.String()),
  limit: Type.Optional(Count),
})
/** The filter of a list of messages, with the limit as a number. */
export type MessageQuestion = Omit<Static<typeof MessageQuery>, 'limit'> & { limit?: number | undefined }

export const ListQuery = Type.Object({ limit: Type.Optional(Count) })

export const StatusOrder = Type.Object(
  {
    message_id: Type.String(),
    status: oneOf(statusWords),
    code: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  { title: 'StatusOrder' },
)
export type StatusOrder = Static<typeof StatusOrder>

/** An order to the platform to move a template to another category. */
export const CategoryOrder = Type.Object(
  {
    name: Type.String(),
    language: Type.Optional(Type.String({ description: 'Default en_US.' })),
    category: Template.properties.category,
    in_hours: Type.Optional(Type.Number({ minimum: 0, maximum: 720, description: 'Only announces it.' })),
    phone_number_id: Type.Optional(Type.String({ description: 'Whose account; default the first number.' })),
  },
  { title: 'CategoryOrder' },
)
export type CategoryOrder = Static<typeof CategoryOrder>

export const Summary = Type.Object(
  {
    now: Type.String(),
    accepted: Type.Integer({ description: 'Messages accepted since the last reset.' }),
    calls: Type.Record(Type.String(), Type.Integer(), { description: 'By error code, ok, or trouble.' }),
    planned: Type.Integer({ description: 'Statuses and retries that wait for their time.' }),
    webhooks: WebhookCounts,
    outage: Outage,
    scripts: Type.Array(Script),
    behaviour: Behaviour,
  },
  { title: 'Summary' },
)
export type Summary = Static<typeof Summary>

/** Builds the part of a route's schema that every control route has. */
export const describe = <S extends TSchema>(summary: string, body: S) => ({
  tags: ['control'],
  summary,
  response: { 200: body, ...errorResponses(422) },
})
