import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { isoTime } from '../../core/database/iso-time.ts'
import type { ChangeActor } from '../../core/database/tables.ts'

/** Describes one change of one order, or one that is about no order, such as of an invoice. */
export interface Change {
  /** Numbers the changes of the merchant's feed: 1, 2, 3 and so on. */
  readonly position: number
  readonly type: string
  /** null: the change is about no order, and has no order number or status either. */
  readonly waybill_number: string | null
  readonly order_no: string | null
  readonly status: { readonly key: string; readonly name: string } | null
  /** Is a time in ISO 8601, UTC, in microseconds. */
  readonly happened_at: string
  readonly by: ChangeActor
  /** Lists the names of the fields that an edit changed. */
  readonly fields: readonly string[] | null
  /**
   * Holds details beyond the type: a reason_code, an instruction, an invoice. `each` of a stored entry
   * holds those that differ between its orders, in the order of its waybills.
   */
  readonly details: Readonly<Record<string, string>> | null
}

/** Reads the entry that holds the first wanted change, and all later entries up to the last wanted change. */
const changesSql = `
  select (c.position + place - 1)::float8 as position, c.type, nullif(item.waybill_number, '') as waybill_number,
    o.order_no, case when item.waybill_number <> '' then json_build_object('key', item.status_key, 'name',
      coalesce(status.name, item.status_key)) end as status,
    ${isoTime('c.happened_at')} as happened_at, c.actor as by, c.fields,
    case when c.details ? 'each' then (c.details - 'each') || (c.details -> 'each' -> (place::int - 1))
      else c.details end as details
  from log c cross join lateral (
    select place, waybill_number, coalesce(status_key, c.status_keys[1]) as status_key
    from unnest(c.waybill_numbers, c.status_keys) with ordinality as listed (waybill_number, status_key, place)
    where c.position + place - 1 > $3::bigint and c.position + place - 1 <= $3::bigint + $4::int
  ) item
  left join orders o on o.tenant_id = $1 and o.waybill_number = item.waybill_number
  left join statuses status on status.tenant_id = $1 and status.status_key = item.status_key
  where c.tenant_id = $1 and c.merchant_id = $2 and c.position <= $3::bigint + $4::int and c.position >= coalesce((
    select max(position) from log where tenant_id = $1 and merchant_id = $2 and position <= $3::bigint + 1
  ), 0)
  order by position`

/** Returns up to `limit` changes after the position `after`, in the order of their positions. */
export const readChanges = async (pool: pg.Pool, tenant: string, merchantId: string, after: number, limit: number) =>
  readInTenant<Change>(pool, tenant, {
    name: 'read_changes',
    text: changesSql,
    values: [tenant, merchantId, after, limit],
  })
