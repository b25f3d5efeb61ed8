import { nameKey } from '@courier/shared/name-key.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Logger } from 'pino'
import { type BookingDependencies, quoteOrders } from '../../core/booking/book.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import { DeliveryLoop, type Waiting } from '../../core/log/delivery-loop.ts'
import { resolvePlace, SuggestionBudget } from '../../core/places/resolve-place.ts'
import { bookShopOrders, readBatch, type ShopBooking, settleBookings, staleSeconds } from './book.ts'
import { findShop, type Shop } from './queries.ts'
import type { Said } from './shop-order.ts'

export interface AutoBookOptions extends BookingDependencies {
  readonly logger: Logger
  readonly onBooked: (tenant: string, orders: number) => void
}

interface Key {
  readonly tenant: string
  /** null: only bookings of dead processes wait. */
  readonly shopId: string | null
}

const waitingSql = `
  select json_build_object('tenant', tenant_id, 'shopId', null) as key from shop_bookings
  where started_at < now() - make_interval(secs => ${staleSeconds}) group by tenant_id
  union all
  select json_build_object('tenant', tenant_id, 'shopId', shop_id) as key from (
    select distinct tenant_id, shop_id from shop_orders where is_new and state = 'waiting'
  ) waiting`

/**
 * Creates the worker that books what needs no person, where the merchant wants that: an order without an error and
 * without a warning. The rest waits for a person. It also ends bookings whose process died.
 */
export const createAutoBooker = (options: AutoBookOptions) =>
  new DeliveryLoop<Key>({
    logger: options.logger,
    name: 'shop_booking',
    findWaiting: () => inAllTenants(options.pool, async (tx: Tx): Promise<Waiting<Key>[]> => tx.rows(waitingSql)),
    drain: ({ tenant, shopId }) =>
      shopId === null ? settleBookings(options, tenant) : drainShop(options, tenant, shopId),
    identify: ({ tenant, shopId }) => `${tenant} ${shopId}`,
    describe: ({ tenant, shopId }) => ({ tenant, shop_id: shopId }),
    concurrency: 4,
  })

interface NewOrder {
  readonly order_id: string
  readonly said: Said
  readonly seen_at: string
}

const newSql = `
  select order_id, said, ${isoTime('received_at')} as seen_at from shop_orders
  where tenant_id = $1 and shop_id = $2 and is_new and state = 'waiting'
  order by received_at limit 100`

const drainShop = async (options: AutoBookOptions, tenant: string, shopId: string): Promise<void> => {
  const [shop, rows] = await inTenant(options.pool, tenant, async (tx: Tx) => [
    await findShop(tx, tenant, shopId),
    await tx.rows<NewOrder & object>(newSql, [tenant, shopId]),
  ])
  for (const row of rows) {
    if (shop?.auto_book) await bookOne(options, tenant, shop, row)
    // Clears the mark only if the shop has said nothing else meanwhile.
    await inTenant(options.pool, tenant, (tx: Tx) =>
      tx.client.query(
        `update shop_orders set is_new = false
        where tenant_id = $1 and shop_id = $2 and order_id = $3 and received_at = $4::timestamptz`,
        [tenant, shopId, row.order_id, row.seen_at],
      ),
    )
  }
}

const bookOne = async (options: AutoBookOptions, tenant: string, shop: Shop, row: NewOrder): Promise<void> => {
  const catalogue = await options.catalogues.current(tenant)
  const { state_name: stateName, postal_code: postalCode } = row.said.values
  const body = writeBody(shop, row, text =>
    resolvePlace({ text, stateName, postalCode }, catalogue.cities, new SuggestionBudget(1)),
  )
  if (!body) return
  const bytes = Buffer.from(JSON.stringify(body))
  const read = readBatch(body, bytes)
  if (read.kind !== 'read') return
  const { merchant_id: merchantId } = shop
  const actor = { kind: 'merchant', name: merchantId } as const
  const quoted = await quoteOrders(options, { tenant, merchantId, actor, batch: read.batch })
  if (quoted.kind !== 'quoted' || Object.keys(quoted.warnings).length > 0) return
  const booked = await bookShopOrders(options, { tenant, merchantId, body })
  if (booked.kind !== 'booked') return
  options.onBooked(tenant, 1)
  options.logger.info({ tenant, shop_id: shop.shop_id, waybill_number: booked.waybills[0] }, 'shop_order.booked')
}

/** Writes the batch of one order; undefined: a person has to look at it. Fills nothing in but the usual weight. */
const writeBody = (
  shop: Shop,
  { order_id, seen_at, said: { values, marks } }: NewOrder,
  resolve: (text: string) => ReturnType<typeof resolvePlace>,
): ShopBooking['body'] | undefined => {
  const { destination = '', state_name: _, postal_code: __, cod, ...fields } = values
  const weight = values.weight ?? shop.weight
  if (marks.length > 0 || cod === undefined || !weight || !destination) return undefined
  const { city, confidence, alternatives } = resolve(destination)
  const isSure =
    confidence === 'exact' && alternatives.length === 0 && nameKey(city?.name ?? '') === nameKey(destination)
  if (!city || !isSure) return undefined
  const general_data = { merchant_business_id: String(shop.business_id), origin_city_id: String(shop.origin_city_id) }
  const order = {
    ...fields,
    shop_id: shop.shop_id,
    shop_order_id: order_id,
    seen_at,
    destination_city_id: city.id,
    cod: Number(cod),
    weight: Number(weight),
    initial_status_key: shop.auto_book,
  }
  return { general_data, order_data: [order] }
}
