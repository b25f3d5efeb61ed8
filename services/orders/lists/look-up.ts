import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Catalogues } from '../catalogue/catalogue.ts'
import { isoTime } from '../database/iso-time.ts'
import { labelStatus } from '../tracking/order-view.ts'
import { type OrderRow, orderColumnsSql, viewOrders } from '../tracking/read-orders.ts'

export interface LookUpStore {
  readonly pool: pg.Pool
  readonly catalogues: Catalogues
}

/** The orders returned for one order number, newest first: merchants may reuse numbers. */
export const maxPerOrderNo = 10

interface FoundRow extends OrderRow {
  /** The time when it came to its status; null: its timeline is archived. */
  readonly since: string | null
}

const selectSql = `
  select ${orderColumnsSql}, (
    select ${isoTime('happened_at')} from order_events event
    where event.tenant_id = $1 and event.waybill_number = orders.waybill_number order by event_id desc limit 1
  ) as since`

const byWaybillSql = `${selectSql} from orders
  where tenant_id = $1 and waybill_number = any($3::text[]) and merchant_id = $2`

const byOrderNoSql = `${selectSql} from unnest($3::text[]) as wanted (number) cross join lateral (
    select * from orders where tenant_id = $1 and order_no = wanted.number and merchant_id = $2
    order by created_at desc limit ${maxPerOrderNo}
  ) orders
  order by orders.created_at desc`

/** Finds the merchant's orders by waybill numbers or by order numbers (newest first), otherwise unsorted. */
export const lookUpOrders = async (
  { pool, catalogues }: LookUpStore,
  { tenant, merchantId }: { tenant: string; merchantId: string },
  by: 'waybill_number' | 'order_no',
  numbers: readonly string[],
) => {
  const [name, text] = by === 'order_no' ? ['find_by_order_no', byOrderNoSql] : ['find_by_waybill', byWaybillSql]
  const rows = await readInTenant<FoundRow>(pool, tenant, { name, text, values: [tenant, merchantId, numbers] })
  return viewOrders(catalogues, tenant, rows, (row, catalogue) => ({
    waybill_number: row.waybill_number,
    order_no: row.order_no,
    status: labelStatus(catalogue, row.status_key),
    date_time: row.since ?? row.created_at,
    cod: row.cod,
    delivery_charge: row.delivery_charge,
    currency: catalogue.currency,
    created_at: row.created_at,
  }))
}
