import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Keyring, openAs, type Sealed, sealAs } from '@courier/shared/vault.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import { type SecretRow, secretColumns, secretsIn } from '../feed/secrets.ts'
import type { Said, ShopOrder } from './shop-order.ts'

export const kinds = ['woocommerce', 'shopify'] as const
export type Kind = (typeof kinds)[number]

/** Sets how long the secret before the current one is accepted: a person needs a while to change it in the shop. */
export const previousDays = 7

/** Identifies a merchant's shop by its id. */
export interface ShopRef {
  readonly tenant: string
  readonly merchantId: string
  readonly id: string
}

/** Holds what a delivery needs of its shop. */
export interface Shop {
  readonly shop_id: string
  readonly merchant_id: string
  readonly business_id: number
  readonly kind: Kind
  readonly origin_city_id: number
  readonly weight: string | null
  readonly auto_book: string | null
  /** null: the secret of the shop is not known yet. */
  readonly key_id: string | null
}

const shopSql = `
  select shop_id, merchant_id, business_id, kind, origin_city_id, weight, auto_book, ${secretColumns}
  from shops where tenant_id = $1 and shop_id = $2
    and exists (select from merchants m where m.tenant_id = $1 and m.merchant_id = shops.merchant_id and m.is_active)`

export const findShop = async (tx: Tx, tenant: string, id: string): Promise<Shop | undefined> =>
  (await tx.rows<Shop & object>({ name: 'find_shop', text: shopSql, values: [tenant, id] }))[0]

/** Returns the texts that a stored secret is bound to; they never change. */
const reference = (tenant: string, shopId: string) => ['courier shops 1', tenant, shopId]
export const sealSecret = (keyring: Keyring, tenant: string, shopId: string, secret: string): Sealed =>
  sealAs(keyring, reference(tenant, shopId), secret)

/** Opens the secrets of a shop, the newest first. Throws VaultError. */
export const openSecrets = (keyring: Keyring, tenant: string, shop: Shop): string[] =>
  hasSecret(shop) ? secretsIn(shop).map(sealed => openAs(keyring, reference(tenant, shop.shop_id), sealed)) : []

const hasSecret = (shop: Shop): shop is Shop & SecretRow => shop.key_id !== null

/** Returns true if one of the secrets signed the bytes, as both shops sign: base64 of HMAC-SHA256. */
export const isSigned = (bytes: Buffer, signature: string, secrets: readonly string[]): boolean => {
  const given = Buffer.from(signature)
  return secrets.some(secret => {
    const right = Buffer.from(createHmac('sha256', secret).update(bytes).digest('base64'))
    return right.length === given.length && timingSafeEqual(right, given)
  })
}

export interface Delivery {
  readonly id: string
  readonly topic: string
}
export type Outcome = 'stored' | 'older' | 'no_order' | 'repeated'

const deliverySql = `
  insert into shop_deliveries (tenant_id, shop_id, delivery_id, topic, order_id, outcome)
  values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning delivery_id`

/**
 * Replaces what the shop said of the order by what it says now, unless that is older. A booked parcel stays as it is:
 * `is_changed` then shows the difference to a person. An order that its shop has ended changes no parcel.
 */
const orderSql = `
  insert into shop_orders as o (tenant_id, shop_id, order_id, merchant_id, changed_at, state, said)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (tenant_id, shop_id, order_id) do update set changed_at = excluded.changed_at, said = excluded.said,
    received_at = excluded.received_at, is_new = o.is_new or o.state = 'stays',
    state = case when o.state in ('booking', 'booked') or o.state = 'put_away' and excluded.state = 'waiting'
      then o.state else excluded.state end,
    is_changed = o.is_changed or (o.state in ('booking', 'booked') and excluded.said->>'stays' is distinct from 'done'
      and (excluded.said->'values' <> o.booked_as->'values'
        or excluded.said->>'stays' is distinct from o.booked_as->>'stays'))
  where o.changed_at is null or excluded.changed_at is null or excluded.changed_at >= o.changed_at
  returning order_id`

/** Notes that a shop has deleted an order. */
const endedSql = `
  update shop_orders set said = said || '{"stays":"cancelled"}', received_at = now(),
    state = case when state in ('booking', 'booked') then state else 'stays' end,
    is_changed = is_changed or (state in ('booking', 'booked') and booked_as->>'stays' is distinct from 'cancelled')
  where tenant_id = $1 and shop_id = $2 and order_id = $3 returning order_id`

/**
 * Stores a delivery and the order in it, or the id of an order that the shop deleted. A delivery that came before
 * changes nothing.
 */
export const storeDelivery = async (
  tx: Tx,
  tenant: string,
  shop: Shop,
  delivery: Delivery,
  order: ShopOrder | { readonly id: string; readonly values?: undefined } | undefined,
): Promise<Outcome> => {
  const { shop_id, merchant_id } = shop
  const write = async (): Promise<Outcome> => {
    if (!order) return 'no_order'
    if (!order.values) {
      const ended = await tx.rows({ name: 'end_shop_order', text: endedSql, values: [tenant, shop_id, order.id] })
      return ended.length > 0 ? 'stored' : 'no_order'
    }
    const { id, changedAt = null, ...said } = order
    const state = said.stays ? 'stays' : 'waiting'
    const values = [tenant, shop_id, id, merchant_id, changedAt, state, JSON.stringify(said)]
    return (await tx.rows({ name: 'store_shop_order', text: orderSql, values })).length > 0 ? 'stored' : 'older'
  }
  const record = async (outcome: Outcome) => {
    const values = [tenant, shop_id, delivery.id, delivery.topic, order?.id ?? null, outcome]
    return (await tx.rows({ name: 'store_shop_delivery', text: deliverySql, values })).length > 0
  }
  // Written first: a repeat that comes at the same time waits here, and then changes nothing.
  if (!(await record('stored'))) return 'repeated'
  const outcome = await write()
  if (outcome !== 'stored')
    await tx.client.query(
      'update shop_deliveries set outcome = $4 where tenant_id = $1 and shop_id = $2 and delivery_id = $3',
      [tenant, shop_id, delivery.id, outcome],
    )
  await tx.client.query('update shops set received_at = now() where tenant_id = $1 and shop_id = $2', [tenant, shop_id])
  return outcome
}

/** Notes when a shop pinged its address, or when something came that its secret did not sign. */
export const touchShop = (tx: Tx, tenant: string, shopId: string, what: 'pinged_at' | 'refused_at') =>
  tx.client.query(`update shops set ${what} = now() where tenant_id = $1 and shop_id = $2`, [tenant, shopId])

export const orderColumns = `shop_id, order_id, state, said, booked_as, is_changed, waybill_number,
  ${isoTime('received_at')} as received_at`

export interface StoredOrder {
  readonly shop_id: string
  readonly order_id: string
  readonly state: string
  readonly said: Said
  readonly booked_as: Said | null
  readonly is_changed: boolean
  readonly waybill_number: string | null
  readonly received_at: string
}
