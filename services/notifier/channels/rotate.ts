import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { type Keyring, VaultError } from '@courier/shared/vault.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { open, type SecretKind, seal } from './vault.ts'

export interface RotationProgress {
  readonly rotated: number
  /** Sealed with another key than the newest when the rotation began. */
  readonly total: number
}

/** A secret that could not be opened, and why; it stays as it was. */
export interface Unopened {
  readonly tenant: string
  readonly phone_number_id: string
  readonly kind: SecretKind
  readonly slot: 'current' | 'next'
  readonly reason: string
}

const sliceSize = 100

interface SecretRow {
  tenant_id: string
  phone_number_id: string
  kind: SecretKind
  slot: 'current' | 'next'
  key_id: string
  sealed: Buffer
}

type Key = readonly [tenant: string, phoneNumberId: string, kind: string, slot: string]

/**
 * Seals every secret that has another key than the newest with that, slice by slice, each its own transaction: broken
 * off, it goes on where it was. Reports its progress after each slice.
 */
export const rotateKeys = async (
  pool: pg.Pool,
  keyring: Keyring,
  onProgress: (progress: RotationProgress) => void = () => {},
  by: Actor = operator(),
): Promise<{ rotated: number; unopened: Unopened[] }> => {
  const total = await inAllTenants(pool, (tx: Tx) => countOld(tx, keyring))
  const unopened: Unopened[] = []
  let rotated = 0
  let after: Key | undefined = ['', '', '', '']
  while (after) {
    const from: Key = after
    const slice = await inAllTenants(pool, (tx: Tx) => rotateSlice(tx, keyring, from, by))
    rotated += slice.rotated
    unopened.push(...slice.unopened)
    after = slice.last
    onProgress({ rotated, total })
  }
  return { rotated, unopened }
}

const countOld = async (tx: Tx, { newest }: Keyring): Promise<number> => {
  const { count } = await tx
    .selectFrom('secrets')
    .select(eb => eb.fn.countAll<string>().as('count'))
    .where('key_id', '<>', newest)
    .executeTakeFirstOrThrow()
  return Number(count)
}

const rotateSlice = async (tx: Tx, keyring: Keyring, after: Key, by: Actor) => {
  const { rows } = await sql<SecretRow>`
    select tenant_id, phone_number_id, kind, slot, key_id, sealed from secrets
    where key_id <> ${keyring.newest} and (tenant_id, phone_number_id, kind, slot) > (${sql.join(after)})
    order by tenant_id, phone_number_id, kind, slot limit ${sliceSize} for update`.execute(tx)
  const unopened: Unopened[] = []
  for (const row of rows) {
    const failure = await rotateSecret(tx, keyring, row, by)
    if (failure) unopened.push(failure)
  }
  const last = rows.length === sliceSize ? rows.at(-1) : undefined
  return {
    rotated: rows.length - unopened.length,
    unopened,
    last: last && ([last.tenant_id, last.phone_number_id, last.kind, last.slot] as const),
  }
}

const rotateSecret = async (tx: Tx, keyring: Keyring, row: SecretRow, by: Actor): Promise<Unopened | undefined> => {
  const { tenant_id: tenant, phone_number_id, kind, slot } = row
  const ref = { tenant, phoneNumberId: phone_number_id, kind }
  try {
    const { keyId, sealed } = seal(keyring, ref, open(keyring, ref, row.key_id, row.sealed))
    await tx
      .updateTable('secrets')
      .set({ key_id: keyId, sealed })
      .where('tenant_id', '=', tenant)
      .where('phone_number_id', '=', phone_number_id)
      .where('kind', '=', kind)
      .where('slot', '=', slot)
      .execute()
    await audit(tx, tenant, by, 'keys.rotated', `${phone_number_id} ${kind}`)
    return undefined
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    return { tenant, phone_number_id, kind, slot, reason: error.message }
  }
}
