import { inTenant } from '@courier/shared/postgres/database.ts'
import { component } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Tx } from '../../core/database/tables.ts'
import { findStatuses, fromDeliveries, fromFailedAttempts } from '../../core/statuses/status-queries.ts'
import { listKeysOfClass } from '../../core/statuses/statuses.ts'
import { addDays, listDays } from './days.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })

const dayCounts = {
  created: count('Orders created.'),
  delivered: count('Orders delivered, each once.'),
  failed: count('Delivery attempts that failed, each once.'),
}
const Day = component('OrderDay', { date: Type.String(), ...dayCounts })
type Day = Static<typeof Day>

const listedDays = 30

const Today = component('Today', {
  date: Type.String({ description: 'Today, in the time zone of the courier company.' }),
  time_zone: Type.String(),
  new: count('Orders created today.'),
  moving: count('Orders under way now: picked up or about to be, and neither delivered nor returned.'),
  failed: count('Delivery attempts that failed today.'),
  delivered: count('Orders delivered today, each once.'),
  days: Type.Array(Day, { description: `The last ${listedDays} days, today last.` }),
})
export type Today = Static<typeof Today>

/** Serves the metrics of today and of the days before, for staff. */
export const todayRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const find = createToday(pool)
  const schema = {
    operationId: 'getToday',
    summary: 'Read the metrics of today and of the days before',
    description: 'The metrics of today are up to five seconds old, and those of earlier days up to a day.',
    response: { 200: Type.Object({ data: Today }) },
  }
  app.get('/today', { schema }, async request => ({ data: await find(request.staff.tenant) }))
}

/** Caches days that are over for this long; take-backs of their moves show later. */
const earlierMilliseconds = 86_400_000
/** Yesterday may at first lack rows written at midnight. */
const yesterdayMilliseconds = 3_600_000

/**
 * Counts the metrics of a tenant's day and of the days before. Each process caches them for `keptMilliseconds`:
 * requests in between cost nothing.
 */
export const createToday = (pool: pg.Pool, keptMilliseconds = 5_000): ((tenant: string) => Promise<Today>) => {
  const earlier = new LRUCache<string, Day>({ maxSize: 100_000, sizeCalculation: () => 1 })
  const current = new LRUCache<string, Today>({
    max: 10_000,
    ttl: keptMilliseconds,
    fetchMethod: tenant => inTenant(pool, tenant, (tx: Tx) => readToday(tx, tenant, earlier)),
  })
  return tenant => current.forceFetch(tenant)
}

const readToday = async (tx: Tx, tenant: string, earlier: LRUCache<string, Day>): Promise<Today> => {
  const [[settings], statuses] = await Promise.all([tx.rows(settingsSql, [tenant]), findStatuses(tx, tenant)])
  const { date, time_zone } = settings
  const values = [tenant, listKeysOfClass(statuses, 'under_way')]
  const [counted] = await tx.rows({ name: 'count_moving', text: countMovingSql, values })
  const find = async (day: string): Promise<Day> => {
    const key = `${tenant} ${time_zone} ${day}`
    const known = day === date ? undefined : earlier.get(key)
    if (known) return known
    const found = await countDay(tx, tenant, day)
    const ttl = day === addDays(date, -1) ? yesterdayMilliseconds : earlierMilliseconds
    if (day !== date) earlier.set(key, found, { ttl })
    return found
  }
  const days: Day[] = []
  // Stores each day once it is counted, with a statement of its own: one statement for all days may need more time.
  for (const day of listDays(addDays(date, 1 - listedDays), date)) days.push(await find(day))
  const { created, delivered, failed } = days.at(-1) as Day
  return { date, time_zone, new: created, moving: counted.moving, failed, delivered, days }
}

const settingsSql =
  'select time_zone, (now() at time zone time_zone)::date::text as date from tenants where tenant_id = $1'

const countMovingSql = `
  select count(*)::integer as moving from orders where tenant_id = $1 and status_key = any($2::text[])`

const countDay = async (tx: Tx, tenant: string, date: string): Promise<Day> => {
  const [counts] = await tx.rows({ name: 'count_day', text: countDaySql, values: [tenant, date] })
  return { date, ...counts }
}

const first = '(select first from day)'
const last = '(select last from day)'

const countDaySql = `
  with day as materialized (
    select $2::date::timestamp at time zone time_zone as first, ($2::date + 1)::timestamp at time zone time_zone as last
    from tenants where tenant_id = $1
  )
  select (
    select count(*)::integer from orders where tenant_id = $1 and created_at >= ${first} and created_at < ${last}
  ) as created, (
    select count(distinct waybill_number)::integer ${fromDeliveries(first, last)}
  ) as delivered, (
    select count(*)::integer ${fromFailedAttempts(first, last)}
  ) as failed`
