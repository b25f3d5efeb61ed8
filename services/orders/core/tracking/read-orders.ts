import { spellWaybill } from '@courier/shared/contract/waybills.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { batchReads } from '@courier/shared/postgres/request-batcher.ts'
import type pg from 'pg'
import type { Catalogue, Catalogues } from '../catalogue/catalogue.ts'
import { isoTime } from '../database/iso-time.ts'
import { typedPhoneSql } from '../database/phone-columns.ts'
import type { Tx } from '../database/tables.ts'
import { type Facets, flagsSql } from './facets.ts'
import type { OrderRow, TrackedOrder, TrackedRow } from './order-rows.ts'

/** Gives access to the orders, and to the catalogues that name what the orders refer to. */
export interface OrderStore {
  readonly pool: pg.Pool
  readonly catalogues: Catalogues
}

/** Also gives the facets that capabilities add to orders. */
export interface FacetStore extends OrderStore {
  readonly facets: Facets
}

/** Selects the columns of an OrderRow from `orders`; $1 is the tenant. */
export const orderColumnsSql = `
  (select version from tenants where tenant_id = $1) as version,
  waybill_number, order_no, merchant_id, business_id, origin_city_id, destination_city_id,
  customer_name, customer_address, ${typedPhoneSql} as customer_phone, customer_secondary_phone, customer_email,
  cod, weight, description, remark, delivery_charge::float8 as delivery_charge, status_key,
  ${isoTime('created_at')} as created_at`

const amongSql = 'tenant_id = $1 and waybill_number = any($2::text[])'

const trackedOrdersSql = (facets: Facets): string => `
  select ${orderColumnsSql}${flagsSql(facets, 'orders', 'one')}, (
      select coalesce(json_agg(json_build_object('status_key', event.status_key, 'happened_at',
        ${isoTime('event.happened_at')},
        'staff_name', event.staff_name, 'note', event.note, 'actor', event.actor, 'reason_code', event.reason_code,
        'is_counted', event.is_counted)
          order by event.event_id desc), '[]')
      from order_events event where event.tenant_id = $1 and event.waybill_number = orders.waybill_number
    ) as timeline
  from orders where ${amongSql}`

/** Reads one order with its timeline in the caller's transaction; returns undefined when there is none. */
export const findTracked = async (
  tx: Tx,
  facets: Facets,
  tenant: string,
  waybill: string,
): Promise<TrackedRow | undefined> =>
  (
    await tx.rows<TrackedRow>({
      name: 'find_tracked_orders',
      text: trackedOrdersSql(facets),
      values: [tenant, [waybill]],
    })
  )[0]

/**
 * Selects the orders among `waybills`, unsorted; if `merchantId` is given, only its orders. The query is for
 * `readOrders`.
 */
export const selectAmong = (tenant: string, waybills: readonly string[], merchantId: string | null = null) => ({
  name: 'find_orders',
  text: `select ${orderColumnsSql} from orders where ${amongSql} and ($3::bigint is null or merchant_id = $3)`,
  values: [tenant, waybills, merchantId],
})

type View<Row extends OrderRow, Viewed> = (row: Row, catalogue: Catalogue) => Viewed

/** Reads orders with one statement, and applies `view` to each. */
export const readOrders = async <Row extends OrderRow, Viewed>(
  { pool, catalogues }: OrderStore,
  tenant: string,
  query: pg.QueryConfig,
  view: View<Row, Viewed>,
): Promise<Viewed[]> => viewOrders(catalogues, tenant, await readInTenant<Row>(pool, tenant, query), view)

/** Applies `view` to rows that one statement read. */
export const viewOrders = async <Row extends OrderRow, Viewed>(
  catalogues: Catalogues,
  tenant: string,
  rows: readonly Row[],
  view: View<Row, Viewed>,
): Promise<Viewed[]> => {
  const [first] = rows
  if (!first) return []
  const catalogue = await catalogues.since(tenant, first.version)
  return rows.map(row => view(row, catalogue))
}

/** Waybill numbers are printable ASCII. Postgres refuses some other text. */
export const isWaybill = /^[\x21-\x7e]{1,50}$/

/**
 * Finds an order, of `merchantId` if given, by the waybill number as somebody typed it; undefined when there is none.
 */
export type FindOrder = (
  tenant: string,
  waybill: string,
  merchantId?: string | null,
) => Promise<TrackedOrder | undefined>

/**
 * Creates the finder of orders. Each spelling takes one round trip of a prepared statement that concurrent reads share.
 */
export const createOrderFinder = (store: FacetStore): FindOrder => {
  const text = trackedOrdersSql(store.facets)
  const select = (tenant: string, waybills: readonly string[]) => ({
    name: 'find_tracked_orders',
    text,
    values: [tenant, waybills],
  })
  const view = (row: TrackedRow, catalogue: Catalogue) => [row.waybill_number, { row, catalogue }] as const
  const find = batchReads(
    async (tenant, waybills) => new Map(await readOrders(store, tenant, select(tenant, waybills), view)),
  )
  return async (tenant, typed, merchantId = null) => {
    for (const waybill of spellWaybill(typed)) {
      const found = isWaybill.test(waybill) ? await find(tenant, waybill) : undefined
      if (found) return merchantId === null || found.row.merchant_id === merchantId ? found : undefined
    }
    return undefined
  }
}
