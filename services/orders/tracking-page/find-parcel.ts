import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { findAsTyped } from '../orders/find-order.ts'

/** A parcel as anyone may see it: nobody's name, phone or address. */
export interface Parcel {
  readonly waybill_number: string
  readonly status_key: string
  readonly destination: string
  readonly cod: number
  readonly currency: string
  /** The tenant's name and colour, such as #0a5c8f. */
  readonly company: string
  readonly color: string | null
  readonly time_zone: string
  /** When it came to its status. */
  readonly since: Date
}

const statement = `
  select o.waybill_number, o.status_key, city.name as destination, o.cod, tenant.currency, tenant.name as company,
    tenant.color, tenant.time_zone, coalesce(last.happened_at, o.created_at) as since
  from orders o join tenants tenant on tenant.tenant_id = $1
  join cities city on city.tenant_id = $1 and city.city_id = o.destination_city_id
  left join lateral (
    select happened_at from order_events
    where tenant_id = $1 and waybill_number = o.waybill_number order by event_id desc limit 1
  ) last on true
  where o.tenant_id = $1 and o.waybill_number = $2`

export const findParcel = (pool: pg.Pool, tenant: string, typed: string): Promise<Parcel | undefined> =>
  findAsTyped(typed, async waybill => {
    const query = { name: 'find_parcel', text: statement, values: [tenant, waybill] }
    return (await readInTenant<Parcel>(pool, tenant, query))[0]
  })
