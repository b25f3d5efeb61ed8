import { findTenantIds, inTenant, query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'

/** Reports a change of a template's category (docs/contributors/messaging-api.md#category-changes). */
export interface CategoryReport {
  readonly tenant: string
  readonly wabaId: string
  readonly name: string
  readonly language: string
  readonly from: string | undefined
  readonly to: string
  /** Dates the change, past or announced. */
  readonly at: Date
  readonly isAnnounced: boolean
  readonly reportedAt: Date
}

interface CategoryChange extends CategoryReport {
  /** Counts the rules that make no messages until they are applied again. */
  readonly pausedRules: number
}

/** Stores new reports, and pauses the rules that ask to be paused. A repeated or older report changes nothing. */
export const reportCategories = async (tx: Tx, reports: readonly CategoryReport[]): Promise<CategoryChange[]> => {
  const toKey = ({ tenant, wabaId, name, language }: CategoryReport) => JSON.stringify([tenant, wabaId, name, language])
  const sorted = reports.toSorted(
    (a, b) =>
      (toKey(a) < toKey(b) ? -1 : Number(toKey(a) > toKey(b))) || a.reportedAt.getTime() - b.reportedAt.getTime(),
  )
  const changes: CategoryChange[] = []
  for (const report of sorted)
    if (await storeReport(tx, report))
      changes.push({ ...report, pausedRules: report.isAnnounced ? 0 : await pauseRules(tx, report) })
  return changes
}

/**
 * Applies the announced changes that are due, since the webhook that confirms one may be lost. Stores each as if it had
 * been reported at its time, so that it is applied once and a later catalogue or webhook prevails.
 */
export const applyAnnounced = async (tx: Tx, tenant: string): Promise<CategoryChange[]> => {
  const rows = await query<CategoryReport>(tx)`
    update templates set category = category_to, category_reported_at = category_at
    where tenant_id = ${tenant} and category_at <= now() and category_at > category_reported_at
    returning tenant_id as tenant, waba_id as "wabaId", name, language, category_from as "from", category_to as "to",
      category_at as at, false as "isAnnounced", category_reported_at as "reportedAt"`
  const changes: CategoryChange[] = []
  for (const report of rows) changes.push({ ...report, pausedRules: await pauseRules(tx, report) })
  return changes
}

const storeReport = async (tx: Tx, report: CategoryReport): Promise<boolean> => {
  const { tenant, wabaId, name, language, from = null, to, at, isAnnounced, reportedAt } = report
  const { numAffectedRows } = await sql`
    update templates set category_from = coalesce(${from}, category), category_to = ${to}, category_at = ${at},
      category_reported_at = ${reportedAt}, category = case when ${isAnnounced} then category else ${to} end
    where tenant_id = ${tenant} and waba_id = ${wabaId} and name = ${name} and language = ${language}
      and (category_reported_at is null or category_reported_at <= ${reportedAt})
      and (category_to, category_at, category_reported_at)
        is distinct from (${to}, ${at}::timestamptz, ${reportedAt}::timestamptz)`.execute(tx)
  return numAffectedRows === 1n
}

const pauseRules = async (tx: Tx, { tenant, wabaId, name, language, to }: CategoryReport): Promise<number> => {
  const reason = `The rule is paused until the rules are applied again: its template became ${to}.`
  const { numAffectedRows } = await sql`
    update rules r set paused_reason = ${reason}
    where tenant_id = ${tenant} and template = ${name} and language = ${language} and pauses_on_category_change
      and exists (
        select from channels c where c.tenant_id = r.tenant_id and c.waba_id = ${wabaId}
          and (r.phone_number_id is null or c.phone_number_id = r.phone_number_id)
      )`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

export const logCategory =
  (logger: Logger) =>
  ({ tenant, name, language, from, to, at, isAnnounced, pausedRules }: CategoryChange): void =>
    logger.warn(
      { tenant, template: name, language, from, to, at, paused_rules: pausedRules },
      isAnnounced ? 'template.category_announced' : 'template.category_changed',
    )

/** Applies the announced changes that are due, of all tenants. */
export const applyDueCategories = async (pool: pg.Pool, logger: Logger): Promise<void> => {
  for (const tenant of await findTenantIds(pool)) {
    const changes = await inTenant(pool, tenant, (tx: Tx) => applyAnnounced(tx, tenant)).catch(err =>
      logger.warn({ err, tenant }, 'template.category_not_changed'),
    )
    changes?.forEach(logCategory(logger))
  }
}
