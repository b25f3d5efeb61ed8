import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { atMost } from '@courier/shared/lru-limit.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { ListAppSecrets } from '../channels/secrets.ts'
import type { Tx } from '../database/tables.ts'

export interface Channel {
  readonly tenant: string
  readonly phoneNumberId: string
  readonly wabaId: string | null
  /** Is true if the API named the account for the number; otherwise the tenant chose it. */
  readonly isProved: boolean
}

interface Claimant extends Channel {
  readonly secrets: readonly string[]
}

type IsSignedWith = (secret: string) => boolean

/**
 * `foreign`: a secret of ours signed a request that names none of our numbers, such as the platform's test, or news of
 * another number of the same app. `reason` is for the log: the sender of the request learns nothing.
 */
export type FoundSigners =
  | { kind: 'signed'; signers: Channel[] }
  | { kind: 'foreign'; signers: Channel[] }
  | { kind: 'refused'; reason: string }

/**
 * Finds our numbers that a request names and whose secrets signed it; if `isPaused`, tries only ids whose secrets
 * signed a request lately.
 */
export type FindSigners = (
  ids: readonly string[],
  isSigned: IsSignedWith,
  isPaused: boolean,
  bytes: number,
) => Promise<FoundSigners>

/** A removed secret or number stays valid for this long at most; a new one is valid at once, except in a pause. */
const rememberedMilliseconds = 2_000
const knownMilliseconds = 3_600_000
/** Bounds the work of a request that names no number of ours: its bytes times the secrets that are tried. */
const maxHashedBytes = 4 * 1024 * 1024
const everyNumber = '*'

/** Creates a finder that caches for two seconds who claims an id: requests that they sign meanwhile need no query. */
export const createSignerFinder = (pool: pg.Pool, listAppSecrets: ListAppSecrets): FindSigners => {
  const remembered = new LRUCache<string, readonly Claimant[]>({ ...atMost(10_000), ttl: rememberedMilliseconds })
  const signedLately = new LRUCache<string, true>({ ...atMost(10_000), ttl: knownMilliseconds })

  const findForeign = async (isSignedWith: IsSignedWith, bytes: number): Promise<FoundSigners> => {
    let known = remembered.get(everyNumber)
    if (!known) {
      known = await findSecretHolders(pool, listAppSecrets)
      // Stored only when read: another set would keep a removed secret valid for as long as such requests come.
      remembered.set(everyNumber, known)
    }
    const tried = new Set(known.flatMap(({ secrets }) => secrets)).size * bytes <= maxHashedBytes ? known : []
    const signers = tried.filter(({ secrets }) => secrets.map(isSignedWith).includes(true))
    return signers.length > 0 ? { kind: 'foreign', signers } : { kind: 'refused', reason: 'unknown_number' }
  }

  return async (named, isSignedWith, isPaused, bytes) => {
    if (named.length === 0) return { kind: 'refused', reason: 'names_no_number' }
    const ids = isPaused ? named.filter(id => signedLately.has(id)) : named
    const kept = ids.map(id => remembered.get(id))
    if (kept.every(claimants => claimants !== undefined)) {
      const found = chooseSigners([...new Set(kept.flat())], isSignedWith, isPaused)
      if (found.kind === 'signed' || isPaused) return found
    }
    const claimants = await findClaimants(pool, ids, listAppSecrets)
    if (claimants.length === 0 && !isPaused) return findForeign(isSignedWith, bytes)
    const found = chooseSigners(claimants, isSignedWith, isPaused)
    if (found.kind === 'signed' || isPaused)
      for (const id of ids)
        remembered.set(
          id,
          claimants.filter(claimant => listIds(claimant).includes(id)),
        )
    if (found.kind === 'signed') for (const id of found.signers.flatMap(listIds)) signedLately.set(id, true)
    return found
  }
}

const listIds = ({ phoneNumberId, wabaId }: Channel): string[] => [phoneNumberId, ...(wabaId === null ? [] : [wabaId])]

