import { createHash, timingSafeEqual } from 'node:crypto'
import { inTenant } from '@courier/shared/database.ts'
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { Origins } from './envelope.ts'
import { verifySignature } from './signature.ts'

/** A number of ours. */
export interface Channel {
  readonly tenant: string
  readonly phoneNumberId: string
  readonly wabaId: string | null
}

/** The app secrets of a number, the newer one of a rotation too. */
export type AppSecretsOf = (tx: Tx, tenant: string, phoneNumberId: string) => Promise<string[]>

/** Those of our numbers that a call names, by id or account, and whose app secret signed it. */
export type FindSigners = (origins: Origins, rawBytes: Uint8Array, signature: string | undefined) => Promise<Channel[]>

interface Named {
  readonly channel: Channel
  readonly secrets: readonly string[]
}

/** A secret or a number that was removed is taken for so much longer at most; a new one is taken at once. */
const rememberedMilliseconds = 2_000
/** Calls name one number as a rule; what names many is looked up each time. */
const maxRememberedOrigins = 8

/** Remembers who signed: as long as the same secrets sign, the database is not asked for each call. */
export const createSignerFinder = (pool: pg.Pool, appSecretsOf: AppSecretsOf): FindSigners => {
  const known = new LRUCache<string, readonly Named[]>({ max: 1_000, ttl: rememberedMilliseconds })
  return async (origins, rawBytes, signature) => {
    const key = JSON.stringify(origins)
    const remembered = signersOf(known.get(key) ?? [], rawBytes, signature)
    if (remembered.length > 0) return remembered
    const named = await findNamed(pool, origins, appSecretsOf)
    const signers = signersOf(named, rawBytes, signature)
    const isSmall = origins.phoneNumberIds.length + origins.wabaIds.length <= maxRememberedOrigins
    if (signers.length > 0 && isSmall) known.set(key, named)
    return signers
  }
}

const findNamed = (pool: pg.Pool, origins: Origins, appSecretsOf: AppSecretsOf): Promise<Named[]> =>
  inTenant(pool, '*', async (tx: Tx) => {
    const channels = await findChannels(tx, origins)
    return Promise.all(
      channels.map(async channel => ({
        channel,
        secrets: await appSecretsOf(tx, channel.tenant, channel.phoneNumberId),
      })),
    )
  })

const signersOf = (named: readonly Named[], rawBytes: Uint8Array, signature: string | undefined): Channel[] => {
  const verdicts = new Map<string, boolean>()
  const signed = (secret: string): boolean => {
    const verdict = verdicts.get(secret) ?? verifySignature(rawBytes, signature, [secret])
    verdicts.set(secret, verdict)
    return verdict
  }
  return named.filter(({ secrets }) => secrets.map(signed).includes(true)).map(({ channel }) => channel)
}

const findChannels = async (tx: Tx, { phoneNumberIds, wabaIds }: Origins): Promise<Channel[]> => {
  const rows = await tx
    .selectFrom('channels')
    .select(['tenant_id', 'phone_number_id', 'waba_id'])
    .where(({ or, eb }) =>
      or([
        eb('phone_number_id', '=', sql<string>`any(${phoneNumberIds}::text[])`),
        eb('waba_id', '=', sql<string>`any(${wabaIds}::text[])`),
      ]),
    )
    .execute()
  return rows.map(row => ({ tenant: row.tenant_id, phoneNumberId: row.phone_number_id, wabaId: row.waba_id }))
}

/** Whether a verify token is that of any of our numbers. Takes the same time for every wrong one. */
export const isVerifyToken = async (pool: pg.Pool, token: string): Promise<boolean> => {
  const rows = await inTenant(pool, '*', (tx: Tx) => tx.selectFrom('channels').select('verify_token_hash').execute())
  const hash = createHash('sha256').update(token).digest()
  const verdicts = rows.map(row => row.verify_token_hash.length === 32 && timingSafeEqual(row.verify_token_hash, hash))
  return verdicts.includes(true)
}
