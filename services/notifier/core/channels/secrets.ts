import { atMost } from '@courier/shared/lru-limit.ts'
import { inTenant, lockTenant, query } from '@courier/shared/postgres/database.ts'
import { type Keyring, tryOpen, VaultError } from '@courier/shared/vault.ts'
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { MessagingApi } from '../messaging-api/client.ts'
import type { ChannelPoint } from './channel-point.ts'
import { last4, open, type SecretRef, seal } from './vault.ts'

export type Slot = 'current' | 'next'

const referenceSql = ({ tenant, phoneNumberId, kind }: SecretRef) =>
  sql`tenant_id = ${tenant} and phone_number_id = ${phoneNumberId} and kind = ${kind}`

/**
 * Seals and stores a secret. An existing secret stays as `current` until this one, as `next`, has worked; storing the
 * `current` secret again cancels a rotation. A `next` app secret counts as working when a newer one is stored: no
 * request tests it. PINs, and secrets that cannot be opened, are replaced at once. Hold `lockTenant`.
 */
export const storeSecret = async (tx: Tx, keyring: Keyring, ref: SecretRef, text: string) => {
  const known = await findSecrets(tx, keyring, ref).catch(unlessUnopened)
  if (!known) {
    await removeSecret(tx, ref, 'next')
    await putSecret(tx, keyring, ref, 'current', text)
    return 'changed'
  }
  const [current, next] = [known.get('current'), known.get('next')]
  if ((next ?? current) === text) return 'unchanged'
  if (current === text) await removeSecret(tx, ref, 'next')
  else {
    if (ref.kind === 'app_secret' && next !== undefined) await promoteNext(tx, ref)
    await putSecret(tx, keyring, ref, current !== undefined && ref.kind !== 'pin' ? 'next' : 'current', text)
  }
  return known.size === 0 ? 'added' : 'changed'
}

/** Returns undefined for a secret that cannot be opened; rethrows other errors. */
export const unlessUnopened = (error: unknown): undefined => {
  if (!(error instanceof VaultError)) throw error
}

const putSecret = async (tx: Tx, keyring: Keyring, ref: SecretRef, slot: Slot, text: string): Promise<void> => {
  const { keyId, sealed } = seal(keyring, ref, text)
  await sql`
    insert into secrets (tenant_id, phone_number_id, kind, slot, key_id, sealed, last4)
    values (${ref.tenant}, ${ref.phoneNumberId}, ${ref.kind}, ${slot}, ${keyId}, ${sealed}, ${last4(text)})
    on conflict (tenant_id, phone_number_id, kind, slot) do update set
      key_id = excluded.key_id, sealed = excluded.sealed, last4 = excluded.last4,
      created_at = excluded.created_at`.execute(tx)
}

const removeSecret = (tx: Tx, ref: SecretRef, slot: Slot) =>
  sql`delete from secrets where ${referenceSql(ref)} and slot = ${slot}`.execute(tx)

const promoteNext = async (tx: Tx, ref: SecretRef): Promise<void> => {
  await removeSecret(tx, ref, 'current')
  await sql`update secrets set slot = 'current' where ${referenceSql(ref)} and slot = 'next'`.execute(tx)
}

/** Returns the secrets of one kind in the clear, by slot. Use them in a request or a comparison only. */
const findSecrets = async (tx: Tx, keyring: Keyring, ref: SecretRef): Promise<Map<Slot, string>> => {
  const rows = await query<{ slot: Slot; key_id: string; sealed: Buffer }>(tx)`
    select slot, key_id, sealed from secrets where ${referenceSql(ref)}`
  return new Map(rows.map(({ slot, key_id, sealed }) => [slot, open(keyring, ref, key_id, sealed)]))
}

/** Holds the newest token; `isNext` is true while it has not worked yet. */
export interface NewestToken {
  readonly accessToken: string
  readonly isNext: boolean
}

export type ChannelRef = Omit<SecretRef, 'kind'>

export const findTokens = (tx: Tx, keyring: Keyring, channel: ChannelRef) =>
  findSecrets(tx, keyring, { ...channel, kind: 'access_token' })

