import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { badText, isBadText, required } from '@courier/shared/errors/field-errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, lockTenant } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import type { ChannelDependencies } from './dependencies.ts'
import { MessagesPerSecond, Name, Pin, Plan, Secret, VerifyToken, WabaId } from './fields.ts'
import { findChannel } from './queries.ts'
import { type ChannelChange, storeChannels } from './store.ts'
import { type Channel, readChannel } from './view.ts'

/** Enough for every secret with every character escaped. */
export const maxChannelBytes = 16_384

/** Omitted fields keep their values. */
export const ChannelBody = Type.Object(
  {
    name: Type.Optional(Name),
    plan: Type.Optional(Plan),
    default: Type.Optional(Type.Boolean()),
    access_token: Type.Optional(Secret),
    app_secret: Type.Optional(Secret),
    verify_token: Type.Optional(VerifyToken),
    waba_id: Type.Optional(Type.Union([WabaId, Type.Null()], { must: WabaId.must })),
    pin: Type.Optional(Pin),
    messages_per_second: Type.Optional(MessagesPerSecond),
  },
  {
    title: 'ChannelChange',
    description:
      'A new channel needs access_token: it is on plan paid, has its number as name, and receives no webhooks until it has app_secret and verify_token.',
    additionalProperties: false,
    examples: [
      {
        name: 'Demo Couriers',
        plan: 'paid',
        default: true,
        access_token: 'demo-access-token',
        app_secret: 'demo-app-secret',
        verify_token: 'demo-verify-token',
        waba_id: '102290129340398',
      },
    ],
  },
)

export type PutResult =
  | { kind: 'stored'; isNew: boolean; changed: string[]; channel: Channel }
  | { kind: 'refused'; errors: FieldErrors }

/** Creates or changes a channel; returns which of the two, what changed, and the channel. */
export const putChannel = async (
  { pool, keyring, tokens }: ChannelDependencies,
  tenant: string,
  phoneNumberId: string,
  body: Static<typeof ChannelBody>,
  by: Actor,
): Promise<PutResult> => {
  const errors = badTexts(body)
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  const stored = await inTenant(pool, tenant, (tx: Tx) => store(tx, keyring, tenant, toChange(phoneNumberId, body), by))
  if (stored.kind === 'stored') tokens.forget(tenant, phoneNumberId)
  return stored
}

const store = async (
  tx: Tx,
  keyring: Keyring,
  tenant: string,
  change: ChannelChange,
  by: Actor,
): Promise<PutResult> => {
  const { phoneNumberId } = change
  await lockTenant(tx, tenant)
  const current = await findChannel(tx, tenant, phoneNumberId)
  const isNew = current === undefined
  if (isNew && change.accessToken === undefined)
    return { kind: 'refused', errors: { access_token: [required('access_token')] } }
  const changes = await storeChannels(tx, keyring, tenant, [change])
  if (changes.length > 0) await audit(tx, tenant, by, isNew ? 'channel.created' : 'channel.changed', phoneNumberId)
  const changed = changes.map(({ kind, id }) => `${kind} ${id}`)
  const channel = (await readChannel(tx, tenant, phoneNumberId)) as Channel
  return { kind: 'stored', isNew, changed, channel }
}

const badTexts = ({ name, verify_token }: Static<typeof ChannelBody>): FieldErrors =>
  Object.fromEntries(
    Object.entries({ name, verify_token }).flatMap(([field, text]) =>
      text !== undefined && isBadText(text) ? [[field, [badText(field)]]] : [],
    ),
  )

const toChange = (phoneNumberId: string, body: Static<typeof ChannelBody>): ChannelChange => ({
  phoneNumberId,
  name: body.name,
  plan: body.plan,
  isDefault: body.default,
  wabaId: body.waba_id,
  messagesPerSecond: body.messages_per_second,
  verifyToken: body.verify_token,
  accessToken: body.access_token,
  appSecret: body.app_secret,
  pin: body.pin,
})
