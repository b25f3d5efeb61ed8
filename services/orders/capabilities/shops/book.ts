import { hash, randomUUID } from 'node:crypto'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { fingerprint } from '@courier/shared/postgres/idempotency.ts'
import { type Booked, type BookingDependencies, bookOrders } from '../../core/booking/book.ts'
import { createBatchReader } from '../../core/booking/read-batch.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'

export interface ShopBooking {
  readonly tenant: string
  readonly merchantId: string
  /** Names the request: one with the same key and body continues it. */
  readonly key?: string | undefined
  /** Is the body of a bulk request, whose orders also name the shop's. */
  readonly body: { readonly general_data: object; readonly order_data: readonly ShopOrderData[] }
}
/** `seen_at` is the time when the shop said what the order is booked as. */
export type ShopOrderData = { readonly shop_id: string; readonly shop_order_id: string; readonly seen_at: string }

export type ShopBooked =
  | Booked
  /** Sentences by path: orders of the shop that are booked, being booked, or unknown. */
  | { readonly kind: 'claimed'; readonly errors: Record<string, string[]> }

export const maxOrders = 500
export const readBatch = createBatchReader(maxOrders)

/** Orders forgets the keys of batches after 24 hours. */
const repeatableHours = 23
const scopeOf = (merchantId: string) => `shops ${merchantId}`

interface Claimed {
  readonly shop_id: string
  readonly order_id: string
  readonly state: string
  readonly booking_id: string | null
  readonly waybill_number: string | null
  readonly received_at: string
}

const lockSql = `
  select shop_id, order_id, state, booking_id, waybill_number, ${isoTime('received_at')} as received_at from shop_orders
  where tenant_id = $1 and merchant_id = $2 and shop_id = any($3::text[]) and order_id = any($4::text[])
  order by shop_id, order_id for update`

const claimSql = `
  update shop_orders o set state = 'booking', booking_id = $2, booked_as = said, is_changed = false, is_new = false
  from unnest($3::text[], $4::text[]) as each (shop, id)
  where o.tenant_id = $1 and o.shop_id = each.shop and o.order_id = each.id`

/**
 * Books orders of shops: each once, however often it is asked. Claims the rows, books the batch under the key of the
 * claim, then stores the waybills. After a crash between these steps, `settleBookings` continues with the same key.
 */
export const bookShopOrders = async (options: BookingDependencies, booking: ShopBooking): Promise<ShopBooked> => {
  const { key, tenant, body } = booking
  // A key that comes with another body names another booking.
  const bookingId = key === undefined ? randomUUID() : hash('sha256', JSON.stringify([key, body]))
  const claimed = await inTenant(options.pool, tenant, (tx: Tx) => claim(tx, bookingId, booking))
  if (claimed.kind !== 'new') return claimed
  return run(options, bookingId, booking)
}

type Claim = { readonly kind: 'new' } | Extract<ShopBooked, { kind: 'claimed' | 'booked' }>

const claim = async (tx: Tx, id: string, { tenant, merchantId, body }: ShopBooking): Promise<Claim> => {
  const orders = body.order_data
  const [shops, ids] = [orders.map(({ shop_id }) => shop_id), orders.map(({ shop_order_id }) => shop_order_id)]
  const rows = await tx.rows<Claimed & object>(lockSql, [tenant, merchantId, shops, ids])
  const byId = new Map(rows.map(row => [JSON.stringify([row.shop_id, row.order_id]), row]))
  const found = orders.map(({ shop_id, shop_order_id }) => byId.get(JSON.stringify([shop_id, shop_order_id])))
  if (found.every(row => row?.state === 'booked' && row.booking_id === id)) {
    const waybills = found.flatMap(row => row?.waybill_number ?? [])
    return { kind: 'booked', waybills, warnings: {}, replayed: true }
  }
  if (found.every(row => row?.state === 'booking' && row.booking_id === id)) return { kind: 'new' }
  const seen = new Set<Claimed>()
  const errors: Record<string, string[]> = {}
  for (const [index, row] of found.entries()) {
    const problem = findProblem(row, orders[index]?.seen_at, row !== undefined && seen.has(row))
    if (row) seen.add(row)
    if (problem) errors[`order_data.${index}.shop_order_id`] = [problem]
  }
  if (Object.keys(errors).length > 0) return { kind: 'claimed', errors }
  await tx.client.query(claimSql, [tenant, id, shops, ids])
  const started = 'insert into shop_bookings (tenant_id, booking_id, merchant_id, body) values ($1, $2, $3, $4)'
  await tx.client.query(started, [tenant, id, merchantId, JSON.stringify(body)])
  return { kind: 'new' }
}

