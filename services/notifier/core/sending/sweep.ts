import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { unknownMinutes } from './decide.ts'
import { selectLaterThatLeft } from './outcomes.ts'

/**
 * Moves on messages whose time is over. A message without a stored outcome becomes unknown: its process may have died.
 * An unknown message is resent once if the tenant's setting says so, else left to staff; a message that was not sent in
 * time expires. Any number of processes may sweep at once.
 */
export const sweep = async (pool: pg.Pool) => ({
  overdue: await move(pool, 'sweep_overdue', overdueSql, [unknownMinutes]),
  resent: await move(pool, 'sweep_unknown', unknownSql),
  expired: await move(pool, 'sweep_expired', expiredSql),
})

const move = async (pool: pg.Pool, name: string, moving: string, values: unknown[] = []): Promise<number> => {
  const text = `
    with moved as (${moving})
    insert into message_events (tenant_id, message_id, status, detail)
    select tenant_id, message_id, status, detail from moved where detail is not null`
  return inAllTenants(pool, async (tx: Tx) => (await tx.client.query({ name, text, values })).rowCount ?? 0)
}

const selectDue = (where: string): string => `(
  select tenant_id, message_id from messages where ${where} and joined_to is null limit 1000 for update skip locked
)`

const overdueSql = `
  update messages m set status = 'unknown', status_at = now(), due_at = now() + make_interval(mins => $1::integer)
  from ${selectDue("status = 'sending' and due_at <= now()")} late
  where m.tenant_id = late.tenant_id and m.message_id = late.message_id
  returning m.tenant_id, m.message_id, m.status, 'no response: it may have been sent' as detail`

/**
 * The setting resends a message at most once, before it expires, and never after a later one about its parcel or an
 * event that made it untrue: the queue would cancel it, although it may have been sent.
 */
const resentSql = `t.resends_unknown and m.resent_at is null and m.superseded_by is null and m.expires_at > now()
  and not exists (${selectLaterThatLeft('m')})`
const unknownSql = `
  update messages m set
    status = case when ${resentSql} then 'queued' else m.status end,
    resent_at = case when ${resentSql} then now() else m.resent_at end,
    -- Keeps the fence of others: a late outcome may still settle them.
    fence = case when ${resentSql} then m.fence + 1 else m.fence end,
    due_at = case when ${resentSql} then now() else 'infinity' end
  from ${selectDue("status = 'unknown' and due_at <= now()")} late join tenants t on t.tenant_id = late.tenant_id
  where m.tenant_id = late.tenant_id and m.message_id = late.message_id
  returning m.tenant_id, m.message_id, m.status,
    case when m.status = 'queued' then 'sent again automatically: a duplicate is possible' end as detail`

const expiredSql = `
  update messages m set status = 'expired', status_at = now()
  from ${selectDue("status in ('queued', 'held') and expires_at <= now()")} late
  where m.tenant_id = late.tenant_id and m.message_id = late.message_id
  returning m.tenant_id, m.message_id, m.status, case when m.hours is not null and m.send_at >= m.expires_at
    then 'its time limit ended before its hours began' else 'it could not be sent in time' end as detail`
