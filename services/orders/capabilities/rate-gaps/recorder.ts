import { inTenant, isUnavailable } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Merchant } from '../../core/access/merchant.ts'
import type { MissingRate } from '../../core/catalogue/price-parcels.ts'
import type { Tx } from '../../core/database/tables.ts'

/** Counts the parcels that a merchant requested between two cities. */
interface MissingCount extends Pick<Merchant, 'tenant' | 'merchantId'> {
  readonly origin: number
  readonly destination: number
  parcels: number
}

export type RateGaps = ReturnType<typeof createRateGaps>

const flushMilliseconds = 5_000
/** Limits the combinations of all merchants between two flushes; further combinations are not counted. */
const maxInMemory = 10_000

/**
 * Counts the combinations that rate cards lack, and stores the counts every few seconds: a killed process loses only
 * the newest. Counts that could not be stored stay in memory, within its bounds.
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
    const unstored = Map.groupBy(counts.values(), ({ tenant }) => tenant)
    counts = new Map()
    for (const [tenant, missing] of unstored) {
      try {
        await inTenant(pool, tenant, (tx: Tx) => addMissing(tx, tenant, missing))
        unstored.delete(tenant)
      } catch (err) {
        logger.warn({ err, tenant }, 'rate_gaps.not_stored')
        // Every other tenant would wait for the database in vain, and so would a process that stops.
        if (isUnavailable(err)) break
      }
    }
    // The tenant that failed comes last next time.
    for (const missing of [...unstored.values()].reverse()) missing.forEach(add)
  }
  const flush = (): Promise<void> => {
    flushing ??= store().finally(() => {
      flushing = undefined
    })
    return flushing
  }
  return {
    /** Counts in memory only. */
    record: (
      { tenant, merchantId }: Pick<Merchant, 'tenant' | 'merchantId'>,
      missing: readonly MissingRate[],
    ): void => {
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

/**
 * Limits the combinations that one merchant may store in a day: a merchant that reaches the limit seems to request
 * every combination.
 */
const maxOfMerchant = 2_000

/** Sorts the rows, so that two processes do not deadlock. */
const addMissing = (tx: Tx, tenant: string, missing: readonly MissingCount[]) =>
  tx.rows({ name: 'add_missing_rates', text: addMissingSql, values: [tenant, JSON.stringify(missing)] })

const addMissingSql = `
  with today as (
    select (now() at time zone time_zone)::date as day from tenants where tenant_id = $1
  ), given as (
    select "merchantId" as merchant_id, origin, destination, parcels from json_to_recordset($2)
      as missing ("merchantId" bigint, origin integer, destination integer, parcels bigint)
  ), full_merchant as (
    select merchant_id from rate_gaps
    where tenant_id = $1 and merchant_id in (select merchant_id from given) and day = (select day from today)
    group by merchant_id having count(*) >= ${maxOfMerchant}
  )
  insert into rate_gaps (tenant_id, merchant_id, day, origin_city_id, destination_city_id, asked_for, last_at)
  select $1, merchant_id, day, origin, destination, parcels, now()
  from given, today
  where merchant_id not in (select merchant_id from full_merchant) or exists (
    select from rate_gaps known where known.tenant_id = $1 and known.merchant_id = given.merchant_id
      and known.day = today.day and origin_city_id = origin and destination_city_id = destination
  )
  order by merchant_id, origin, destination
  on conflict (tenant_id, merchant_id, day, origin_city_id, destination_city_id)
    do update set asked_for = rate_gaps.asked_for + excluded.asked_for, last_at = excluded.last_at`
