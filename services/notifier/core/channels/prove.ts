import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'
import type { PortfolioResponse } from '../messaging-api/account-responses.ts'
import { classify } from '../messaging-api/classify.ts'
import type { MessagingApi } from '../messaging-api/client.ts'
import type { Refused } from '../messaging-api/responses.ts'
import type { ChannelPoint } from './channel-point.ts'
import { holdsScope } from './health.ts'
import { updateChannel } from './queries.ts'
import {
  type ChannelDependencies,
  type ChannelRef,
  findTokens,
  type NewestToken,
  newestToken,
  unlessUnopened,
} from './secrets.ts'

export type Prover = Pick<ChannelDependencies, 'pool' | 'keyring' | 'api'>

/**
 * Assigns a number, and with it its webhooks, to a tenant whose token the API has just accepted for a read of the
 * number or for a message from it. A tenant that has proven the number before keeps it until the API refuses all its
 * tokens. Returns false if another tenant keeps it.
 */
export const assignNumber = async (prover: Prover, tenant: string, phoneNumberId: string): Promise<boolean> => {
  const owner = await findOwner(prover.pool, phoneNumberId)
  if (owner === tenant) return true
  if (owner !== undefined && (await tryTokens(prover, owner, phoneNumberId)) !== 'refused') return false
  return handOver(prover.pool, tenant, phoneNumberId, owner).catch(error => {
    if ((error as { code?: unknown } | null)?.code === '23505') return false
    throw error
  })
}

/** Checks a tenant's access tokens for a number with the API; `refused` means that the API refuses all of them. */
const tryTokens = async ({ pool, keyring, api }: Prover, tenant: string, phoneNumberId: string) => {
  const find = (tx: Tx) => findTokens(tx, keyring, { tenant, phoneNumberId })
  const secrets = await inTenant(pool, tenant, find).catch(unlessUnopened)
  let verdict: 'refused' | 'unknown' = secrets ? 'refused' : 'unknown'
  for (const accessToken of secrets?.values() ?? []) {
    const response = await api.phoneNumber({ accessToken }, phoneNumberId)
    if (response.kind === 'received' && response.value.id === phoneNumberId) return 'accepted'
    if (response.kind !== 'refused' || !(await isDenied(api, accessToken, response))) verdict = 'unknown'
  }
  return verdict
}

/** Returns true if the API denies a token the number; a send-only token, which may not read it, is not denied. */
export const isDenied = async (api: MessagingApi, accessToken: string, refused: Refused): Promise<boolean> => {
  const { class: what, pauseSeconds } = classify(refused)
  if (what !== 'pause_channel' || pauseSeconds !== null) return false
  const token = await api.debugToken({ accessToken })
  if (token.kind !== 'received') return token.kind === 'refused' && token.code === 190
  return !token.value.is_valid || holdsScope(token.value, 'management')
}

/** Ends what the API proved of a number's account: its facts are the tenant's own again. */
export const unproved = { proven_waba_id: null, portfolio_id: null }

const findOwner = async (pool: pg.Pool, phoneNumberId: string): Promise<string | undefined> => {
  const owner = sql<{ tenant_id: string }>`
    select tenant_id from channels where phone_number_id = ${phoneNumberId} and proven_at is not null`
  return (await inAllTenants(pool, (tx: Tx) => owner.execute(tx))).rows[0]?.tenant_id
}

/** Hands the number over; returns false if the channel is gone. Fails with 23505 if another tenant has proven it. */
const handOver = (pool: pg.Pool, tenant: string, phoneNumberId: string, owner: string | undefined): Promise<boolean> =>
  inAllTenants(pool, async (tx: Tx) => {
    const now = sql<Date>`now()`
    const pending = { proof_due_at: now, proof_tries: 0 }
    if (owner !== undefined) {
      const owners = sql`select from channels where phone_number_id = ${phoneNumberId} order by tenant_id`
      await sql`${owners} for no key update`.execute(tx)
      await updateChannel(tx, owner, phoneNumberId, { ...pending, ...unproved, proven_at: null })
    }
    return updateChannel(tx, tenant, phoneNumberId, { ...pending, proven_at: now })
  })

type Reader = Prover & Pick<ChannelDependencies, 'points'>

