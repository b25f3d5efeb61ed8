import { query } from '@courier/shared/postgres/database.ts'
import type { Tx } from '../../../core/database/tables.ts'
import type { Clock } from '../ledger/parcels.ts'

/** Lists the settings that number documents. */
export const masks = [
  'invoice_mask',
  'invoice_ref_mask',
  'credit_note_mask',
  'debit_note_mask',
  'remittance_mask',
] as const
export type Mask = (typeof masks)[number]
type Masks = Readonly<Record<Mask, string>>

/**
 * Takes the next number of a mask, without gaps: other requests that number a document of the tenant wait for the end
 * of this transaction.
 */
export const takeNumber = async (
  tx: Tx,
  tenant: string,
  name: Mask,
  { today }: Clock,
  merchantId: number,
): Promise<string> => {
  const text = `select ${name} as mask, coalesce(merchants.branch, tenants.branch, '') as branch
    from tenants join merchants using (tenant_id) where tenant_id = $1 and merchant_id = $2`
  const { rows } = await tx.client.query(text, [tenant, merchantId])
  return takeNext(tx, tenant, fillMask(rows[0].mask, today, rows[0].branch))
}

/** Takes the next number of a mask without parts of a day. */
export const takeNext = async (tx: Tx, tenant: string, filled: string): Promise<string> => {
  const { rows } = await tx.client.query(countSql, [tenant, toSeries(filled)])
  return filled.replace(/#+/, digits => String(rows[0].last_number).padStart(digits.length, '0'))
}

/** Names the series of a mask without parts of a day: numbers of any width count on. */
export const toSeries = (filled: string): string => filled.replace(/#+/, '#')

const countSql = `
  insert into invoice_counters (tenant_id, series, last_number) values ($1, $2, 1)
  on conflict (tenant_id, series) do update set last_number = invoice_counters.last_number + 1 returning last_number`

/** Fills the parts of a day, such as `2026-02-19`, and the code of a branch into a mask. */
export const fillMask = (mask: string, day: string, branch = ''): string => {
  const [year = '', month = '', date = ''] = day.split('-')
  const parts: Record<string, string> = {
    ...{ YYYY: year, YY: year.slice(2), MMM: monthNames[Number(month) - 1] ?? '', MM: month, DD: date },
    '{branch}': branch,
  }
  return mask.replace(partsOfMask, part => parts[part] ?? parts[part.slice(1, -1)] ?? part)
}

const monthNames = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ')
/** Finds the parts of masks that are filled in; braces keep them apart from other letters. */
export const partsOfMask = /\{(YYYY|YY|MMM|MM|DD|branch)\}|YYYY|YY|MMM|MM|DD/g

/** Lists the series of numbers that the masks have on some days in the branches, each once. */
const listSeries = (found: Masks, days: readonly string[], branches: readonly string[]): string[] => [
  ...new Set(
    masks.flatMap(mask => days.flatMap(day => branches.map(branch => toSeries(fillMask(found[mask], day, branch))))),
  ),
]

/**
 * Leaves out the numbers that invoices may have got since the backup, in each series of the days since then. Returns
 * how many of each: ten times those of the busiest day, or one for each merchant, for each day.
 */
export const repairInvoices = async (tx: Tx, tenant: string, since: Date | undefined) => {
  if (!since) return { skipped_invoices: 0 }
  const [found] = await query<Found>(tx)`
    select invoice_mask, invoice_ref_mask, credit_note_mask, debit_note_mask, remittance_mask,
      1 + extract(epoch from clock_timestamp() - ${since}::timestamptz) / 86400 as days,
      array(
        select day::date::text from generate_series((${since}::timestamptz at time zone time_zone)::date,
          (clock_timestamp() at time zone time_zone)::date, interval '1 day') as day
      ) as dates,
      (select count(*) from merchants where tenant_id = ${tenant}) as merchants,
      array(
        select coalesce(tenants.branch, '') union select branch from merchants
        where tenant_id = ${tenant} and branch is not null
      ) as branches
    from tenants where tenant_id = ${tenant}`
  if (!found) return { skipped_invoices: 0 }
  const [busiest] = await query<{ made: string | null }>(tx)`
    select max(made) as made from (
      select count(*) as made from invoices
      where tenant_id = ${tenant} and made_at > ${since}::timestamptz - interval '30 days'
      group by date_trunc('day', made_at, 'UTC')
    ) days`
  const skipped = 10 * Math.ceil(Number(found.days)) * Math.max(1, Number(busiest?.made ?? 0), Number(found.merchants))
  const series = listSeries(found, found.dates, found.branches)
  await skipNumbers(tx, tenant, series, skipped)
  return { skipped_invoices: skipped }
}

/** Leaves out the ids that handovers and corrections may have got since the backup, 1,000 of each for each day. */
export const repairIds = async (tx: Tx, _tenant: string, since: Date | undefined) => {
  if (!since) return { skipped_ids: 0 }
  const skipped_ids = 1_000 * Math.ceil(1 + (Date.now() - since.getTime()) / 86_400_000)
  for (const [table, column] of [
    ['cash_handovers', 'handover_id'],
    ['corrections', 'correction_id'],
    ['bank_entries', 'entry_id'],
  ])
    await query(tx)`
      select count(nextval(pg_get_serial_sequence(${table}, ${column})))
      from generate_series(1, ${skipped_ids}::integer)`
  return { skipped_ids }
}

/** Leaves out the next numbers of masks without parts of a day. */
export const skipNumbers = (tx: Tx, tenant: string, filled: readonly string[], count: number) =>
  query(tx)`
    insert into invoice_counters (tenant_id, series, last_number)
    select ${tenant}, series, ${count} from unnest(${filled.map(toSeries)}::text[]) as series
    on conflict (tenant_id, series) do update set last_number = invoice_counters.last_number + excluded.last_number
    returning series`

interface Found extends Masks {
  readonly days: string
  readonly dates: readonly string[]
  readonly merchants: string
  readonly branches: readonly string[]
}
