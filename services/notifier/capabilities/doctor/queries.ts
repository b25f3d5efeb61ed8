import { query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import { silentSinceSql } from '../../core/channels/silent.ts'
import type { Tx } from '../../core/database/tables.ts'

export interface Signals {
  readonly signed_at: Date
  readonly status_at: Date | null
  readonly inbound_at: Date | null
  /** Another responder answered on the number. */
  readonly standby_first_at: Date | null
  readonly standby_at: Date | null
  readonly owned_at: Date | null
}

export const findSignals = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<Signals | undefined> => {
  const rows = await query<Signals>(tx)`
    select signed_at, status_at, inbound_at, standby_first_at, standby_at, owned_at from channel_signals
    where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId}`
  return rows[0]
}

/** Lists the templates that rules send from a number and that its account has not approved, with their status there. */
export const listUnapproved = (tx: Tx, tenant: string, phoneNumberId: string) =>
  query<{ template: string; language: string; status: string | null }>(tx)`
    select distinct r.template, r.language, case when t.held_at is null then t.status else 'held' end as status
    from rules r
      join channels c on c.tenant_id = r.tenant_id and c.phone_number_id = ${phoneNumberId}
        and (r.phone_number_id = c.phone_number_id or r.phone_number_id is null and c.is_default)
      left join templates t on t.tenant_id = r.tenant_id and t.waba_id = c.waba_id and t.name = r.template
        and t.language = r.language
    where r.tenant_id = ${tenant} and r.template <> ''
      and (t.status is distinct from 'APPROVED' or t.held_at is not null)
    order by r.template, r.language`

export const countRules = async (tx: Tx, tenant: string): Promise<number> => {
  const rows = await query<{ count: number }>(tx)`
    select count(*)::integer as count from rules where tenant_id = ${tenant} and template <> ''`
  return rows[0]?.count ?? 0
}

/** Returns since when a number of the tenant gets no statuses; null if it does, or sends nothing. */
export const findSilentSince = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<Date | null> => {
  const rows = await query<{ since: Date | null }>(tx)`
    select (${sql.raw(silentSinceSql)}) as since from channels c
    where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId}`
  return rows[0]?.since ?? null
}
