import { inTenant, query, withoutDoubt } from '@courier/shared/postgres/database.ts'
import { findGuard, remember } from '@courier/shared/postgres/history.ts'
import type pg from 'pg'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { WaybillFormat } from '../catalogue/waybill-format.ts'
import type { Tx } from '../database/tables.ts'
import { findExisting } from './conflicts.ts'
import type { Order } from './read-batch.ts'

export type WaybillNumbers = ReturnType<typeof createWaybillNumbers>

interface Stock {
  /** Bounds the unused rest of this process's block: it starts at `next` and ends before `end`. */
  next: number
  end: number
  readonly spare: string[]
  refill?: Promise<void> | undefined
}

/**
 * Lets each process reserve numbers in blocks, in separate transactions, so batches never wait for each other's
 * numbers. Numbers left when the process exits are never used: gaps are fine.
 */
export const createWaybillNumbers = (pool: pg.Pool) => {
  const stocks = new Map<string, Stock>()
  const findStock = (tenant: string, { mask }: WaybillFormat): Stock => {
    const key = `${tenant} ${mask}`
    const stock = stocks.get(key) ?? { next: 0, end: 0, spare: [] }
    stocks.set(key, stock)
    return stock
  }

  const refill = async (stock: Stock, tenant: string, format: WaybillFormat, count: number): Promise<void> => {
    const size = Math.max(count, blockSize(format))
    // Numbers whose reservation has an unknown outcome become a gap: no order was changed.
    const next = await inTenant(pool, tenant, async (tx: Tx) => {
      const first = await reserveNumbers(tx, tenant, size)
      await findGuard(pool)?.requireNodes(tx.client)
      return first
    }).catch(withoutDoubt)
    remember(pool, 'waybill numbers', { tenant, text: isReservedSql, values: [tenant, next + size] })
    const end = Math.min(stock.end, format.capacity)
    for (let number = stock.next; number < end; number++) stock.spare.push(format.waybill(number))
    Object.assign(stock, { next, end: next + size })
  }

  return {
    /** Reserves a tenant's next waybills; undefined when the format has fewer than `count` left. */
    reserve: async (tenant: string, format: WaybillFormat, count: number): Promise<string[] | undefined> => {
      const stock = findStock(tenant, format)
      for (;;) {
        const fresh = Math.max(0, count - stock.spare.length)
        if (fresh > 0 && stock.end > 0 && stock.next + fresh > format.capacity) return undefined
        if (stock.end - stock.next >= fresh) {
          const first = stock.next
          stock.next += fresh
          const numbers = stock.spare.splice(0, count - fresh)
          for (let index = 0; index < fresh; index++) numbers.push(format.waybill(first + index))
          return numbers
        }
        stock.refill ??= refill(stock, tenant, format, fresh).finally(() => {
          stock.refill = undefined
        })
        await stock.refill
      }
    },
    /** Forgets the reserved waybills: a restored database may reserve them again. */
    forget: (): void => stocks.clear(),
    /** Takes back reserved waybills that were not used: they come next. */
    release: (tenant: string, format: WaybillFormat, waybills: readonly string[]): void => {
      findStock(tenant, format).spare.unshift(...waybills)
    },
  }
}

/** Makes refills rare: a block is a ten-thousandth of the format, but between 1 and 10,000 numbers. */
export const blockSize = ({ capacity }: WaybillFormat): number =>
  Math.min(10_000, Math.max(1, Math.floor(capacity / 10_000)))

const isReservedSql = 'select from waybill_counters where tenant_id = $1 and next_number >= $2'

/** Returns the first of `count` numbers that no other process gets. */
export const reserveNumbers = async (tx: Tx, tenant: string, count: number): Promise<number> => {
  const [counter] = await query<{ next_number: string }>(tx)`
    insert into waybill_counters (tenant_id, next_number) values (${tenant}, ${1 + count}) on conflict (tenant_id)
    do update set next_number = waybill_counters.next_number + excluded.next_number - 1 returning next_number`
  return Number(counter?.next_number) - count
}

export type NumberedOrders = NonNullable<Awaited<ReturnType<typeof numberOrders>>>

/**
 * Returns the waybill of each order, in the order of the batch, and the newly reserved ones: each order keeps its given
 * waybill or gets the next number. `collided`: after a collision with a waybill that a merchant chose, numbers are
 * looked up before use. undefined when the format has too few left.
 */
export const numberOrders = async (
  pool: pg.Pool,
  numbers: WaybillNumbers,
  orders: readonly Order[],
  { tenant, waybills: { format } }: Catalogue,
  collided: boolean,
) => {
  if (!collided && orders.every(({ waybill }) => waybill === undefined)) {
    const fresh = await numbers.reserve(tenant, format, orders.length)
    return fresh && { waybills: fresh, fresh }
  }
  const given = new Set(orders.flatMap(({ waybill }) => waybill ?? []))
  const fresh: string[] = []
  for (let stride = 1; fresh.length < orders.length - given.size; stride *= 2) {
    const missing = orders.length - given.size - fresh.length
    const wanted = collided ? missing * stride : missing
    const reserved = (await numbers.reserve(tenant, format, wanted)) ?? (await numbers.reserve(tenant, format, missing))
    if (!reserved) return undefined
    const exists = collided ? await inTenant(pool, tenant, (tx: Tx) => findExisting(tx, tenant, reserved)) : given
    fresh.push(...reserved.filter(waybill => !given.has(waybill) && !exists.has(waybill)))
  }
  numbers.release(tenant, format, fresh.splice(orders.length - given.size))
  let next = 0
  return { waybills: orders.map(({ waybill }) => waybill ?? (fresh[next++] as string)), fresh }
}
