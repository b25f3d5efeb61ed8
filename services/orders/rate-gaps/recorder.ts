import { inTenant, isUnavailable } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { MissingRate } from '../catalogue/price-parcels.ts'
import type { Tx } from '../database/tables.ts'
import { addMissing, type MissingCount } from './queries.ts'

interface Merchant {
  readonly tenant: string
  readonly merchantId: string
}

export type RateGaps = ReturnType<typeof createRateGaps>

const flushMilliseconds = 5_000
/** The combinations of all merchants between two flushes; further ones are not counted. */
const maxInMemory = 10_000

/**
 * Counts the combinations that rate cards lack, and stores the counts every few seconds: a killed process loses them.
 * Counts that could not be stored stay in memory, within its bounds.
 */
export const createRateGaps = (pool: pg.Pool, logger: Logger) => {
  let counts = new Map<string, MissingCount>()
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> | undefined

  const add = (count: MissingCount): void => {
    const key = `${count.tenant} ${count.merchantId} ${count.origin} ${count.destination}`
    const known = counts.get(key)
    if (known) known.parcels += count.parcels
    else if (counts.size < maxInMemory) counts.set(key, count)
    timer ??= setTimeout(flush, flushMilliseconds).unref()
  }
  const store = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const taken = Map.groupBy(counts.values(), ({ tenant }) => tenant)
    counts = new Map()
    for (const [tenant, missing] of taken) {
      try {
        await inTenant(pool, tenant, (tx: Tx) => addMissing(tx, tenant, missing))
        taken.delete(tenant)
      } catch (err) {
        logger.warn({ err, tenant }, 'rate_gaps.not_stored')
        // Every other tenant would wait for the database in vain, and so would a process that stops.
        if (isUnavailable(err)) break
      }
    }
    // The failed tenant comes last next time.
    for (const missing of [...taken.values()].reverse()) missing.forEach(add)
  }
  const flush = (): Promise<void> => {
    flushing ??= store().finally(() => {
      flushing = undefined
    })
    return flushing
  }
  return {
    /** Counts in memory only. */
    record: ({ tenant, merchantId }: Merchant, missing: readonly MissingRate[]): void => {
      for (const { origin, destination, parcels } of missing)
        add({ tenant, merchantId, origin: origin.id, destination: destination.id, parcels })
    },
    /** Stores the counts. Never rejects. */
    flush,
    close: async (): Promise<void> => {
      await flushing
      await flush()
      clearTimeout(timer)
    },
  }
}
