import { type Actor, audit } from '@courier/shared/audit.ts'
import { inTenant, lockTenant } from '@courier/shared/database.ts'
import { type Faults, invalid } from '@courier/shared/http/errors.ts'
import { badText, isBadText, required } from '@courier/shared/http/faults.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import type { Desk } from './desk.ts'
import { MessagesPerSecond, Name, Pin, Plan, Secret, VerifyToken, WabaId } from './fields.ts'
import { findChannel } from './queries.ts'
import { type ChannelWish, findForeignNumbers, isNumberTaken, missingIn, storeChannel } from './store.ts'

/** What is left out stays as it is. */
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
  { title: 'ChannelChange', description: 'A new channel needs name, plan, access_token, app_secret and verify_token.' },
)

/** Creates or changes a channel; says which, and what changed. Throws 422. */
export const putChannel = async (
  { pool, keyring, tokens }: Desk,
  tenant: string,
  phoneNumberId: string,
  body: Static<typeof ChannelBody>,
  by: Actor,
): Promise<{ isNew: boolean; changed: string[] }> => {
  const wish = toWish(phoneNumberId, body)
  const taken = (await findForeignNumbers(pool, tenant, [phoneNumberId])).length > 0
  const faults: Faults = { ...(taken && numberTaken), ...badTexts(body) }
  if (Object.keys(faults).length > 0) throw invalid(faults)
  const stored = await inTenant(pool, tenant, async (tx: Tx) => {
    await lockTenant(tx, tenant)
    const isNew = (await findChannel(tx, tenant, phoneNumberId)) === undefined
    const missing = isNew ? missingIn(wish) : []
    if (missing.length > 0) throw invalid(Object.fromEntries(missing.map(field => [field, [required(field)]])))
    const changes = await storeChannel(tx, keyring, tenant, wish)
    if (changes.length > 0) await audit(tx, tenant, by, isNew ? 'channel.created' : 'channel.changed', phoneNumberId)
    return { isNew, changed: changes.map(({ kind, id }) => `${kind} ${id}`) }
  }).catch(error => {
    throw isNumberTaken(error) ? invalid(numberTaken) : error
  })
  tokens.forget(phoneNumberId)
  return stored
}

const numberTaken: Faults = { phone_number_id: ['The number is a channel of another tenant.'] }

const badTexts = ({ name, verify_token }: Static<typeof ChannelBody>): Faults =>
  Object.fromEntries(
    Object.entries({ name, verify_token }).flatMap(([field, text]) =>
      text !== undefined && isBadText(text) ? [[field, [badText(field)]]] : [],
    ),
  )

const toWish = (phoneNumberId: string, body: Static<typeof ChannelBody>): ChannelWish => ({
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
