import { inTenant } from '@courier/shared/postgres/database.ts'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'

/** The values that a merchant's newest orders share. */
export interface Habits {
  readonly orders: number
  readonly cityIds: ReadonlySet<number>
  readonly maxWeightKg: number
}

export type FindHabits = (tenant: string, merchantId: string) => Promise<Habits | undefined>

const newest = 1_000
/** Fewer orders say nothing about the next one. */
const fewest = 100
const rememberedMilliseconds = 60_000
/** The limit for all merchants together: 20 to 40 MB. */
const maxCityIds = 1_000_000

/** Returns undefined for a merchant with few orders. A process reads them once a minute. */
export const createFindHabits = (pool: pg.Pool): FindHabits => {
  const cache = new LRUCache<string, Habits>({
    max: 10_000,
    maxSize: maxCityIds,
    sizeCalculation: ({ cityIds }) => 1 + cityIds.size,
    ignoreFetchAbort: true,
    ttl: rememberedMilliseconds,
    fetchMethod: key => {
      const [tenant = '', merchantId = ''] = key.split(' ')
      return inTenant(pool, tenant, (tx: Tx) => readHabits(tx, tenant, merchantId))
    },
  })
  return async (tenant, merchantId) => {
    const key = `${tenant} ${merchantId}`
    const habits = cache.get(key) ?? (await cache.fetch(key))
    return habits && habits.orders >= fewest ? habits : undefined
  }
}

const readHabits = async (tx: Tx, tenant: string, merchantId: string): Promise<Habits> => {
  const rows = await tx
    .selectFrom('orders')
    .select(['destination_city_id', 'weight'])
    .where('tenant_id', '=', tenant)
    .where('merchant_id', '=', merchantId)
    .orderBy('created_at', 'desc')
    .limit(newest)
    .execute()
  return {
    orders: rows.length,
    cityIds: new Set(rows.map(row => row.destination_city_id)),
    maxWeightKg: Math.max(0, ...rows.map(({ weight }) => weight)),
  }
}
