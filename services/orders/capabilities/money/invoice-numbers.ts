import { query } from '@courier/shared/postgres/database.ts'
import type { Tx } from '../../core/database/tables.ts'
import { listSeries } from './make-invoices.ts'

/**
 * Leaves out the numbers that invoices may have got since the backup, in each series of the days since then. Returns
 * how many of each: ten times those of the busiest day, or one for each merchant, for each day.
 */
export const repairInvoices = async (tx: Tx, tenant: string, since: Date | undefined) => {
  if (!since) return { skipped_invoices: 0 }
  const [found] = await query<Found>(tx)`
    select invoice_mask, invoice_ref_mask,
      1 + extract(epoch from clock_timestamp() - ${since}::timestamptz) / 86400 as days,
      array(
        select day::date::text from generate_series((${since}::timestamptz at time zone time_zone)::date,
          (clock_timestamp() at time zone time_zone)::date, interval '1 day') as day
      ) as dates,
      (select count(*) from merchants where tenant_id = ${tenant}) as merchants
    from tenants where tenant_id = ${tenant}`
  if (!found) return { skipped_invoices: 0 }
  const [busiest] = await query<{ made: string | null }>(tx)`
    select max(made) as made from (
      select count(*) as made from invoices
      where tenant_id = ${tenant} and made_at > ${since}::timestamptz - interval '30 days'
      group by date_trunc('day', made_at, 'UTC')
    ) days`
  const skipped = 10 * Math.ceil(Number(found.days)) * Math.max(1, Number(busiest?.made ?? 0), Number(found.merchants))
  const series = listSeries([found.invoice_mask, found.invoice_ref_mask], found.dates)
  await query(tx)`
    insert into invoice_counters (tenant_id, series, last_number)
    select ${tenant}, series, ${skipped} from unnest(${series}::text[]) as series
    on conflict (tenant_id, series) do update set last_number = invoice_counters.last_number + excluded.last_number
    returning series`
  return { skipped_invoices: skipped }
}

interface Found {
  readonly invoice_mask: string
  readonly invoice_ref_mask: string
  readonly days: string
  readonly dates: readonly string[]
  readonly merchants: string
}
