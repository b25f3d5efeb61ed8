import { oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'

export const PhoneNumberId = Type.String({ maxLength: 32, pattern: '^[0-9]{1,32}$', must: 'be 1 to 32 digits' })

export const Name = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '\\S',
  must: 'be a text of 1 to 255 characters',
})

export const Plan = oneOf(['free', 'paid'], {
  description: 'free: a send needs an open conversation (docs/merchants/contract.md#session-rule).',
  must: 'be free or paid',
})

export const MessagesPerSecond = Type.Integer({ minimum: 1, maximum: 1000, must: 'be a whole number, 1 to 1000' })

// An error message about one of the fields below never shows its value.
/** An access token travels in a header. */
export const Secret = Type.String({
  maxLength: 512,
  pattern: '^[\\x21-\\x7e]{1,512}$',
  must: 'be 1 to 512 printable ASCII characters without blanks',
})

export const VerifyToken = Type.String({ minLength: 1, maxLength: 512, must: 'be a text of 1 to 512 characters' })

export const Pin = Type.String({ maxLength: 6, pattern: '^[0-9]{6}$', must: 'be six digits' })

/** Omitted fields keep their values. */
export const ChannelBody = Type.Object(
  {
    name: Type.Optional(Name),
    plan: Type.Optional(Plan),
    default: Type.Optional(Type.Boolean()),
    access_token: Type.Optional(Secret),
    app_secret: Type.Optional(Secret),
    verify_token: Type.Optional(VerifyToken),
    waba_id: Type.Optional(orNull(PhoneNumberId, { must: PhoneNumberId.must })),
    pin: Type.Optional(Pin),
    messages_per_second: Type.Optional(MessagesPerSecond),
  },
  {
    title: 'ChannelChange',
    description:
      'A new channel needs access_token. By default its plan is paid and its name is its number. It receives no webhooks until it has app_secret and verify_token.',
    additionalProperties: false,
    examples: [{ name: 'Demo Couriers', access_token: 'demo-access-token', waba_id: '102290129340398' }],
  },
)

/** Describes a channel to create or change; secrets are in the clear. */
export type ChannelChange = Readonly<Static<typeof ChannelBody>> & { readonly phone_number_id: string }