/**
 * Stores to whom a number belongs, as a read of it found. If the API denies the token the number, the tenant's part in
 * its portfolio ends.
 */
export const storeRead = async (
  { pool, api, points = [] }: Omit<Reader, 'keyring'>,
  { tenant, phoneNumberId }: ChannelRef,
  { accessToken, isNext }: NewestToken,
  response: Awaited<ReturnType<MessagingApi['portfolio']>>,
): Promise<void> => {
  if (response.kind === 'received' && response.value.id === phoneNumberId)
    await inAllTenants(pool, (tx: Tx) => storeOwner(tx, tenant, response.value, points))
  if (!isNext && response.kind === 'refused' && (await isDenied(api, accessToken, response)))
    await inTenant(pool, tenant, (tx: Tx) => updateChannel(tx, tenant, phoneNumberId, unproved))
}

/**
 * Numbers of one business share its portfolio, in whichever tenant; a number whose business the API does not name
 * shares that of its account. Only what the API says counts: a tenant chooses its waba_id.
 */
const storeOwner = async (tx: Tx, tenant: string, read: PortfolioResponse, points: readonly ChannelPoint[]) => {
  const { id, businessId, accountId } = read
  const rows = await query<{ portfolioId: string; wabaId: string | null }>(tx)`
    update channels set proven_waba_id = ${accountId}, portfolio_id = coalesce(${businessId}, 'waba ' || ${accountId},
      case when portfolio_id like 'tenant %' then portfolio_id end, 'number ' || phone_number_id)
    where tenant_id = ${tenant} and phone_number_id = ${id}
    returning portfolio_id as "portfolioId", waba_id as "wabaId"`
  for (const row of rows) for (const { onRead } of points) await onRead(tx, { tenant, ...row }, read)
}

/** Reads the numbers that were not read within the last hour. */
export const readDue = (reader: Reader): Promise<void> =>
  runDue(reader.pool, ['portfolio_due_at', 'true'], "portfolio_due_at = now() + interval '1 hour'", async channel => {
    const find = (tx: Tx) => newestToken(tx, reader.keyring, channel)
    const token = await inTenant(reader.pool, channel.tenant, find)
    if (token) await storeRead(reader, channel, token, await reader.api.portfolio(token, channel.phoneNumberId))
  })

const longestPauseSeconds = 300

/** Proves unproven channels by a read, without a message. Waits between tries double from 2 s to 5 minutes. */
export const proveDue = (prover: Prover, logger: Logger): Promise<void> => {
  const pauseSql = `least(${longestPauseSeconds}, 2 * 2 ^ least(c.proof_tries, 10)) * interval '1 second'`
  const postponeSql = `proof_tries = c.proof_tries + 1, proof_due_at = now() + ${pauseSql}`
  return runDue(prover.pool, ['proof_due_at', 'proven_at is null'], postponeSql, async channel => {
    const { tenant, phoneNumberId: phone_number_id } = channel
    const isAccepted = (await tryTokens(prover, tenant, phone_number_id)) === 'accepted'
    const isProven = isAccepted && (await assignNumber(prover, tenant, phone_number_id))
    logger[isProven ? 'info' : 'warn']({ tenant, phone_number_id }, isProven ? 'channel.proven' : 'channel.unproven')
  })
}

const channelsAtOnce = 8
type Run = (channel: ChannelRef) => Promise<void>

/** Runs something for numbers that are due, the longest due first, and postpones the next time. */
const runDue = async (pool: pg.Pool, [column, more]: readonly [string, string], postponeSql: string, run: Run) => {
  const text = `
    update channels c set ${postponeSql}
    from (
      select tenant_id, phone_number_id from channels where ${column} <= now() and ${more}
      order by ${column} limit ${channelsAtOnce} for no key update skip locked
    ) due
    where c.tenant_id = due.tenant_id and c.phone_number_id = due.phone_number_id
    returning c.tenant_id as tenant, c.phone_number_id as "phoneNumberId"`
  const due = await inAllTenants(pool, (tx: Tx) => tx.rows<ChannelRef>(text))
  for (const each of await Promise.allSettled(due.map(run))) if (each.status === 'rejected') throw each.reason
}
