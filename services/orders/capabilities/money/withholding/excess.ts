import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { Tx } from '../../../core/database/tables.ts'
import type { MerchantsFile, TenantFile } from '../../../core/provisioning/tenant-file.ts'

type Table = readonly { readonly rates: readonly { readonly percent: number }[] }[]

/** Refuses a table by which more would be withheld of a parcel than its recipient paid. */
export const findExcess = async (tx: Tx, { tenant }: TenantFile | MerchantsFile): Promise<FieldErrors> => {
  const { withholding = [] } = tenant as { withholding?: Table }
  const most = withholding.map(({ rates }) => Math.max(...rates.map(({ percent }) => percent)))
  // Hardly any table comes near, and thousands of rates would take the query seconds.
  if (most.reduce((sum, percent) => sum + percent, 0) <= 100) return {}
  const [found] = await tx.rows<{ day: string; rates: string; sum: number }>(excessSql, [JSON.stringify(withholding)])
  if (!found) return {}
  const { day, rates, sum } = found
  return {
    'tenant.withholding': [`On ${day}, ${rates} would be withheld of one parcel: ${sum} % is more than 100 %.`],
  }
}

/** Finds the first day, and the kind of parcel, for which the rates add up to the most; no row if 100 % is the most. */
const excessSql = `
  with rates as (
    select value as rate from jsonb_path_query($1::jsonb, '$[*].rates[*]') as value
  ), parcels as (
    select day,
      jsonb_strip_nulls(jsonb_build_object('goods', goods, 'registered', registered, 'payment', payment)) as facts
    from (select distinct (rate ->> 'from')::date as day from rates) days,
      (select distinct rate ->> 'goods' as goods from rates union select null) kinds,
      (values (true), (false)) registrations (registered), (values ('cash'), ('digital')) payments (payment)
  )
  select day::text, rates, sum from parcels, lateral (
    select sum((rate ->> 'percent')::numeric)::float8 as sum,
      string_agg((rate ->> 'name') || ' ' || (rate ->> 'percent') || ' %', ', ') as rates
    from jsonb_array_elements(rates_on($1::jsonb, day, facts)) as rate
  ) together
  where sum > 100 order by day, sum desc limit 1`
