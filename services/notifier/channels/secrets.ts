import { inTenant, lockTenant } from '@courier/shared/postgres/database.ts'
import { type Keyring, VaultError } from '@courier/shared/vault.ts'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { last4, open, type SecretKind, type SecretRef, seal } from './vault.ts'

export type Slot = 'current' | 'next'

/**
 * Seals and stores a secret. A secret that is there already stays as `current` until this one, as `next`, has worked; the
 * secret that is `current` calls a rotation off. A `next` app secret counts as working when a newer one is stored: no request
 * tests it. Secrets that cannot be opened give way at once.
 */
export const storeSecret = async (tx: Tx, keyring: Keyring, ref: SecretRef, text: string): Promise<StoredAs> => {
  const { tenant, phoneNumberId, kind } = ref
  const known = await findSecrets(tx, keyring, tenant, phoneNumberId, kind).catch(unlessUnopened)
  if (!known) {
    await removeSecret(tx, ref, 'next')
    await putSecret(tx, keyring, ref, 'current', text)
    return 'changed'
  }
  if ((known.get('next') ?? known.get('current')) === text) return 'unchanged'
  if (known.get('current') === text) {
    await removeSecret(tx, ref, 'next')
    return 'changed'
  }
  if (kind === 'app_secret') await promoteNext(tx, tenant, phoneNumberId, kind)
  await putSecret(tx, keyring, ref, known.has('current') && kind !== 'pin' ? 'next' : 'current', text)
  return known.size === 0 ? 'added' : 'changed'
}

const unlessUnopened = (error: unknown): undefined => {
  if (!(error instanceof VaultError)) throw error
}

export type StoredAs = 'unchanged' | 'added' | 'changed'

const putSecret = async (tx: Tx, keyring: Keyring, ref: SecretRef, slot: Slot, text: string): Promise<void> => {
  const { keyId, sealed } = seal(keyring, ref, text)
  const { tenant: tenant_id, phoneNumberId: phone_number_id, kind } = ref
  await tx
    .insertInto('secrets')
    .values({ tenant_id, phone_number_id, kind, slot, key_id: keyId, sealed, last4: last4(text) })
    .onConflict(conflict =>
      conflict.columns(['tenant_id', 'phone_number_id', 'kind', 'slot']).doUpdateSet(({ ref }) => ({
        key_id: ref('excluded.key_id'),
        sealed: ref('excluded.sealed'),
        last4: ref('excluded.last4'),
        created_at: ref('excluded.created_at'),
      })),
    )
    .execute()
}

const removeSecret = (tx: Tx, ref: SecretRef, slot: Slot) =>
  tx
    .deleteFrom('secrets')
    .where('tenant_id', '=', ref.tenant)
    .where('phone_number_id', '=', ref.phoneNumberId)
    .where('kind', '=', ref.kind)
    .where('slot', '=', slot)
    .execute()

/** The secrets of one kind in the clear, by slot. Used in a request or a comparison only. */
export const findSecrets = async (
  tx: Tx,
  keyring: Keyring,
  tenant: string,
  phoneNumberId: string,
  kind: SecretKind,
): Promise<Map<Slot, string>> => {
  const rows = await tx
    .selectFrom('secrets')
    .select(['slot', 'key_id', 'sealed'])
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', phoneNumberId)
    .where('kind', '=', kind)
    .execute()
  return new Map(rows.map(row => [row.slot, open(keyring, { tenant, phoneNumberId, kind }, row.key_id, row.sealed)]))
}

/** `isNext` while it has not worked yet. */
export interface NewestToken {
  readonly accessToken: string
  readonly isNext: boolean
}

/** The newest access token of a number, straight from the database. */
export const newestToken = async (
  tx: Tx,
  keyring: Keyring,
  tenant: string,
  phoneNumberId: string,
): Promise<NewestToken | undefined> => {
  const secrets = await findSecrets(tx, keyring, tenant, phoneNumberId, 'access_token')
  const accessToken = secrets.get('next') ?? secrets.get('current')
  return accessToken === undefined ? undefined : { accessToken, isNext: secrets.has('next') }
}

/** Reads the app secrets of a number, both of a rotation: its webhooks are signed with either. */
export type AppSecretsOf = (tx: Tx, tenant: string, phoneNumberId: string) => Promise<string[]>

export const appSecretsOf =
  (keyring: Keyring): AppSecretsOf =>
  async (tx, tenant, phoneNumberId) => [
    ...(await findSecrets(tx, keyring, tenant, phoneNumberId, 'app_secret')).values(),
  ]

/** Makes `next`, if there is one, the only one: it has worked. */
export const promoteNext = async (tx: Tx, tenant: string, phoneNumberId: string, kind: SecretKind): Promise<void> => {
  const next = await tx
    .selectFrom('secrets')
    .select('slot')
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', phoneNumberId)
    .where('kind', '=', kind)
    .where('slot', '=', 'next')
    .forUpdate()
    .executeTakeFirst()
  if (!next) return
  await removeSecret(tx, { tenant, phoneNumberId, kind }, 'current')
  await tx
    .updateTable('secrets')
    .set({ slot: 'current' })
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', phoneNumberId)
    .where('kind', '=', kind)
    .where('slot', '=', 'next')
    .execute()
}

/** `worked`, an access token that was `next`, has worked: it becomes the only one, unless a newer one was stored meanwhile. */
export const promoteToken = async (
  tx: Tx,
  keyring: Keyring,
  tenant: string,
  phoneNumberId: string,
  worked: string,
): Promise<void> => {
  await lockTenant(tx, tenant)
  const secrets = await findSecrets(tx, keyring, tenant, phoneNumberId, 'access_token')
  if (secrets.get('next') === worked) await promoteNext(tx, tenant, phoneNumberId, 'access_token')
}

/** The access tokens of a number: `next` first while there is one. */
export interface AccessTokens {
  readonly current: string | undefined
  readonly next: string | undefined
}

/** A new token is used by every process within this time. */
const rememberedMilliseconds = 2_000

/** Two tenants may claim a number. */
const keyOf = (tenant: string, phoneNumberId: string): string => `${tenant} ${phoneNumberId}`

export type TokenKeeper = ReturnType<typeof createTokenKeeper>

export const createTokenKeeper = (pool: pg.Pool, keyring: Keyring) => {
  const cache = new LRUCache<string, AccessTokens>({ max: 10_000, ttl: rememberedMilliseconds })
  return {
    find: async (tenant: string, phoneNumberId: string): Promise<AccessTokens> => {
      const kept = cache.get(keyOf(tenant, phoneNumberId))
      if (kept) return kept
      const secrets = await inTenant(pool, tenant, (tx: Tx) =>
        findSecrets(tx, keyring, tenant, phoneNumberId, 'access_token'),
      )
      const tokens = { current: secrets.get('current'), next: secrets.get('next') }
      cache.set(keyOf(tenant, phoneNumberId), tokens)
      return tokens
    },
    promote: async (tenant: string, phoneNumberId: string, worked: string): Promise<void> => {
      await inTenant(pool, tenant, (tx: Tx) => promoteToken(tx, keyring, tenant, phoneNumberId, worked))
      cache.delete(keyOf(tenant, phoneNumberId))
    },
    forget: (tenant: string, phoneNumberId: string): boolean => cache.delete(keyOf(tenant, phoneNumberId)),
  }
}
