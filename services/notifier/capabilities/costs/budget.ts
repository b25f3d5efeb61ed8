import { findTenantIds, inTenant, query } from '@courier/shared/postgres/database.ts'
import { orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../../core/database/tables.ts'
import { reportCosts } from './report.ts'

const textOrNull = (...examples: string[]) => orNull(Type.String(), { examples })

/** Shows a tenant's budget as last checked; `spent` sums the month `month`; both are null before the first check. */
export const Budget = Type.Object({
  monthly: Type.String({ examples: ['250'] }),
  warn_at_percent: Type.Integer({ examples: [80] }),
  month: textOrNull('2026-02'),
  spent: textOrNull('1.65'),
  warned_at: textOrNull(),
  marketing_paused: Type.Boolean({ examples: [false] }),
})

const columns = sql`trim_scale(monthly)::text as monthly, warn_at_percent, to_char(month, 'YYYY-MM') as month,
  spent::text as spent, to_char(warned_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as warned_at,
  paused_at is not null as marketing_paused`

export const findBudget = async (tx: Tx, tenant: string): Promise<Static<typeof Budget> | null> => {
  const budget = sql<Static<typeof Budget>>`select ${columns} from budgets where tenant_id = ${tenant}`
  return (await budget.execute(tx)).rows[0] ?? null
}

export const setMarketingPaused = async (tx: Tx, tenant: string, isPaused: boolean): Promise<void> => {
  const waits = sql`(${isPaused} and coalesce(category, '') = 'MARKETING')`
  await sql`
    update templates set budget_paused_at = case when ${waits} then now() end
    where tenant_id = ${tenant} and (budget_paused_at is not null) <> ${waits}`.execute(tx)
}

const intervalSeconds = 60

type Checked = Record<'monthly' | 'spent' | 'month', string> &
  Record<'is_paused' | 'warns' | 'pauses' | 'resumes', boolean>

/** Sums the month. Returns undefined without a budget, or if it was checked within the last minute. */
const checkBudget = async (tx: Tx, tenant: string): Promise<Checked | undefined> => {
  const due = await query<{ time_zone: string; today: string }>(tx)`
    update budgets b set checked_at = now() from tenants t
    where b.tenant_id = ${tenant} and t.tenant_id = b.tenant_id
      and (b.checked_at is null or b.checked_at <= now() - make_interval(secs => ${intervalSeconds - 5}))
    returning coalesce(t.time_zone, 'UTC') as time_zone,
      (now() at time zone coalesce(t.time_zone, 'UTC'))::date::text as today`
  if (!due[0]) return undefined
  const { time_zone: timeZone, today } = due[0]
  const month = `${today.slice(0, 7)}-01`
  const { total } = await reportCosts(tx, tenant, { from: month, to: today, timeZone }, 'category')
  const since = (column: 'warned_at' | 'paused_at', limit: ReturnType<typeof sql>) => sql`
    ${sql.ref(column)} = case when ${total.amount}::numeric >= ${limit}
      then coalesce(case when b.month = ${month}::date then ${sql.ref(`b.${column}`)} end, now()) end`
  const rows = await query<Checked>(tx)`
    update budgets b set month = ${month}::date, spent = ${total.amount}::numeric,
      ${since('warned_at', sql`b.monthly * b.warn_at_percent / 100`)}, ${since('paused_at', sql`b.monthly`)}
    where tenant_id = ${tenant}
    returning trim_scale(new.monthly)::text as monthly, new.spent::text as spent,
      to_char(new.month, 'YYYY-MM') as month, new.paused_at is not null as is_paused,
      new.warned_at is distinct from old.warned_at and new.warned_at is not null as warns,
      new.paused_at is distinct from old.paused_at and new.paused_at is not null as pauses,
      new.paused_at is null and old.paused_at is not null as resumes`
  await setMarketingPaused(tx, tenant, rows[0]?.is_paused === true)
  return rows[0]
}

/** Checks the budgets that no process has checked in the last minute. */
export const checkBudgets = async (pool: pg.Pool, logger: Logger): Promise<void> => {
  for (const tenant of await findTenantIds(pool)) {
    const checked = await inTenant(pool, tenant, (tx: Tx) => checkBudget(tx, tenant)).catch(err =>
      logger.warn({ err, tenant }, 'budget.check_failed'),
    )
    if (!checked) continue
    const { monthly, spent, month, warns, pauses, resumes } = checked
    const details = { tenant, month, spent, monthly }
    if (pauses) logger.warn(details, 'budget.used_up')
    else if (warns) logger.warn(details, 'budget.nearly_used_up')
    if (resumes) logger.info(details, 'budget.marketing_resumed')
  }
}
