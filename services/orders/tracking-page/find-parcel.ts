import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { findAsTyped } from '../tracking/find-order.ts'
import { trackingCode } from '../tracking/tracking-link.ts'

/** A parcel as anyone may see it: nobody's name, phone or address. */
export interface Parcel {
  readonly waybill_number: string
  readonly status_key: string
  readonly destination: string
  readonly cod: number
  readonly currency: string
  /** The tenant's name and colour, such as #0a5c8f. */
  readonly company: string
  readonly contact: string | null
  /** The business that sends it. */
  readonly sender: string
  readonly color: string | null
  readonly time_zone: string
  /** Ends its signed link. */
  readonly tracking_code: string
  /** Its statuses with the times when it came there, oldest first; [] once they are archived. */
  readonly events: readonly { readonly key: string; readonly at: string }[]
  readonly created_at: Date
}

const statement = `
  select o.waybill_number, o.status_key, city.name as destination, o.cod, tenant.currency, tenant.name as company,
    tenant.contact, tenant.color, tenant.time_zone, business.name as sender, o.created_at,
    ${trackingCode('o.waybill_number')} as tracking_code, (
      select coalesce(json_agg(json_build_object('key', status_key, 'at', happened_at) order by event_id), '[]')
      from order_events where tenant_id = $1 and waybill_number = o.waybill_number
    ) as events
  from orders o join tenants tenant on tenant.tenant_id = $1
  join cities city on city.tenant_id = $1 and city.city_id = o.destination_city_id
  join businesses business on business.tenant_id = $1 and business.business_id = o.business_id
  where o.tenant_id = $1 and o.waybill_number = $2`

export const findParcel = (pool: pg.Pool, tenant: string, typed: string): Promise<Parcel | undefined> =>
  findAsTyped(typed, async waybill => {
    const query = { name: 'find_parcel', text: statement, values: [tenant, waybill] }
    return (await readInTenant<Parcel>(pool, tenant, query))[0]
  })
