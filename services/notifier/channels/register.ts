import { type Actor, audit } from '@courier/shared/audit.ts'
import { inTenant } from '@courier/shared/database.ts'
import { DomainError, invalid } from '@courier/shared/http/errors.ts'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import type { Failed, Refused } from '../messaging-api/answers.ts'
import { classify } from '../messaging-api/classify.ts'
import type { Registration } from '../messaging-api/client.ts'
import { type Desk, newestToken, requireChannel } from './desk.ts'
import { storeSecret } from './secrets.ts'

/** The API's own limit (messaging-api 2.1): the eleventh call blocks the number for another 72 hours. */
const mostCalls = 10
const windowHours = 72

/**
 * Registers a number (spec.md 4.2) by one call, counted before it is made and never repeated. Throws 422 with the API's
 * refusal, or for the eleventh call in 72 hours; 503 when it is not known what became of the call.
 */
export const registerNumber = async (
  desk: Desk,
  tenant: string,
  phoneNumberId: string,
  registration: Registration,
  by: Actor,
): Promise<void> => {
  const { pool, keyring, api, tokens } = desk
  const token = await inTenant(pool, tenant, async (tx: Tx) => {
    await requireChannel(tx, tenant, phoneNumberId)
    const newest = await newestToken(tx, keyring, tenant, phoneNumberId)
    if (!newest) throw refusal('The channel has no access token: store one first.')
    await countCall(tx, tenant, phoneNumberId)
    await audit(tx, tenant, by, 'channel.registration_tried', phoneNumberId)
    return newest
  })
  const result = await api.register({ accessToken: token.accessToken }, phoneNumberId, registration)
  if (result.kind !== 'registered') throw failure(result)
  await inTenant(pool, tenant, async (tx: Tx) => {
    await storeSecret(tx, keyring, { tenant, phoneNumberId, kind: 'pin' }, registration.pin)
    await tx
      .updateTable('channels')
      .set({ registered_at: sql<Date>`now()` })
      .where('tenant_id', '=', tenant)
      .where('phone_number_id', '=', phoneNumberId)
      .execute()
    await audit(tx, tenant, by, 'channel.registered', phoneNumberId)
  })
  if (token.isNext) await tokens.promote(tenant, phoneNumberId, token.accessToken)
}

/** Two calls at once are counted one after the other. */
const countCall = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`register ${phoneNumberId}`}, 0))`.execute(tx)
  const calls = await tx
    .selectFrom('registrations')
    .select('called_at')
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', phoneNumberId)
    .where('called_at', '>', sql<Date>`now() - make_interval(hours => ${windowHours})`)
    .orderBy('called_at', 'desc')
    .limit(mostCalls)
    .execute()
  const oldest = calls[mostCalls - 1]
  if (oldest) {
    const next = new Date(oldest.called_at.getTime() + windowHours * 3_600_000)
    throw refusal(
      `The number was registered ${mostCalls} times in ${windowHours} hours, and one more call would block it. The next one is possible at ${next.toISOString()}.`,
    )
  }
  await tx.insertInto('registrations').values({ tenant_id: tenant, phone_number_id: phoneNumberId }).execute()
}

const refusal = (sentence: string): DomainError => invalid({ registration: [sentence] })

const failure = (failed: Failed): DomainError => {
  if (failed.kind === 'not_written')
    return new DomainError(
      'unavailable',
      `The messaging API could not be reached (${failed.reason}): the number was not registered. The try counts towards 10 in 72 hours.`,
    )
  if (failed.kind === 'refused' && (failed.code !== null || failed.status < 500)) return refusal(sentenceOf(failed))
  const reason = failed.kind === 'refused' ? `HTTP ${failed.status}` : failed.reason
  return new DomainError(
    'unavailable',
    `It is not known whether the number was registered (${reason}). Run the check of the channel before you repeat the call: each counts towards 10 in 72 hours.`,
  )
}

/** Of the API's own words, which may repeat what it was sent, only the wait that they name. */
const sentenceOf = (refused: Refused): string => {
  const { meaning, advice } = classify(refused)
  const name = refused.code === null ? `HTTP ${refused.status}` : `code ${refused.code}`
  const wait = /try again in (\d{1,9} (?:second|minute|hour|day)s?)\b/i.exec(refused.details)?.[1]
  return `${name}: ${meaning} ${advice}${wait ? ` The API says: try again in ${wait}.` : ''}`
}
