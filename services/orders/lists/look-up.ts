import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { StatusLabel } from '../catalogue/names.ts'
import { isoTime } from '../database/iso-time.ts'
import { label, named } from '../tracking/find-order.ts'

/** Merchants may give several orders one number: of each the newest are found. */
export const maxPerOrderNo = 10

export interface FoundOrder {
  readonly waybill_number: string
  readonly order_no: string | null
  readonly status: StatusLabel
  /** When it came to the status. */
  readonly date_time: string
  readonly cod: number
  readonly delivery_charge: number
  readonly currency: string
  readonly created_at: string
}

const columns = `o.waybill_number, o.order_no, ${label('o.status_key', 'status')} as status,
    coalesce(last.date_time, ${isoTime('o.created_at')}) as date_time, o.cod, o.delivery_charge::float8 as delivery_charge,
    tenant.currency, ${isoTime('o.created_at')} as created_at`

const joins = `
  left join lateral (
    select ${isoTime('happened_at')} as date_time from order_events
    where tenant_id = $1 and waybill_number = o.waybill_number order by event_id desc limit 1
  ) last on true
  ${named('tenants', 'tenant', 'tenant_id', '$1')}
  ${named('statuses', 'status', 'status_key', 'o.status_key')}`

const byWaybill = `
  select ${columns} from orders o ${joins}
  where o.tenant_id = $1 and o.waybill_number = any($3::text[]) and o.merchant_id = $2`

const byOrderNo = `
  select ${columns} from unnest($3::text[]) as wanted (order_no) cross join lateral (
    select * from orders where tenant_id = $1 and order_no = wanted.order_no and merchant_id = $2
    order by created_at desc limit ${maxPerOrderNo}
  ) o ${joins}
  order by o.created_at desc`

/** The merchant's orders with these waybill numbers, or order numbers (the newest first), in no other order. */
export const findOrders = (
  pool: pg.Pool,
  { tenant, merchantId }: { tenant: string; merchantId: string },
  by: 'waybill_number' | 'order_no',
  numbers: readonly string[],
): Promise<FoundOrder[]> => {
  const [name, text] = by === 'order_no' ? ['find_by_order_no', byOrderNo] : ['find_by_waybill', byWaybill]
  return readInTenant(pool, tenant, { name, text, values: [tenant, merchantId, [...new Set(numbers)]] })
}
