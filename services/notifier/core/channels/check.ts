import { httpError } from '@courier/shared/errors/errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, isLost, lockTenant } from '@courier/shared/postgres/database.ts'
import { orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import { PhoneNumber, TokenInfo } from '../messaging-api/account-responses.ts'
import { judge } from './health.ts'
import { assignNumber, storeRead } from './prove.ts'
import { findChannel, resumeChannel, updateChannel } from './queries.ts'
import { type ChannelDependencies, promoteToken } from './secrets.ts'
import { keptByAnother, noToken, noWebhooks, readWithToken, unproven } from './view.ts'

export const Checked = Type.Object(
  {
    ok: Type.Boolean({ description: 'True if the channel can send.' }),
    problems: Type.Array(Type.String(), { description: 'Problems that keep the channel from sending, with remedies.' }),
    warnings: Type.Array(Type.String(), { description: 'Problems that may keep the channel from sending later.' }),
    number: orNull(PhoneNumber),
    token: orNull(TokenInfo),
  },
  { title: 'ChannelCheck' },
)
export type Checked = Static<typeof Checked>

/**
 * Checks a number and its newest token. If both are healthy, the channel resumes, and a new token that has read the
 * number replaces the old one.
 */
export const checkChannel = async (
  dependencies: ChannelDependencies,
  tenant: string,
  phoneNumberId: string,
  by: Actor,
): Promise<{ checked: Checked; isResumed: boolean } | undefined> => {
  const { pool, keyring, api } = dependencies
  const found = await inTenant(pool, tenant, (tx: Tx) => readWithToken(tx, keyring, { tenant, phoneNumberId }))
  if (!found) return undefined
  const { channel, newest } = found
  if (!newest) return { checked: withoutToken, isResumed: false }
  const { accessToken, isNext } = newest
  const [number, token, portfolio] = await Promise.all([
    api.phoneNumber({ accessToken }, phoneNumberId),
    api.debugToken({ accessToken }),
    api.portfolio({ accessToken }, phoneNumberId),
  ])
  const health = judge(number, token, channel.waba_id, new Date())
  const isRead = number.kind === 'received'
  const isProven = channel.proven_at !== null || (isRead && (await assignNumber(dependencies, tenant, phoneNumberId)))
  if (!isProven) health.warnings.push(isRead ? keptByAnother : unproven)
  if (!channel.webhooks) health.warnings.push(noWebhooks)
  const ok = health.problems.length === 0
  if (!ok && isNext) health.problems.push('The new access token was checked; the old one stays in use.')
  const worked = isNext && isRead ? accessToken : undefined
  const isResumed = ok && (await markHealthy(dependencies, tenant, phoneNumberId, worked, by))
  await storeRead(dependencies, { tenant, phoneNumberId }, newest, portfolio).catch(unlessLost)
  const read = { number: isRead ? number.value : null, token: token.kind === 'received' ? token.value : null }
  return { checked: { ok, ...health, ...read }, isResumed }
}

const withoutToken: Checked = { ok: false, problems: [noToken], warnings: [], number: null, token: null }

/** Stores a successful check; returns true if the channel was paused. `worked` is a new token that read the number. */
const markHealthy = async (
  { pool, keyring, tokens }: ChannelDependencies,
  tenant: string,
  phoneNumberId: string,
  worked: string | undefined,
  by: Actor,
): Promise<boolean> => {
  const isPaused = await inTenant(pool, tenant, async (tx: Tx) => {
    // Runs before rows are locked: docs/contributors/decisions.md#order-of-locks.
    if (worked !== undefined) await lockTenant(tx, tenant)
    const channel = await findChannel(tx, tenant, phoneNumberId)
    await updateChannel(tx, tenant, phoneNumberId, { checked_at: sql<Date>`now()` })
    await audit(tx, tenant, by, 'channel.checked', phoneNumberId)
    const isPaused = channel?.state === 'paused'
    if (isPaused) await resumeChannel(tx, tenant, phoneNumberId, by)
    if (worked !== undefined) await promoteToken(tx, keyring, { tenant, phoneNumberId }, worked)
    return isPaused
  }).catch(unlessLost)
  if (worked !== undefined) tokens.forget(tenant, phoneNumberId)
  return isPaused
}

/** Turns a lost database into 503, since the check may have proven the number already; rethrows other errors. */
const unlessLost = (error: unknown): never => {
  if (!isLost(error)) throw error
  throw httpError('unavailable', 'The database was lost, and what the check found may not be stored. Run it again.', {
    retryAfterSeconds: 1,
  })
}