/** Returns the signers. A number that two tenants claim and sign for, and neither has proven, belongs to nobody. */
const chooseSigners = (claimants: readonly Claimant[], isSignedWith: IsSignedWith, isPaused: boolean): FoundSigners => {
  const refused = (reason: string): FoundSigners => ({ kind: 'refused', reason })
  if (claimants.length === 0) return refused(isPaused ? 'address_paused' : 'unknown_number')
  const signing = claimants.filter(({ secrets }) => secrets.map(isSignedWith).includes(true))
  const claims = Map.groupBy(signing, ({ phoneNumberId }) => phoneNumberId)
  const signers = [...claims.values()].filter(({ length }) => length === 1).flat()
  if (signers.length > 0) return { kind: 'signed', signers }
  if (signing.length > 0) return refused('number_claimed_twice')
  return refused(claimants.every(({ secrets }) => secrets.length === 0) ? 'no_app_secret' : 'wrong_signature')
}

/**
 * Creates a function that checks whether an app secret signed the bytes: `header` is `sha256=` and their HMAC-SHA256 in
 * lower-case hex (docs/contributors/messaging-api.md#signature). Takes the same time for every wrong signature.
 */
export const createVerifier = (rawBytes: Uint8Array, header: string | undefined): IsSignedWith => {
  const given = readSignature(header)
  const known = new Map<string, boolean>()
  return secret => {
    // An empty key would let anyone sign.
    if (!given || secret === '') return false
    const isSigned = known.get(secret) ?? timingSafeEqual(createHmac('sha256', secret).update(rawBytes).digest(), given)
    known.set(secret, isSigned)
    return isSigned
  }
}

const channelColumns = sql`tenant_id as tenant, phone_number_id as "phoneNumberId", waba_id as "wabaId",
  coalesce(proven_waba_id = waba_id, false) as "isProved"`

/** Finds who claims the ids. A number that one tenant has proven belongs to no other, nor does its account. */
const findClaimants = (pool: pg.Pool, ids: readonly string[], listAppSecrets: ListAppSecrets): Promise<Claimant[]> =>
  inAllTenants(pool, async (tx: Tx) => {
    const rows = await query<Channel>(tx)`
      select ${channelColumns} from channels c
      where proven_at is not null and (phone_number_id = any(${ids}::text[]) or waba_id = any(${ids}::text[]))
        or proven_at is null and phone_number_id = any(${ids}::text[]) and not exists (
          select from channels proven where proven.phone_number_id = c.phone_number_id and proven.proven_at is not null
        )`
    return withSecrets(tx, rows, listAppSecrets)
  })

const findSecretHolders = (pool: pg.Pool, listAppSecrets: ListAppSecrets): Promise<Claimant[]> =>
  inAllTenants(pool, async (tx: Tx) => {
    const rows = await query<Channel>(tx)`
      select ${channelColumns} from channels`
    // A damaged secret stops only its own number.
    const skipping: ListAppSecrets = (tx, channels) => listAppSecrets(tx, channels, true)
    return (await withSecrets(tx, rows, skipping)).filter(({ secrets }) => secrets.length > 0)
  })

const withSecrets = async (tx: Tx, channels: Channel[], listAppSecrets: ListAppSecrets): Promise<Claimant[]> => {
  const secrets = await listAppSecrets(tx, channels)
  return channels.map((channel, index) => ({ ...channel, secrets: secrets[index] ?? [] }))
}

/** Returns true if any of our numbers has that verify token. Takes the same time for every wrong token. */
export const isVerifyToken = async (pool: pg.Pool, token: string): Promise<boolean> => {
  const rows = await inAllTenants(pool, (tx: Tx) => tx.selectFrom('channels').select('verify_token_hash').execute())
  const hash = createHash('sha256').update(token).digest()
  const matches = rows.map(row => row.verify_token_hash.length === 32 && timingSafeEqual(row.verify_token_hash, hash))
  return matches.includes(true)
}

/** Returns the 32 bytes of a signature header; undefined for a malformed one. */
export const readSignature = (header: string | undefined): Buffer | undefined => {
  const hex = /^sha256=([0-9a-f]{64})$/.exec(header ?? '')?.[1]
  return hex === undefined ? undefined : Buffer.from(hex, 'hex')
}
