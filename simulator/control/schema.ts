import { type Static, Type } from '@sinclair/typebox'
import { AccessToken, PhoneNumber } from '../accounts/account.ts'
import { Behaviour } from '../behaviour.ts'
import { oneOf } from '../one-of.ts'
import { Template } from '../templates/template.ts'
import { Outage } from '../trouble/outage.ts'
import { Script } from '../trouble/scripts.ts'
import { statusWords } from '../trouble/trouble.ts'
import { WebhookCounts } from '../webhooks/views.ts'

const Count = Type.String({ pattern: '^[0-9]{1,6}$', must: 'be a whole number' })

/** What a PUT leaves out stays as it is, or as the demo account has it. */
export const NumberChange = Type.Partial(Type.Omit(PhoneNumber, ['phone_number_id']), { title: 'NumberChange' })
export type NumberChange = Static<typeof NumberChange>

export const TokenChange = Type.Composite(
  [Type.Pick(AccessToken, ['access_token']), Type.Partial(Type.Omit(AccessToken, ['access_token']))],
  { title: 'TokenChange' },
)
export type TokenChange = Static<typeof TokenChange>

export const TemplateChange = Type.Composite(
  [
    Type.Object({ waba_id: Type.Optional(Type.String({ description: 'Default the account of the first number.' })) }),
    Type.Pick(Template, ['name']),
    Type.Partial(Type.Omit(Template, ['name'])),
  ],
  { title: 'TemplateChange' },
)
export type TemplateChange = Static<typeof TemplateChange>

export const BehaviourChange = Type.Partial(Behaviour, { title: 'BehaviourChange', additionalProperties: false })
export type BehaviourChange = Static<typeof BehaviourChange>

export const MessageQuery = Type.Object({
  to: Type.Optional(Type.String({ description: 'Recipient; anything but digits is ignored.' })),
  phone_number_id: Type.Optional(Type.String()),
  status: Type.Optional(oneOf(['accepted', ...statusWords])),
  callback: Type.Optional(Type.String({ description: 'biz_opaque_callback_data.' })),
  limit: Type.Optional(Count),
})
/** Which messages are asked for, with the limit as a number. */
export type MessageQuestion = Omit<Static<typeof MessageQuery>, 'limit'> & { limit?: number | undefined }

export const ListQuery = Type.Object({ limit: Type.Optional(Count) })

export const StatusOrder = Type.Object(
  {
    message_id: Type.String(),
    status: oneOf(statusWords),
    code: Type.Optional(Type.Integer({ minimum: 0 })),
    copies: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  },
  { title: 'StatusOrder' },
)
export type StatusOrder = Static<typeof StatusOrder>

export const RawWebhook = Type.Object(
  {
    phone_number_id: Type.Optional(
      Type.String({ description: 'Whose callback and secret; default the first number.' }),
    ),
    body: Type.Unknown({ description: 'Sent as it is: a string as its bytes, anything else as JSON.' }),
    signature: Type.Optional(
      Type.Union([Type.String({ pattern: '^[\\x20-\\x7e]*$' }), Type.Null()], {
        description: 'Instead of the right one; null sends none.',
        must: 'be printable ASCII, or null',
      }),
    ),
  },
  { title: 'RawWebhook' },
)
export type RawWebhook = Static<typeof RawWebhook>

export const Answered = Type.Object(
  {
    status: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: no answer came.' }),
    body: Type.String({ description: 'What came back, or why nothing did.' }),
  },
  { title: 'Answered' },
)
export type Answered = Static<typeof Answered>

export const Verification = Type.Composite([Answered, Type.Object({ verified: Type.Boolean() })], {
  title: 'Verification',
})
export type Verification = Static<typeof Verification>

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

export const AccountsView = Type.Object(
  {
    numbers: Type.Array(Type.Omit(PhoneNumber, ['app_secret', 'pin'])),
    tokens: Type.Array(
      Type.Composite([Type.Object({ last4: Type.String() }), Type.Omit(AccessToken, ['access_token'])]),
    ),
    templates: Type.Array(Type.Composite([Type.Object({ waba_id: Type.String() }), Template])),
  },
  { title: 'Accounts' },
)
export type AccountsView = Static<typeof AccountsView>
