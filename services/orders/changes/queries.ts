import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { isoTime } from '../database/iso-time.ts'
import type { ChangeActor, ChangeType, Tx } from '../database/tables.ts'

/** What happened to one order. */
export interface Change {
  /** In the merchant's feed: 1, 2, 3 and so on. */
  readonly position: number
  readonly type: ChangeType
  readonly waybill_number: string
  readonly order_no: string | null
  readonly status: { readonly key: string; readonly name: string }
  /** ISO 8601, UTC, in microseconds. */
  readonly happened_at: string
  readonly by: ChangeActor
  /** The names of the fields that an edit changed. */
  readonly fields: readonly string[] | null
}

/** The row in which the first of them lies, and all that begin before the last. */
const reading = `
  select (c.position + place - 1)::float8 as position, c.type, item.waybill_number, o.order_no,
    json_build_object('key', item.status_key, 'name', coalesce(status.name, item.status_key)) as status,
    ${isoTime('c.happened_at')} as happened_at, c.actor as by, c.fields
  from changes c cross join lateral (
    select place, waybill_number, coalesce(status_key, c.status_keys[1]) as status_key
    from unnest(c.waybill_numbers, c.status_keys) with ordinality as listed (waybill_number, status_key, place)
    where c.position + place - 1 > $3::bigint and c.position + place - 1 <= $3::bigint + $4::int
  ) item
  left join orders o on o.tenant_id = $1 and o.waybill_number = item.waybill_number
  left join statuses status on status.tenant_id = $1 and status.status_key = item.status_key
  where c.tenant_id = $1 and c.merchant_id = $2 and c.position <= $3::bigint + $4::int and c.position >= coalesce((
    select max(position) from changes where tenant_id = $1 and merchant_id = $2 and position <= $3::bigint + 1
  ), 0)
  order by position`

/** Up to `limit` changes behind position `after`, in their order. */
export const readChanges = async (
  pool: pg.Pool,
  tenant: string,
  merchantId: string,
  after: number,
  limit: number,
): Promise<Change[]> =>
  readInTenant(pool, tenant, { name: 'read_changes', text: reading, values: [tenant, merchantId, after, limit] })

/** A merchant that has read its feed up to a position. */
export interface FeedReader {
  readonly tenant: string
  readonly merchantId: string
  readonly after: number
}

const findingNews = `
  select number::int - 1 as index
  from unnest($1::text[], $2::bigint[], $3::bigint[]) with ordinality as reader (tenant_id, merchant_id, after, number)
  join feeds f on f.tenant_id = reader.tenant_id and f.merchant_id = reader.merchant_id
  where f.last_position > reader.after
    or exists (select from new_changes n where n.tenant_id = f.tenant_id and n.merchant_id = f.merchant_id)`

/** Those of `readers` for whom there are changes. For `inAllTenants`. */
export const findNews = async <Reader extends FeedReader>(tx: Tx, readers: readonly Reader[]): Promise<Reader[]> => {
  const { rows } = await tx.client.query({
    name: 'find_news',
    text: findingNews,
    values: [
      readers.map(({ tenant }) => tenant),
      readers.map(({ merchantId }) => merchantId),
      readers.map(({ after }) => after),
    ],
  })
  return rows.map(({ index }) => readers[index] as Reader)
}
