import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { findTenantIds, inTenant, query } from '@courier/shared/postgres/database.ts'
import { type Keyring, VaultError } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { Slot } from './secrets.ts'
import { open, type SecretRef, seal } from './vault.ts'

interface SecretName {
  readonly phone_number_id: string
  readonly kind: SecretRef['kind']
  readonly slot: Slot
}

type Unopened = SecretName & { readonly tenant: string; readonly reason: string }

/** Seals every secret that has an older key with the newest key, in one transaction per tenant: a rerun continues. */
export const rotateKeys = async (pool: pg.Pool, keyring: Keyring, by: Actor = operator()) => {
  const tenants: Awaited<ReturnType<typeof rotateTenant>>[] = []
  for (const tenant of await findTenantIds(pool))
    tenants.push(await inTenant(pool, tenant, (tx: Tx) => rotateTenant(tx, keyring, tenant, by)))
  const rotated = tenants.reduce((sum, tenant) => sum + tenant.rotated, 0)
  return { rotated, unopened: tenants.flatMap(({ unopened }) => unopened) }
}

const rotateTenant = async (tx: Tx, keyring: Keyring, tenant: string, by: Actor) => {
  const rows = await query<SecretName & { key_id: string; sealed: Buffer }>(tx)`
    select phone_number_id, kind, slot, key_id, sealed from secrets
    where tenant_id = ${tenant} and key_id <> ${keyring.newest}
    order by phone_number_id, kind, slot for update`
  const unopened: Unopened[] = []
  for (const { phone_number_id, kind, slot, key_id, sealed: old } of rows) {
    const ref = { tenant, phoneNumberId: phone_number_id, kind }
    try {
      const { keyId, sealed } = seal(keyring, ref, open(keyring, ref, key_id, old))
      await query(tx)`
        update secrets set key_id = ${keyId}, sealed = ${sealed}
        where tenant_id = ${tenant} and phone_number_id = ${phone_number_id} and kind = ${kind} and slot = ${slot}`
      await audit(tx, tenant, by, 'keys.rotated', `${phone_number_id} ${kind}`)
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      unopened.push({ tenant, phone_number_id, kind, slot, reason: error.message })
    }
  }
  return { rotated: rows.length - unopened.length, unopened }
}
