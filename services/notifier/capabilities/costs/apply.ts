import { type Change, compare } from '@courier/shared/cli/changes.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type { Tx } from '../../core/database/tables.ts'
import { setMarketingPaused } from './budget.ts'
import type { Tariff } from './price.ts'
import { findTariffs } from './queries.ts'

/** Replaces the tenant's tariffs with these; undefined keeps them. Requires `lockTenant`. */
export const applyTariffs = async (tx: Tx, tenant: string, wanted: readonly Tariff[] | undefined) => {
  if (!wanted) return []
  const { tariffs } = await findTariffs(tx, tenant)
  const changes = compare('tariff', listPrices(tariffs), listPrices(wanted))
  if (changes.length > 0) await replaceTariffs(tx, tenant, wanted)
  return changes
}

const listPrices = (tariffs: readonly Tariff[]) =>
  new Map(tariffs.map(({ category, country, from, price }) => [`${category} ${country} ${from}`, price]))

const replaceTariffs = async (tx: Tx, tenant: string, tariffs: readonly Tariff[]): Promise<void> => {
  await sql`delete from tariffs where tenant_id = ${tenant}`.execute(tx)
  await sql`
    insert into tariffs (tenant_id, category, country, valid_from, price)
    select ${tenant}::text, * from unnest(${tariffs.map(t => t.category)}::text[],
      ${tariffs.map(t => t.country)}::text[],
      ${tariffs.map(t => t.from)}::date[], ${tariffs.map(t => t.price)}::numeric[])`.execute(tx)
}

/** Stores the tenant's budget, which a running notifier then checks again; undefined removes it. */
export const applyBudget = async (
  tx: Tx,
  tenant: string,
  wanted: { readonly monthly: string; readonly warn_at_percent?: number } | undefined,
): Promise<Change[]> => {
  if (!wanted) {
    const { numAffectedRows } = await sql`delete from budgets where tenant_id = ${tenant}`.execute(tx)
    if (numAffectedRows === 0n) return []
    await setMarketingPaused(tx, tenant, false)
    return [{ kind: 'budget', id: tenant, change: 'removed' }]
  }
  const rows = await query<{ is_new: boolean }>(tx)`
    insert into budgets as b (tenant_id, monthly, warn_at_percent)
    values (${tenant}, ${wanted.monthly}::numeric, ${wanted.warn_at_percent ?? defaultWarnAtPercent})
    on conflict (tenant_id) do update
      set monthly = excluded.monthly, warn_at_percent = excluded.warn_at_percent, checked_at = null
      where (b.monthly, b.warn_at_percent) <> (excluded.monthly, excluded.warn_at_percent)
    returning old.tenant_id is null as is_new`
  return rows.map(({ is_new }) => ({ kind: 'budget', id: tenant, change: is_new ? 'added' : 'changed' }))
}

const defaultWarnAtPercent = 80
