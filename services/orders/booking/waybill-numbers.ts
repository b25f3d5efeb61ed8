import { inTenant } from '@courier/shared/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { WaybillFormat } from './waybill-format.ts'

/** Hands out a tenant's next waybills; undefined when the format has no more than are left. */
export type TakeWaybills = (tenant: string, format: WaybillFormat, count: number) => Promise<string[] | undefined>

interface Block {
  next: number
  end: number
}

/**
 * Numbers come in blocks that belong to one process, each taken in a transaction of its own: batches never wait for
 * each other's numbers. What a process has left when it ends is never used: gaps are fine.
 */
export const createWaybillNumbers = (pool: pg.Pool): TakeWaybills => {
  const blocks = new Map<string, Block>()
  const refills = new Map<string, Promise<void>>()

  const refill = async (tenant: string, format: WaybillFormat, count: number): Promise<void> => {
    const size = Math.max(count, blockSize(format))
    const next = await inTenant(pool, tenant, (tx: Tx) => takeNumbers(tx, tenant, size))
    blocks.set(tenant, { next, end: next + size })
  }

  return async (tenant, format, count) => {
    for (;;) {
      const block = blocks.get(tenant)
      if (block && block.end - block.next >= count) {
        const first = block.next
        if (first + count > format.capacity) return undefined
        block.next += count
        return Array.from({ length: count }, (_, index) => format.waybill(first + index))
      }
      const running = refills.get(tenant) ?? refill(tenant, format, count).finally(() => refills.delete(tenant))
      refills.set(tenant, running)
      await running
    }
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
