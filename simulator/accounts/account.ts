import { type Static, Type } from '@sinclair/typebox'
import { oneOf } from '../one-of.ts'

const Digits = Type.String({ pattern: '^[0-9]{1,20}$', must: 'be 1 to 20 digits' })

/** The scopes of a token that messaging needs (spec.md 5.2, messaging-api 0). */
export const scopes = ['whatsapp_business_management', 'whatsapp_business_messaging'] as const

/** A business phone number of a messaging account (WABA). */
export const PhoneNumber = Type.Object(
  {
    phone_number_id: Digits,
    waba_id: Digits,
    display_phone_number: Type.String({ minLength: 1 }),
    verified_name: Type.String(),
    app_secret: Type.String({ minLength: 1, description: 'Signs the webhooks of this number.' }),
    webhook_url: Type.Optional(
      Type.Union([Type.String({ pattern: '^https?://.+' }), Type.Null()], {
        description: 'Where its webhooks go; absent is the webhook_url of the behaviour, null is nowhere.',
        must: 'be an http:// or https:// address, or null',
      }),
    ),
    registered: Type.Boolean({ description: 'Whether it may send; /register makes it so.' }),
    pin: Type.Union([Type.String({ pattern: '^[0-9]{6}$' }), Type.Null()], {
      description: 'The two-step verification PIN; null until the first /register sets one.',
      must: 'be six digits, or null',
    }),
    certificate: Type.String({ description: 'What /register must bring (spec.md 2.7).' }),
    quality_rating: oneOf(['GREEN', 'YELLOW', 'RED', 'UNKNOWN']),
    can_send_message: oneOf(['AVAILABLE', 'LIMITED', 'BLOCKED'], {
      description: 'What health_status says of a registered number; sends are not held to it.',
    }),
  },
  { title: 'PhoneNumber' },
)
export type PhoneNumber = Static<typeof PhoneNumber>

export const AccessToken = Type.Object(
  {
    access_token: Type.String({ pattern: '^[\\x21-\\x7e]{1,512}$', must: 'be 1 to 512 printable ASCII characters' }),
    waba_ids: Type.Array(Digits, { description: 'The messaging accounts that it may use.' }),
    scopes: Type.Array(oneOf(scopes)),
    expires_at: Type.Integer({ minimum: 0, description: 'Unix seconds; 0 is never.' }),
    revoked: Type.Boolean({ description: 'Whether it is refused with 190.' }),
    target_ids: Type.Boolean({ description: 'Whether debug_token names the accounts in granular_scopes.' }),
  },
  { title: 'AccessToken' },
)
export type AccessToken = Static<typeof AccessToken>
