import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { CommitInDoubt, inTenant, lockTenant, query } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import { wordRefusal } from '../messaging-api/classify.ts'
import type { Registration } from '../messaging-api/client.ts'
import type { Failed } from '../messaging-api/responses.ts'
import { findChannel, updateChannel } from './queries.ts'
import type { ChannelDependencies, ChannelRef, NewestToken } from './secrets.ts'
import { newestToken, promoteToken, storeSecret } from './secrets.ts'
import { type Channel, readChannel } from './view.ts'

/**
 * Repeats the API's limit (docs/contributors/messaging-api.md#register): an eleventh request blocks the number for 72
 * hours.
 */
const maxRequests = 10
const windowHours = 72

type RegistrationResult =
  | { kind: 'registered'; channel: Channel }
  | { kind: 'unknown_channel' }
  /** `unavailable`: the API was not reached; `unknown`: it may have registered the number, or we failed to store it. */
  | { kind: 'refused' | 'unavailable' | 'unknown'; reason: string; error?: unknown }

/** Registers a number in one counted request, which is never repeated (docs/merchants/contract.md#register). */
export const registerNumber = async (
  { pool, keyring, api, tokens, points }: ChannelDependencies,
  channel: ChannelRef,
  registration: Registration,
  by: Actor,
): Promise<RegistrationResult> => {
  const { tenant, phoneNumberId } = channel
  const started = await inTenant(pool, tenant, (tx: Tx) => start(tx, keyring, channel, by)).catch(unlessInDoubt)
  if (started.kind !== 'started') return started
  const result = await api.register(started, phoneNumberId, registration)
  if (result.kind !== 'received') return toFailure(result)
  return inTenant(pool, tenant, async (tx: Tx): Promise<RegistrationResult> => {
    await lockTenant(tx, tenant)
    await updateChannel(tx, tenant, phoneNumberId, { registered_at: sql<Date>`now()` })
    if (started.isNext) await promoteToken(tx, keyring, channel, started.accessToken)
    await storeSecret(tx, keyring, { ...channel, kind: 'pin' }, registration.pin)
    await audit(tx, tenant, by, 'channel.registered', phoneNumberId)
    return { kind: 'registered', channel: (await readChannel(tx, tenant, phoneNumberId, points)) as Channel }
  })
    .finally(() => tokens.forget(tenant, phoneNumberId))
    .catch(error => ({ kind: 'unknown', reason: notStored, error }))
}

const notStored =
  'The messaging API registered the number, but it is not known whether this was stored. Do not repeat the request: run the check of the channel, and store the pin with a change of the channel.'

const unlessInDoubt = (error: unknown): RegistrationResult => {
  if (!(error instanceof CommitInDoubt)) throw error
  return {
    kind: 'unavailable',
    reason: 'The database was lost: the number was not registered. The try may count towards 10 in 72 hours.',
  }
}

const start = async (
  tx: Tx,
  keyring: Keyring,
  channel: ChannelRef,
  by: Actor,
): Promise<RegistrationResult | ({ kind: 'started' } & NewestToken)> => {
  const { tenant, phoneNumberId } = channel
  if (!(await findChannel(tx, tenant, phoneNumberId))) return { kind: 'unknown_channel' }
  const newest = await newestToken(tx, keyring, channel)
  if (!newest) return refused('The channel has no access token: store one first.')
  const nextAt = await countRequest(tx, tenant, phoneNumberId)
  if (nextAt)
    return refused(
      `A registration of the number was requested ${maxRequests} times in ${windowHours} hours, and one more request would block it. The next one is possible at ${nextAt.toISOString()}.`,
    )
  await audit(tx, tenant, by, 'channel.registration_tried', phoneNumberId)
  return { kind: 'started', ...newest }
}

/** Counts a request, one at a time. If it is not allowed, returns the time when the next one is. */
const countRequest = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<Date | undefined> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`register ${phoneNumberId}`}, 0))`.execute(tx)
  const rows = await query<{ next_at: Date }>(tx)`
    select called_at + make_interval(hours => ${windowHours}) as next_at from registrations
    where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId}
      and called_at > now() - make_interval(hours => ${windowHours})
    order by called_at desc offset ${maxRequests - 1} limit 1`
  if (!rows[0])
    await sql`insert into registrations (tenant_id, phone_number_id) values (${tenant}, ${phoneNumberId})`.execute(tx)
  return rows[0]?.next_at
}

const refused = (reason: string): RegistrationResult => ({ kind: 'refused', reason })

const toFailure = (failed: Failed): RegistrationResult => {
  if (failed.kind === 'not_written')
    return {
      kind: 'unavailable',
      reason: `The messaging API could not be reached (${failed.reason}): the number was not registered. The try counts towards 10 in 72 hours.`,
    }
  if (failed.kind === 'refused' && (failed.code !== null || failed.status < 500)) {
    // The client has removed the token, the PIN and the certificate from the API's text.
    const said = failed.details && ` The API says: ${failed.details}`
    return refused(wordRefusal(failed) + said)
  }
  const cause = failed.kind === 'refused' ? `HTTP ${failed.status}` : failed.reason
  return {
    kind: 'unknown',
    reason: `It is not known whether the number was registered (${cause}). Run the check of the channel before you repeat the request: each counts towards 10 in 72 hours.`,
  }
}
