import type pg from 'pg'
import { tell } from './bench.ts'
import { rounded } from './figures.ts'
import type { Ground } from './ground.ts'

/** The bytes of an order with its event, its part of all indexes and of the log; generous. */
export const bytesPerOrder = 1_500

/** The numbers of the mask below this are left to earlier bookings. */
const firstNumber = 1_000_000
const chunk = 1_000_000

/**
 * Copies the existing orders, with their events, until so many more exist: under new waybills, spread over
 * the year before. Works with any columns and indexes. Returns the seconds that it took.
 */
export const fillOrders = async ({ superuser, tenant }: Ground, count: number): Promise<number> => {
  const start = performance.now()
  await superuser.query(`create temporary table sample as select row_number() over () - 1 as place, o.* from orders o`)
  for (let done = 0; done < count; done += chunk) {
    const end = firstNumber + Math.min(done + chunk, count)
    await insertCopies(superuser, firstNumber + done, end, count)
    tell(`growth: ${(end - firstNumber) / 1_000_000} of ${count / 1_000_000} million orders are there`)
  }
  // Later bookings continue behind these numbers.
  await superuser.query(
    `insert into waybill_counters (tenant_id, next_number) values ($1, $2)
      on conflict (tenant_id) do update set next_number = excluded.next_number`,
    [tenant, firstNumber + count],
  )
  await superuser.query('vacuum (analyze) orders')
  await superuser.query('vacuum (analyze) order_events')
  await superuser.query('checkpoint')
  return rounded((performance.now() - start) / 1000)
}

/** Lists the numbers from `first` to before `end`. */
const insertCopies = async (superuser: pg.Client, first: number, end: number, count: number): Promise<void> => {
  const { rows } = await superuser.query<{ names: string }>(
    `select string_agg(quote_ident(attname), ', ') as names from pg_attribute
      where attrelid = 'orders'::regclass and attnum > 0 and not attisdropped and attidentity = '' and attgenerated = ''
        and attname not in ('waybill_number', 'created_at')`,
  )
  const names = rows[0]?.names
  await superuser.query({
    text: `
      with copied as (
        insert into orders (waybill_number, created_at, ${names})
        select 'DM' || lpad(number::text, 8, '0'), now() - interval '1 year' * (1 - (number - $4::float8) / $3), ${names}
        from generate_series($1::integer, $2::integer - 1) number
        join sample on place = number % (select count(*) from sample)
        order by number
        returning tenant_id, waybill_number, status_key, created_at
      )
      insert into order_events (tenant_id, waybill_number, status_key, happened_at) select * from copied`,
    values: [first, end, count, firstNumber],
  })
}
