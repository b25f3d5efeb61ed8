import type pg from 'pg'
import { listAudit } from './audit.ts'
import { printJson, printTable, readTime, UsageError } from './command-line.ts'
import { requireTenant } from './token-commands.ts'

export interface AuditRequest {
  tenant: string
  /** ISO 8601. */
  since?: string
  limit: string
  json: boolean
}

const mostEntries = 10_000

/** Prints who did what, the newest first. Throws UsageError for an unknown tenant, a wrong time and a wrong number. */
export const printAudit = async (pool: pg.Pool, { tenant, since, limit, json }: AuditRequest): Promise<void> => {
  const count = /^\d{1,5}$/.test(limit) ? Number(limit) : 0
  if (count < 1 || count > mostEntries) throw new UsageError(`--limit must be a whole number, 1 to ${mostEntries}`)
  const from = since === undefined ? null : readTime(since)
  if (from === undefined) throw new UsageError(`--since must be a time such as 2027-01-31T00:00:00Z, not ${since}`)
  await requireTenant(pool, tenant)
  const entries = await listAudit(pool, { tenant, since: from, limit: count })
  if (json) printJson(entries)
  else printTable(entries, 'Nothing was done.')
}
