import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { orderColumns, orderJoins } from '../tracking/find-order.ts'
import { trackingCode } from '../tracking/tracking-link.ts'
import type { Label } from './label.ts'

const statement = `
  select ${orderColumns}, tenant.name as company, ${trackingCode('o.waybill_number')} as tracking_code,
    to_char(o.created_at at time zone tenant.time_zone, 'YYYY-MM-DD') as booked_on
  from orders o ${orderJoins}
  where o.tenant_id = $1 and o.waybill_number = any($2::text[]) and ($3::bigint is null or o.merchant_id = $3)`

/** The labels of those waybills that exist, of `merchantId` if given, in no order. */
export const findLabels = (
  pool: pg.Pool,
  tenant: string,
  waybills: readonly string[],
  merchantId: string | null,
): Promise<Label[]> =>
  readInTenant(pool, tenant, { name: 'find_labels', text: statement, values: [tenant, waybills, merchantId] })
