import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'

/** Lists the token scopes that messaging needs (docs/merchants/contract.md#messaging-account). */
export const scopes = ['whatsapp_business_management', 'whatsapp_business_messaging'] as const

const Digits = Type.String({ maxLength: 20, pattern: '^[0-9]{1,20}$', must: 'be 1 to 20 digits' })

const NumberFields = closed({
  waba_id: Digits,
  business_id: Type.String({
    maxLength: 20,
    pattern: '^[0-9]{0,20}$',
    must: 'be up to 20 digits',
    description: 'The business of the account, whose numbers share a limit; empty: not named.',
  }),
  display_phone_number: Type.String({ minLength: 1 }),
  verified_name: Type.String(),
  app_secret: Type.String({ minLength: 1, description: 'Signs the webhooks of this number.' }),
  registered: Type.Boolean({ description: 'True if the number may send; /register makes it so.' }),
  pin: Type.Union([Type.String({ maxLength: 6, pattern: '^[0-9]{6}$' }), Type.Null()], {
    description: 'The two-step verification PIN; null until the first /register sets one.',
    must: 'be six digits, or null',
  }),
  certificate: Type.String({
    description: 'The certificate that /register must send (docs/merchants/contract.md#register).',
  }),
  quality_rating: oneOf(['GREEN', 'YELLOW', 'RED', 'UNKNOWN']),
  subscribed: Type.Boolean({
    description: 'True if the app is subscribed to the account; otherwise the number sends no webhooks.',
  }),
})

export type PhoneNumber = Static<typeof NumberFields> & { phone_number_id: string }

const TokenFields = closed({
  waba_ids: Type.Array(Digits, { description: 'The messaging accounts that the token may use.' }),
  scopes: Type.Array(oneOf(scopes)),
  expires_at: Type.Integer({ minimum: 0, description: 'Unix seconds; 0 is never.' }),
  revoked: Type.Boolean({ description: 'True if the token is refused with 190.' }),
})
export type AccessToken = Static<typeof TokenFields> & { access_token: string }

/** A PUT leaves omitted fields as they are; `createAccounts` gives those of a new number or token their values. */
export const NumberChange = Type.Partial(NumberFields)
export type NumberChange = Static<typeof NumberChange>

export const TokenChange = closed({
  access_token: Type.String({
    maxLength: 512,
    pattern: '^[\\x21-\\x7e]{1,512}$',
    must: 'be 1 to 512 printable ASCII characters',
  }),
  ...Type.Partial(TokenFields).properties,
})
export type TokenChange = Static<typeof TokenChange>