export const newestToken = async (tx: Tx, keyring: Keyring, channel: ChannelRef): Promise<NewestToken | undefined> => {
  const secrets = await findTokens(tx, keyring, channel)
  const accessToken = secrets.get('next') ?? secrets.get('current')
  return accessToken === undefined ? undefined : { accessToken, isNext: secrets.has('next') }
}

type SealedRow = SecretRef & { key_id: string; sealed: Buffer }

/**
 * Reads the app secrets of each number: both during a rotation, as either may sign its webhooks. Throws VaultError for
 * a secret that cannot be opened, unless it `skipsUnopened`.
 */
export type ListAppSecrets = (tx: Tx, channels: readonly ChannelRef[], skipsUnopened?: boolean) => Promise<string[][]>

export const createAppSecretLister =
  (keyring: Keyring): ListAppSecrets =>
  async (tx, channels, skipsUnopened = false) => {
    const [tenants, numbers] = [channels.map(each => each.tenant), channels.map(each => each.phoneNumberId)]
    const rows = await query<SealedRow>(tx)`
      select tenant_id as tenant, phone_number_id as "phoneNumberId", kind, key_id, sealed from secrets
      where kind = 'app_secret' and (tenant_id, phone_number_id) in (
        select * from unnest(${tenants}::text[], ${numbers}::text[])
      )`
    const isSame = (a: ChannelRef, b: ChannelRef) => a.tenant === b.tenant && a.phoneNumberId === b.phoneNumberId
    const find = (channel: ChannelRef) => rows.filter(row => isSame(row, channel))
    const openRow = (row: SealedRow): string => open(keyring, row, row.key_id, row.sealed)
    const openRows = (found: SealedRow[]) =>
      skipsUnopened ? found.flatMap(row => tryOpen(() => openRow(row)) ?? []) : found.map(openRow)
    return channels.map(channel => openRows(find(channel)))
  }

/** Makes `worked`, a `next` access token that has worked, the only token, unless a newer one was stored meanwhile. */
export const promoteToken = async (tx: Tx, keyring: Keyring, channel: ChannelRef, worked: string): Promise<void> => {
  await lockTenant(tx, channel.tenant)
  if ((await findTokens(tx, keyring, channel)).get('next') === worked)
    await promoteNext(tx, { ...channel, kind: 'access_token' })
}

/** Holds the access tokens of a number: `next` is tried first while there is one. */
export interface AccessTokens {
  readonly current: string | undefined
  readonly next: string | undefined
}

/** Every process uses a new token within this time. */
const rememberedMilliseconds = 2_000

export type TokenKeeper = ReturnType<typeof createTokenKeeper>

export const createTokenKeeper = (pool: pg.Pool, keyring: Keyring) => {
  const cache = new LRUCache<string, AccessTokens>({ ...atMost(10_000), ttl: rememberedMilliseconds })
  /** The key includes the tenant, since two tenants may claim a number. */
  const toKey = (tenant: string, phoneNumberId: string): string => `${tenant} ${phoneNumberId}`
  return {
    find: async (tenant: string, phoneNumberId: string): Promise<AccessTokens> => {
      const kept = cache.get(toKey(tenant, phoneNumberId))
      if (kept) return kept
      const secrets = await inTenant(pool, tenant, (tx: Tx) => findTokens(tx, keyring, { tenant, phoneNumberId }))
      const tokens = { current: secrets.get('current'), next: secrets.get('next') }
      cache.set(toKey(tenant, phoneNumberId), tokens)
      return tokens
    },
    promote: async (tenant: string, phoneNumberId: string, worked: string): Promise<void> => {
      await inTenant(pool, tenant, (tx: Tx) => promoteToken(tx, keyring, { tenant, phoneNumberId }, worked))
      cache.delete(toKey(tenant, phoneNumberId))
    },
    forget: (tenant: string, phoneNumberId: string): boolean => cache.delete(toKey(tenant, phoneNumberId)),
  }
}

export interface ChannelDependencies {
  readonly pool: pg.Pool
  readonly keyring: Keyring
  readonly api: MessagingApi
  readonly tokens: TokenKeeper
  readonly points?: readonly ChannelPoint[] | undefined
}
