import { inTenant } from '@courier/shared/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { WaybillFormat } from './waybill-format.ts'

export interface WaybillNumbers {
  /** A tenant's next waybills; undefined when fewer than `count` are left of the format. */
  take(tenant: string, format: WaybillFormat, count: number): Promise<string[] | undefined>
  /** Waybills that were taken and not used: they are the next ones. */
  giveBack(tenant: string, format: WaybillFormat, waybills: readonly string[]): void
}

interface Stock {
  /** The block that this process counts up: from `next` to before `end`. */
  next: number
  end: number
  readonly spare: string[]
  refill?: Promise<void> | undefined
}

/**
 * Numbers come in blocks that belong to one process, each taken in a transaction of its own: batches never wait for
 * each other's numbers. What a process has left when it ends is never used: gaps are fine.
 */
export const createWaybillNumbers = (pool: pg.Pool): WaybillNumbers => {
  const stocks = new Map<string, Stock>()
  const stockOf = (tenant: string, { mask }: WaybillFormat): Stock => {
    const key = `${tenant} ${mask}`
    const stock = stocks.get(key) ?? { next: 0, end: 0, spare: [] }
    stocks.set(key, stock)
    return stock
  }

  const refill = async (stock: Stock, tenant: string, format: WaybillFormat, count: number): Promise<void> => {
    const size = Math.max(count, blockSize(format))
    const next = await inTenant(pool, tenant, (tx: Tx) => takeNumbers(tx, tenant, size))
    const end = Math.min(stock.end, format.capacity)
    for (let number = stock.next; number < end; number++) stock.spare.push(format.waybill(number))
    Object.assign(stock, { next, end: next + size })
  }

  return {
    take: async (tenant, format, count) => {
      const stock = stockOf(tenant, format)
      for (;;) {
        const fresh = Math.max(0, count - stock.spare.length)
        if (fresh > 0 && stock.end > 0 && stock.next + fresh > format.capacity) return undefined
        if (stock.end - stock.next >= fresh) {
          const first = stock.next
          stock.next += fresh
          const numbers = Array.from({ length: fresh }, (_, index) => format.waybill(first + index))
          return [...stock.spare.splice(0, count - fresh), ...numbers]
        }
        stock.refill ??= refill(stock, tenant, format, fresh).finally(() => {
          stock.refill = undefined
        })
        await stock.refill
      }
    },
    giveBack: (tenant, format, waybills) => {
      stockOf(tenant, format).spare.push(...waybills)
    },
  }
}

/** Large enough that refills are rare, small enough that restarts waste a ten-thousandth of the format. */
const blockSize = ({ capacity }: WaybillFormat): number => Math.min(10_000, Math.max(1, Math.floor(capacity / 10_000)))

const takeNumbers = async (tx: Tx, tenant: string, count: number): Promise<number> => {
  const { next_number } = await tx
    .insertInto('waybill_counters')
    .values({ tenant_id: tenant, next_number: 1 + count })
    .onConflict(conflict =>
      conflict
        .column('tenant_id')
        .doUpdateSet({ next_number: sql`waybill_counters.next_number + excluded.next_number - 1` }),
    )
    .returning('next_number')
    .executeTakeFirstOrThrow()
  return Number(next_number) - count
}
