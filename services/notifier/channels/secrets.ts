import { inTenant } from '@courier/shared/database.ts'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { type Keyring, last4, open, type SecretKind, seal } from './vault.ts'

export type Slot = 'current' | 'next'

/** Seals and stores a secret. A secret that is there already stays as `current` until this one, as `next`, has worked. */
export const storeSecret = async (
  tx: Tx,
  keyring: Keyring,
  place: { tenant: string; phoneNumberId: string; kind: SecretKind },
  text: string,
): Promise<'unchanged' | 'stored'> => {
  const known = await findSecrets(tx, keyring, place.tenant, place.phoneNumberId, place.kind)
  if ((known.get('next') ?? known.get('current')) === text) return 'unchanged'
  const slot: Slot = known.has('current') && place.kind !== 'pin' ? 'next' : 'current'
  const { keyId, sealed } = seal(keyring, place, text)
  const { tenant: tenant_id, phoneNumberId: phone_number_id, kind } = place
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
  return 'stored'
}

/** The secrets of one kind in the clear, by slot. They go nowhere but into a call or a comparison. */
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

/** Makes `next` the only one: it has worked. */
export const promoteNext = async (tx: Tx, tenant: string, phoneNumberId: string, kind: SecretKind): Promise<void> => {
  const ofKind = { tenant_id: tenant, phone_number_id: phoneNumberId, kind }
  const remove = tx
    .deleteFrom('secrets')
    .where(({ eb, and, exists, selectFrom }) =>
      and([
        eb('tenant_id', '=', tenant),
        eb('phone_number_id', '=', phoneNumberId),
        eb('kind', '=', kind),
        eb('slot', '=', 'current'),
        exists(
          selectFrom('secrets as newer')
            .select('newer.slot')
            .where('newer.tenant_id', '=', tenant)
            .where('newer.phone_number_id', '=', phoneNumberId)
            .where('newer.kind', '=', kind)
            .where('newer.slot', '=', 'next'),
        ),
      ]),
    )
  await remove.execute()
  await tx
    .updateTable('secrets')
    .set({ slot: 'current' })
    .where('tenant_id', '=', ofKind.tenant_id)
    .where('phone_number_id', '=', ofKind.phone_number_id)
    .where('kind', '=', kind)
    .where('slot', '=', 'next')
    .execute()
}

/** The access tokens of a number: `next` first while there is one. */
export interface AccessTokens {
  readonly current: string | undefined
  readonly next: string | undefined
}

/** A new token is used by every process within this time. */
const rememberedMilliseconds = 2_000

export const createTokenKeeper = (pool: pg.Pool, keyring: Keyring) => {
  const cache = new LRUCache<string, AccessTokens>({ max: 10_000, ttl: rememberedMilliseconds })
  return {
    find: async (tenant: string, phoneNumberId: string): Promise<AccessTokens> => {
      const kept = cache.get(phoneNumberId)
      if (kept) return kept
      const secrets = await inTenant(pool, tenant, (tx: Tx) =>
        findSecrets(tx, keyring, tenant, phoneNumberId, 'access_token'),
      )
      const tokens = { current: secrets.get('current'), next: secrets.get('next') }
      cache.set(phoneNumberId, tokens)
      return tokens
    },
    /** `next` has worked. */
    promote: async (tenant: string, phoneNumberId: string): Promise<void> => {
      await inTenant(pool, tenant, (tx: Tx) => promoteNext(tx, tenant, phoneNumberId, 'access_token'))
      cache.delete(phoneNumberId)
    },
    forget: (phoneNumberId: string): boolean => cache.delete(phoneNumberId),
  }
}
