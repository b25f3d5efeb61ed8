import { readInTenant } from '@courier/shared/postgres/database.ts'
import { batchRequests, countWithin } from '@courier/shared/postgres/request-batcher.ts'
import type pg from 'pg'
import { cancelledKey } from '../statuses/statuses.ts'
import { type Alike, arrayLiteral } from './batch-rows.ts'

/** What makes two orders of a merchant look alike. */
export interface Likeness {
  readonly merchantId: string
  readonly phone: string
  readonly cod: number
  readonly cityId: number
  readonly orderNo: string | undefined
}

/** For each order the newest alike of the last 24 hours that was not cancelled. */
export type FindAlike = (tenant: string, orders: readonly Likeness[]) => Promise<readonly Alike[]>

const ordersPerStatement = 1_000
const lanes = 2

/** Requests of a tenant that come at once share a statement. */
export const createFindAlike = (pool: pg.Pool): FindAlike =>
  batchRequests<readonly Likeness[], readonly Alike[]>({
    run: async (tenant, requests) => {
      const found = await readInTenant<Alike & pg.QueryResultRow>(pool, tenant, finding(tenant, requests.flat()))
      let start = 0
      return requests.map(({ length }) => {
        start += length
        return found.slice(start - length, start)
      })
    },
    take: waiting => countWithin(waiting, ordersPerStatement, ({ length }) => length),
    lanes: () => lanes,
  })

const finding = (tenant: string, orders: readonly Likeness[]): pg.QueryConfig => {
  const columns = [
    orders.map(({ merchantId }) => merchantId),
    orders.map(({ phone }) => phone),
    orders.map(({ cod }) => cod),
    orders.map(({ cityId }) => cityId),
    orders.map(({ orderNo }) => orderNo),
  ]
  return { name: 'find_alike', text: findingText, values: [tenant, ...columns.map(arrayLiteral), cancelledKey] }
}

/**
 * As phone_key of the table. Compute it in a materialized CTE: under row-level security no index serves a condition that calls
 * a function.
 */
export const phoneKeyOf = (column: string): string => `right(translate(${column}, ' +-().', ''), 9)`

/** Of a phone or an order number only the newest orders are read, however many there are. */
const newest = (tenant: string, condition: string): string => `
  select * from orders
  where tenant_id = ${tenant} and ${condition} and created_at > now() - interval '24 hours'
  order by created_at desc limit 20`

/** The columns of Alike, of `alikeJoins`. */
export const alikeColumns = 'same_parcel.waybill_number as "sameParcel", same_order_no.waybill_number as "sameOrderNo"'

/** What is looked up for each row of `wanted`. Joined: Citus takes no subquery of another table as a column. */
export const alikeJoins = (tenant: string, cancelled: string): string => `
    left join lateral (
      select waybill_number from (${newest(tenant, 'phone_key = wanted.phone_key')}) recent
      where recent.merchant_id = wanted.merchant_id and recent.cod = wanted.cod
        and recent.destination_city_id = wanted.city_id and recent.status_key <> ${cancelled}
      order by created_at desc limit 1
    ) same_parcel on true
    left join lateral (
      select waybill_number from (${newest(tenant, 'order_no = wanted.order_no')}) recent
      where recent.merchant_id = wanted.merchant_id and recent.status_key <> ${cancelled}
      order by created_at desc limit 1
    ) same_order_no on true`

const findingText = `
  with wanted as materialized (
    select *, ${phoneKeyOf('phone')} as phone_key
    from unnest($2::bigint[], $3::text[], $4::integer[], $5::integer[], $6::text[]) with ordinality
      as wanted (merchant_id, phone, cod, city_id, order_no, place)
  )
  select ${alikeColumns} from wanted ${alikeJoins('$1', '$7')} order by place`
