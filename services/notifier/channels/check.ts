import { type Actor, audit } from '@courier/shared/audit.ts'
import { inTenant } from '@courier/shared/database.ts'
import { type Static, Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { PhoneNumber, TokenInfo } from '../messaging-api/account-answers.ts'
import { type Desk, newestToken, requireChannel } from './desk.ts'
import { judge } from './health.ts'
import { resumeChannel } from './queries.ts'

const Word = Type.Union([Type.String(), Type.Null()])

export const Checked = Type.Object(
  {
    ok: Type.Boolean({ description: 'Whether the channel can send.' }),
    problems: Type.Array(Type.String(), { description: 'What keeps it from sending, each with what to do.' }),
    warnings: Type.Array(Type.String(), { description: 'What may keep it from sending one day.' }),
    number: Type.Union([
      Type.Object({
        display_phone_number: Word,
        verified_name: Word,
        status: Word,
        quality_rating: Word,
        code_verification_status: Word,
        name_status: Word,
        throughput: Word,
        can_send_message: Word,
      }),
      Type.Null(),
    ]),
    token: Type.Union([
      Type.Object({ is_valid: Type.Boolean(), app_id: Word, expires_at: Word, scopes: Type.Array(Type.String()) }),
      Type.Null(),
    ]),
  },
  { title: 'ChannelCheck' },
)
export type Checked = Static<typeof Checked>

/**
 * Asks the API how a number and its newest token are. When nothing is wrong, the token becomes the only one and a paused
 * channel is resumed. Throws 404.
 */
export const checkChannel = async (
  { pool, keyring, api, tokens }: Desk,
  tenant: string,
  phoneNumberId: string,
  by: Actor,
): Promise<{ checked: Checked; isResumed: boolean }> => {
  const { channel, newest } = await inTenant(pool, tenant, async (tx: Tx) => ({
    channel: await requireChannel(tx, tenant, phoneNumberId),
    newest: await newestToken(tx, keyring, tenant, phoneNumberId),
  }))
  if (!newest) return { checked: withoutToken, isResumed: false }
  const { accessToken, isNext } = newest
  const [number, token] = await Promise.all([
    api.phoneNumber({ accessToken }, phoneNumberId),
    api.debugToken({ accessToken }),
  ])
  const health = judge({ number, token }, channel.waba_id, new Date())
  const ok = health.problems.length === 0
  if (!ok && isNext) health.problems.push('It is the new access token that was checked; the old one stays in use.')
  if (ok && isNext) await tokens.promote(tenant, phoneNumberId, accessToken)
  const isResumed = ok && (await markGreen(pool, tenant, phoneNumberId, by))
  const checked = {
    ok,
    ...health,
    number: number.kind === 'answered' ? showNumber(number.value) : null,
    token: token.kind === 'answered' ? showToken(token.value) : null,
  }
  return { checked, isResumed }
}

const withoutToken: Checked = {
  ok: false,
  problems: ['The channel has no access token: store one.'],
  warnings: [],
  number: null,
  token: null,
}

/** True when the channel was paused. */
const markGreen = (pool: pg.Pool, tenant: string, phoneNumberId: string, by: Actor): Promise<boolean> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const { state } = await requireChannel(tx, tenant, phoneNumberId)
    await tx
      .updateTable('channels')
      .set({ checked_at: sql<Date>`now()` })
      .where('tenant_id', '=', tenant)
      .where('phone_number_id', '=', phoneNumberId)
      .execute()
    await audit(tx, tenant, by, 'channel.checked', phoneNumberId)
    if (state === 'paused') await resumeChannel(tx, tenant, phoneNumberId, by)
    return state === 'paused'
  })

const showNumber = (number: PhoneNumber): Checked['number'] => ({
  display_phone_number: number.displayPhoneNumber,
  verified_name: number.verifiedName,
  status: number.status,
  quality_rating: number.qualityRating,
  code_verification_status: number.codeVerificationStatus,
  name_status: number.nameStatus,
  throughput: number.throughput,
  can_send_message: number.canSendMessage,
})

const showToken = ({ isValid, appId, expiresAt, scopes }: TokenInfo): Checked['token'] => ({
  is_valid: isValid,
  app_id: appId,
  expires_at: expiresAt?.toISOString() ?? null,
  scopes: [...scopes],
})
