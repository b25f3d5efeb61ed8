import { findTenantIds, inTenant } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Capabilities } from './capability.ts'
import type { Tx } from './core/database/tables.ts'

/**
 * Says that the newest key opens none of what its id sealed: it is another key, and what it seals would be lost once
 * the right one is back. undefined: it opens something, or there is nothing yet.
 */
export const findWrongKey = async (
  pool: pg.Pool,
  keyring: Keyring,
  loaded: Capabilities,
): Promise<string | undefined> => {
  let isWrong = false
  const checks = [...loaded.values()].flatMap(({ opensNewest }) => opensNewest ?? [])
  for (const tenant of checks.length > 0 ? await findTenantIds(pool) : []) {
    const opened = await inTenant(pool, tenant, (tx: Tx) =>
      Promise.all(checks.map(opens => opens(tx, tenant, keyring))),
    )
    if (opened.includes(true)) return undefined
    isWrong ||= opened.includes(false)
  }
  return isWrong
    ? `key ${keyring.newest} of WEBHOOK_KEYS is not the one that sealed the stored secrets: correct it, or give a new key a new id`
    : undefined
}
