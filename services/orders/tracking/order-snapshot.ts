import type { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import type { Tx } from '../database/tables.ts'
import { pageUrlOf, trackingCode, trackingUrlOf } from './tracking-link.ts'

/** The fields that do not depend on the event. */
type SnapshotFields = Omit<OrderSnapshot, 'status_key' | 'status_name' | 'note'>

export interface FoundOrder {
  readonly fields: SnapshotFields
  /** The current status. */
  readonly statusKey: string
  readonly secondaryPhone: string | null
  readonly createdAt: Date
}

/** Those of `waybills` that the tenant has, by waybill. Without `publicUrl` the pages of their parcels are not known. */
export const findOrders = async (
  tx: Tx,
  tenant: string,
  waybills: readonly string[],
  publicUrl: string | undefined,
): Promise<Map<string, FoundOrder>> => {
  const { rows } = await tx.client.query({ name: 'find_orders', text: statement, values: [tenant, waybills] })
  return new Map(
    rows.map(({ status_key, customer_secondary_phone, created_at, delivery_charge, ...fields }) => [
      fields.waybill_number,
      {
        fields: {
          ...fields,
          delivery_charge: Number(delivery_charge),
          ...(publicUrl && { tracking_url: pageUrlOf(fields, trackingUrlOf(publicUrl, tenant)) }),
        },
        statusKey: status_key,
        secondaryPhone: customer_secondary_phone,
        createdAt: created_at,
      },
    ]),
  )
}

const statement = `
  select o.waybill_number, o.order_no, o.customer_name, o.customer_phone,
    b.name as business_name, m.name as merchant_name,
    origin.name as origin_city, destination.name as destination_city, s.name as destination_state,
    o.cod, o.delivery_charge, tenant.currency, tenant.time_zone, ${trackingCode('o.waybill_number')} as tracking_code,
    o.weight, o.description,
    o.status_key, o.customer_secondary_phone, o.created_at
  from orders o
  join tenants tenant on tenant.tenant_id = o.tenant_id
  join merchants m on m.tenant_id = o.tenant_id and m.merchant_id = o.merchant_id
  join businesses b on b.tenant_id = o.tenant_id and b.business_id = o.business_id
  join cities origin on origin.tenant_id = o.tenant_id and origin.city_id = o.origin_city_id
  join cities destination on destination.tenant_id = o.tenant_id and destination.city_id = o.destination_city_id
  join states s on s.tenant_id = destination.tenant_id and s.state_id = destination.state_id
  where o.tenant_id = $1 and o.waybill_number = any($2::text[])`
