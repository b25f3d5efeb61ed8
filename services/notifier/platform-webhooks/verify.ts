import { createHash, timingSafeEqual } from 'node:crypto'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { AppSecretsOf } from '../channels/secrets.ts'
import type { Tx } from '../database/tables.ts'
import type { Origins } from './envelope.ts'
import { verifySignature } from './signature.ts'

/** A number of ours. */
export interface Channel {
  readonly tenant: string
  readonly phoneNumberId: string
  readonly wabaId: string | null
}

/** Whether a secret signed the request. */
type IsSignedWith = (secret: string) => boolean

/**
 * The numbers of ours that a request names, by id or account, and whose app secret signed it. With `isPaused` only what
 * signed within the last hour is looked up, each number at most once in two seconds.
 */
export type FindSigners = (origins: Origins, isSignedWith: IsSignedWith, isPaused: boolean) => Promise<Found>

/** Why nobody signed a request is for the log: whoever sent it learns nothing. */
export type Found = { kind: 'signed'; signers: Channel[] } | { kind: 'refused'; reason: Reason }
export type Reason =
  | 'names_no_number'
  | 'unknown_number'
  | 'no_app_secret'
  | 'wrong_signature'
  | 'number_claimed_twice'
  | 'address_paused'

interface Named {
  readonly channel: Channel
  readonly secrets: readonly string[]
}

/** A removed secret or number stays valid for this long at most; a new one is valid at once. */
const rememberedMilliseconds = 2_000
const knownMilliseconds = 3_600_000

/** Caches the signers: as long as the same secrets sign, requests need no query. */
export const createSignerFinder = (pool: pg.Pool, appSecretsOf: AppSecretsOf): FindSigners => {
  const remembered = new LRUCache<string, readonly Named[]>({ max: 10_000, ttl: rememberedMilliseconds })
  const signedLately = new LRUCache<string, true>({ max: 10_000, ttl: knownMilliseconds })
  return async (origins, isSignedWith, isPaused) => {
    const all = keysOf(origins.phoneNumberIds, origins.wabaIds)
    if (all.length === 0) return { kind: 'refused', reason: 'names_no_number' }
    const keys = isPaused ? all.filter(key => signedLately.has(key)) : all
    const kept = keys.map(key => remembered.get(key))
    if (kept.every(named => named !== undefined)) {
      const known = [...new Set(kept.flat())]
      const signers = signersOf(known, isSignedWith)
      if (signers.length > 0 || isPaused) return foundOf(signers, known, isSignedWith, isPaused)
    }
    const named = await findNamed(pool, originsIn(keys), appSecretsOf)
    const signers = signersOf(named, isSignedWith)
    if (signers.length > 0 || isPaused) for (const [key, ofKey] of byKey(keys, named)) remembered.set(key, ofKey)
    for (const { phoneNumberId, wabaId } of signers)
      for (const key of keysOf([phoneNumberId], wabaId === null ? [] : [wabaId])) signedLately.set(key, true)
    return foundOf(signers, named, isSignedWith, isPaused)
  }
}

const foundOf = (signers: Channel[], named: readonly Named[], isSignedWith: IsSignedWith, isPaused: boolean): Found => {
  if (signers.length > 0) return { kind: 'signed', signers }
  const secrets = named.flatMap(of => of.secrets)
  const refused = (reason: Reason): Found => ({ kind: 'refused', reason })
  if (named.length === 0) return refused(isPaused ? 'address_paused' : 'unknown_number')
  if (secrets.length === 0) return refused('no_app_secret')
  return refused(secrets.some(isSignedWith) ? 'number_claimed_twice' : 'wrong_signature')
}

const [numberPrefix, accountPrefix] = ['number ', 'account ']

const keysOf = (phoneNumberIds: readonly string[], wabaIds: readonly string[]): string[] => [
  ...phoneNumberIds.map(id => numberPrefix + id),
  ...wabaIds.map(id => accountPrefix + id),
]

const originsIn = (keys: readonly string[]): Origins => {
  const ids = (prefix: string) => keys.filter(key => key.startsWith(prefix)).map(key => key.slice(prefix.length))
  return { phoneNumberIds: ids(numberPrefix), wabaIds: ids(accountPrefix) }
}

const byKey = (keys: readonly string[], named: readonly Named[]): Map<string, Named[]> => {
  const found = new Map(keys.map(key => [key, [] as Named[]]))
  for (const one of named)
    for (const key of keysOf([one.channel.phoneNumberId], one.channel.wabaId === null ? [] : [one.channel.wabaId]))
      found.get(key)?.push(one)
  return found
}

const findNamed = (pool: pg.Pool, origins: Origins, appSecretsOf: AppSecretsOf): Promise<Named[]> =>
  inAllTenants(pool, async (tx: Tx) => {
    const channels = await findChannels(tx, origins)
    return Promise.all(
      channels.map(async channel => ({
        channel,
        secrets: await appSecretsOf(tx, channel.tenant, channel.phoneNumberId),
      })),
    )
  })

/** Computes each secret's signature of a body once. */
export const signedWith = (rawBytes: Uint8Array, signature: string | undefined): IsSignedWith => {
  const verdicts = new Map<string, boolean>()
  return secret => {
    const verdict = verdicts.get(secret) ?? verifySignature(rawBytes, signature, [secret])
    verdicts.set(secret, verdict)
    return verdict
  }
}

/** A number that two tenants claim and sign for, and neither has proved, is nobody's. */
const signersOf = (named: readonly Named[], isSignedWith: IsSignedWith): Channel[] => {
  const signers = named.filter(({ secrets }) => secrets.map(isSignedWith).includes(true)).map(({ channel }) => channel)
  const claims = Map.groupBy(signers, ({ phoneNumberId }) => phoneNumberId)
  return [...claims.values()].flatMap(ofNumber => (ofNumber.length === 1 ? ofNumber : []))
}

/** A number that one tenant has proven is no other's, and an account is that of proven numbers alone. */
const findChannels = async (tx: Tx, { phoneNumberIds, wabaIds }: Origins): Promise<Channel[]> => {
  const { rows } = await sql<{ tenant_id: string; phone_number_id: string; waba_id: string | null }>`
    select tenant_id, phone_number_id, waba_id from channels c
    where proven_at is not null and (phone_number_id = any(${phoneNumberIds}::text[]) or waba_id = any(${wabaIds}::text[]))
      or proven_at is null and phone_number_id = any(${phoneNumberIds}::text[]) and not exists (
        select from channels proven where proven.phone_number_id = c.phone_number_id and proven.proven_at is not null
      )`.execute(tx)
  return rows.map(row => ({ tenant: row.tenant_id, phoneNumberId: row.phone_number_id, wabaId: row.waba_id }))
}

/** Whether a verify token is that of any of our numbers. Takes the same time for every wrong one. */
export const isVerifyToken = async (pool: pg.Pool, token: string): Promise<boolean> => {
  const rows = await inAllTenants(pool, (tx: Tx) => tx.selectFrom('channels').select('verify_token_hash').execute())
  const hash = createHash('sha256').update(token).digest()
  const verdicts = rows.map(row => row.verify_token_hash.length === 32 && timingSafeEqual(row.verify_token_hash, hash))
  return verdicts.includes(true)
}
