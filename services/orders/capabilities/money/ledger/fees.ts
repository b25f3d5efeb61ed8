import { decimalsSql } from '@courier/shared/currency.ts'
import { taxedSql, totalSql } from '../taxes/booked-taxes.ts'
import { transfersOfMovesSql } from './ledger.ts'
import { agreedTermsSql } from './terms.ts'

// Computes and books what a move charges: COD, delivery, COD fee, return fee and taxes
// (docs/money.md#what-a-parcel-costs). $1 is the tenant, $2 the waybills, $3 the mover's name. Reads each table once,
// not once for each parcel: a full join is never a nested loop, and `offset 0` makes Postgres keep the terms by
// merchant.

/**
 * Selects the parcels with the company's terms. Leaves out parcels with a line of this kind that was not reversed, so
 * each is booked once.
 */
const parcelsSql = (kind: string, reversal: string, columns: string, more = ''): string => `
        select moved.waybill_number, moved.merchant_id, journal_id, booked_on, withholding_percent, decimals, agreed.*,
          case when tax_status in ('exempt', 'zero_rated') then 0 else tax_percent end as tax_percent, tax_table,
          withholding_table, coalesce(booked_with ->> 'goods', sold.goods) as goods, ${columns},
          1 + coalesce(lines, 0) as line_no
        from moved full join (
          select waybill_number, count(*)::integer as lines,
            count(*) filter (where kind = '${kind}') > count(*) filter (where kind = '${reversal}') as is_booked
          from money_lines where tenant_id = $1 and waybill_number = any($2::text[]) group by 1
        ) earlier on earlier.waybill_number = moved.waybill_number ${more}
          cross join lateral (
            select journal_id, (now at time zone time_zone)::date as booked_on, tax_percent, withholding_percent,
              taxes::jsonb as tax_table, withholding::jsonb as withholding_table,
              ${decimalsSql('currency')} as decimals
            from clock cross join tenants where tenants.tenant_id = $1 offset 0
          ) today
          cross join lateral (${agreedTermsSql}
          ) agreed left join lateral (
            select goods from businesses where withholding_table is not null and businesses.tenant_id = $1
              and businesses.business_id = moved.business_id
          ) sold on true
        where is_booked is not true`

/** Computes the COD fee of an amount that a recipient paid. */
export const feeSql = (paid: string): string =>
  `case when ${paid} > 0 then round(greatest(${paid} * fee_percent / 100, fee_min), decimals) else 0 end`

const common = `tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, tax, booked_on, staff_name,
      tax_percent, withholding_percent, taxes, withheld`
const rates = `case when taxes is null then tax_percent end, case when withheld is null then withholding_percent end,
      taxes, withheld`

/** Lists the columns of lines that transfers are made from. */
const returning =
  'journal_id, booked_on, merchant_id, cash_account, cod, delivery, cod_fee, return_fee, tax, withholding, taxes, withheld'

/** Inserts the lines of deliveries. $4 to $7 come from `collectionParameters`; $8 is the collector. */
const deliveryLinesSql = `
    insert into money_lines (${common}, cod, delivery, cod_fee, withholding, method, cash_account, reason)
    select $1, waybill_number, line_no, journal_id, merchant_id, 'delivered',
      ${totalSql('taxes', 'round((delivery_charge + fee) * tax_percent / 100, decimals)')}, booked_on, $3, ${rates},
      paid, delivery_charge, fee,
      ${totalSql('withheld', 'round(paid * withholding_percent / 100, decimals)')}, method,
      case when method = 'cash' then 'rider:' || $8::text
        when method is not null then 'clearing' end, reason
    from (
      select *, ${feeSql('paid')} as fee,
        case when paid > 0 then coalesce(given_method, 'cash') end as method
      from (${parcelsSql(
        'delivered',
        'delivery_reversed',
        'moved.delivery_charge, coalesce(given.amount, moved.cod) as paid, given.reason, given.method as given_method',
        `full join unnest($4::text[], $5::numeric[], $6::text[], $7::text[]) as given
          (waybill_number, amount, method, reason)
            on given.waybill_number = moved.waybill_number`,
      )}
      ) priced
    ) parcel ${taxedSql('delivery_charge + fee', 'paid')}
    returning ${returning}`

const returnFee = 'return_fee + greatest(ceil(moved.weight)::integer - 1, 0) * each_return_kg as fee, null as method'
const returnLinesSql = `
    insert into money_lines (${common}, return_fee)
    select $1, waybill_number, line_no, journal_id, merchant_id, 'returned',
      ${totalSql('taxes', 'round(fee * tax_percent / 100, decimals)')}, booked_on, $3, ${rates}, fee
    from (${parcelsSql('returned', 'return_reversed', returnFee)}
    ) parcel ${taxedSql('fee', 'null')}
    where fee > 0 returning ${returning}`

const bookSql = (linesSql: string): string => `
  with clock as materialized (
    select clock_timestamp() as now, uuidv7() as journal_id
  ), moved as (
    select merchant_id, business_id, waybill_number, created_at, cod, weight, delivery_charge, booked_with from orders
    where tenant_id = $1 and waybill_number = any($2::text[])
  ), lines as (${linesSql}
  )
  insert into ledger_transfers (tenant_id, journal_id, debit, credit, amount, booked_on)
  select $1, journal_id, debit, credit, amount, booked_on from (${transfersOfMovesSql('lines')}) transfer
    returning tenant_id`

export const bookDeliverySql = bookSql(deliveryLinesSql)
export const bookReturnSql = bookSql(returnLinesSql)
