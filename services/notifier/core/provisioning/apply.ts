import type { Applied, Change } from '@courier/shared/cli/changes.ts'
import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant, lockTenant, query } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import { storeChannels } from '../channels/store.ts'
import { unnamed } from '../conversations/keywords.ts'
import { findTenant } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { applyRules } from './apply-rules.ts'
import type { TenantConfig } from './check-file.ts'

/**
 * Applies a checked file to a tenant's messaging, in one transaction. Channels that the file does not name stay; its
 * rules, if given, replace all those of the tenant, and so do lists of the parts. A running notifier proves a new
 * channel. `dryRun` rolls the transaction back.
 */
export const applyFile = async (
  pool: pg.Pool,
  keyring: Keyring,
  file: TenantConfig,
  dryRun: boolean,
  by: Actor = operator(),
): Promise<Applied> => {
  const { tenant, channels } = file
  return inTenant(
    pool,
    tenant.id,
    async (tx: Tx): Promise<Applied> => {
      await lockTenant(tx, tenant.id)
      if (tenant.time_zone && !(await hasTimeZone(tx, tenant.time_zone)))
        return { kind: 'refused', errors: { 'tenant.time_zone': [wordUnknownZone(tenant.time_zone)] } }
      const found = await applySettings(tx, tenant)
      found.push(...(await storeChannels(tx, keyring, tenant.id, channels)))
      const before: Change[] = []
      for (const part of file.parts) before.push(...((await part.beforeRules?.(tx, file.given)) ?? []))
      const rules = await applyRules(tx, tenant.id, file.rules)
      if (rules.kind === 'refused') return rules
      for (const part of file.parts) {
        const applied = (await part.afterRules?.(tx, file.given)) ?? { changes: [] }
        if ('errors' in applied) return { kind: 'refused', errors: applied.errors }
        found.push(...applied.changes)
      }
      const changes = mergeChanges([...found, ...before, ...rules.changes])
      if (changes.length > 0) await audit(tx, tenant.id, by, 'tenant.applied', tenant.id)
      return { kind: 'applied', changes, warnings: rules.warnings ?? [] }
    },
    { keeps: ({ kind }) => kind === 'applied' && !dryRun },
  )
}

/** Checks the name in Postgres, whose list of time zones may differ from Node's. */
const hasTimeZone = async (tx: Tx, name: string): Promise<boolean> => {
  const rows = await query(tx)`select from pg_timezone_names where lower(name) = lower(${name})`
  return rows.length > 0
}

const wordUnknownZone = (name: string) => `Postgres does not know the time zone ${name}: its time zone data is older.`

/** Lists a channel once, even if it both lost its default and changed otherwise. */
const mergeChanges = (changes: Change[]): Change[] => [
  ...new Map(changes.map(change => [JSON.stringify([change.kind, change.id]), change])).values(),
]

const applySettings = async (tx: Tx, tenant: TenantConfig['tenant']): Promise<Change[]> => {
  const current = await findTenant(tx, tenant.id)
  const wanted = {
    country: tenant.country,
    stop_words: tenant.stop_words ?? unnamed.stop,
    start_words: tenant.start_words ?? unnamed.start,
    resends_unknown: tenant.resend_unknown ?? false,
    opt_out_exempt: tenant.opt_out?.exempt ?? null,
    send_between: (tenant.send_between as [string, string] | undefined) ?? null,
    time_zone: tenant.time_zone ?? current?.time_zone ?? null,
    currency: tenant.currency ?? null,
  }
  const stored: Record<string, unknown> = current ?? {}
  const isSame = ([column, value]: [string, unknown]) => JSON.stringify(value) === JSON.stringify(stored[column])
  if (Object.entries(wanted).every(isSame)) return []
  await tx
    .insertInto('tenants')
    .values({ tenant_id: tenant.id, ...wanted })
    .onConflict(conflict => conflict.column('tenant_id').doUpdateSet(wanted))
    .execute()
  return [{ kind: 'tenant', id: tenant.id, change: current ? 'changed' : 'added' }]
}