const findProblem = (row: Claimed | undefined, seenAt: string | undefined, isRepeated: boolean): string | undefined => {
  if (!row) return 'The shop has not sent this order.'
  if (isRepeated) return 'The order is twice in the batch.'
  if (row.state === 'booked') return `The order is booked as ${row.waybill_number}.`
  if (row.state === 'booking') return 'The order is being booked. Read the list again.'
  return row.received_at === seenAt ? undefined : 'The shop has changed the order since you read it. Read it again.'
}

/** Books the claimed batch. A refusal gives its orders back; an outcome that is not known leaves them claimed. */
const run = async (
  options: BookingDependencies,
  id: string,
  { tenant, merchantId, body }: ShopBooking,
): Promise<Booked> => {
  const bytes = Buffer.from(JSON.stringify(body))
  const read = readBatch(JSON.parse(bytes.toString()), bytes)
  if (read.kind !== 'read') throw new Error('only batches of the right shape are claimed')
  const key = { scope: scopeOf(merchantId), key: id, fingerprint: fingerprint(bytes) }
  const booked = await bookOrders(options, { tenant, merchantId, batch: read.batch, key })
  if (booked.kind === 'running') return booked
  const waybills = booked.kind === 'booked' ? booked.waybills : undefined
  await inTenant(options.pool, tenant, (tx: Tx) => finish(tx, tenant, id, body.order_data, waybills))
  return booked
}

const bookedSql = `
  update shop_orders o set state = 'booked', waybill_number = each.waybill
  from unnest($3::text[], $4::text[], $5::text[]) as each (shop, id, waybill)
  where o.tenant_id = $1 and o.booking_id = $2 and o.shop_id = each.shop and o.order_id = each.id`
const releasedSql = `
  update shop_orders set state = case when said ? 'stays' then 'stays' else 'waiting' end, booking_id = null,
    booked_as = null, is_changed = false
  where tenant_id = $1 and booking_id = $2 and state = 'booking'`

const finish = async (
  tx: Tx,
  tenant: string,
  id: string,
  orders: readonly ShopOrderData[],
  waybills: readonly string[] | undefined,
) => {
  const [shops, ids] = [orders.map(({ shop_id }) => shop_id), orders.map(({ shop_order_id }) => shop_order_id)]
  if (waybills) await tx.client.query(bookedSql, [tenant, id, shops, ids, waybills])
  else await tx.client.query(releasedSql, [tenant, id])
  await tx.client.query('delete from shop_bookings where tenant_id = $1 and booking_id = $2', [tenant, id])
}

/** Sets after how long a booking that nobody finished belongs to a process that died. */
export const staleSeconds = 30
const staleSql = `
  select booking_id, merchant_id, body, started_at < now() - make_interval(hours => ${repeatableHours}) as is_old
  from shop_bookings where tenant_id = $1 and started_at < now() - make_interval(secs => ${staleSeconds})
  order by started_at limit 50`

/** Finds the parcels that an old booking made: they have the shop's numbers and are younger than it. */
const madeSql = `
  select waybill_number from orders where tenant_id = $1 and merchant_id = $2 and order_no = $3
    and created_at >= (select started_at from shop_bookings where tenant_id = $1 and booking_id = $4) limit 1`

/**
 * Ends bookings whose process died. One that is too old to repeat is given back, unless a parcel shows that it was
 * booked.
 */
export const settleBookings = async (options: BookingDependencies, tenant: string): Promise<void> => {
  const { pool } = options
  const stale = await inTenant(pool, tenant, (tx: Tx) => tx.rows(staleSql, [tenant]))
  for (const { booking_id: id, merchant_id: merchantId, body: text, is_old } of stale) {
    const body: ShopBooking['body'] = JSON.parse(text)
    if (!is_old) await run(options, id, { tenant, merchantId, body })
    else
      await inTenant(pool, tenant, async (tx: Tx) => {
        const made: string[] = []
        for (const { order_no } of body.order_data as readonly { order_no?: string }[])
          made.push(...(await tx.rows(madeSql, [tenant, merchantId, order_no, id])).map(row => row.waybill_number))
        const isBooked = made.length === body.order_data.length
        await finish(tx, tenant, id, body.order_data, isBooked ? made : undefined)
      })
  }
}
