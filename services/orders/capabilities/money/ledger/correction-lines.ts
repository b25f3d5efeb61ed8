import { decimalsSql } from '@courier/shared/currency.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { totalSql } from '../taxes/booked-taxes.ts'
import { feeSql } from './fees.ts'
import { firstFreeSql, hasLaterSql } from './parcels.ts'
import { agreedTermsSql } from './terms.ts'

// Books approved corrections: a line that the merchant's next invoice takes, or a payment that came back.

/** Names the kinds of lines that corrections book. */
export const correctionKindsSql = `('compensation', 'collection', 'write_off', 'payment_received', 'opening_balance',
  'charges')`

/** Lists what the lines have in a column, for `line_taxes`. */
const bookedSql = (column: string): string =>
  `coalesce(jsonb_agg(${column}) filter (where ${column} is not null), '[]')`

/** Selects what is booked for the delivery of the parcel $2, corrections included, with its terms. */
const collectedSql = `
  select line_no as refers_to, line.tax_percent, line.withholding_percent, line.cod + coalesce(corrected.cod, 0) as cod,
    line.cod_fee + coalesce(corrected.cod_fee, 0) as cod_fee, line.tax + coalesce(corrected.tax, 0) as tax,
    line.withholding + coalesce(corrected.withholding, 0) as withholding,
    line.delivery + coalesce(corrected.delivery, 0) as delivery,
    line.taxes as tax_rates, taxes_booked || jsonb_build_array(line.taxes) as taxes_booked,
    line.withheld as withheld_rates, withheld_booked || jsonb_build_array(line.withheld) as withheld_booked,
    fee_percent, fee_min, ${decimalsSql('currency')} as decimals
  from money_lines line join tenants on tenants.tenant_id = line.tenant_id
    join orders moved on moved.tenant_id = line.tenant_id and moved.waybill_number = line.waybill_number
    cross join lateral (
      select sum(cod) as cod, sum(delivery) as delivery, sum(cod_fee) as cod_fee, sum(tax) as tax,
        sum(withholding) as withholding, ${bookedSql('taxes')} as taxes_booked,
        ${bookedSql('withheld')} as withheld_booked
      from money_lines later where later.tenant_id = $1 and later.waybill_number = $2
        and later.refers_to = line.line_no and later.kind in ('collection', 'charges')
    ) corrected cross join lateral (${agreedTermsSql}
    ) terms
  where line.tenant_id = $1 and line.waybill_number = $2 and line.kind = 'delivered'
    and not ${hasLaterSql('delivery_reversed')}`

const isBookedSql = (kind: string): string => `exists (
      select from money_lines line where line.tenant_id = $1 and line.waybill_number = $2 and line.kind = '${kind}'
        and not ${hasLaterSql('delivery_reversed', 'return_reversed')})`

/** Finds what was collected for a parcel, before and after a correction. The caller has locked its order. */
export const findCollection = async (
  tx: Tx,
  tenant: string,
  waybill: string,
  amount: number,
): Promise<{ before: number; after: number } | undefined> => {
  const text = `select cod::float8 as before, (cod + $3::numeric)::float8 as after from (${collectedSql}) collected`
  return (await tx.client.query(text, [tenant, waybill, amount])).rows[0]
}

/** Holds right charges: of a delivery, or of a return. */
export type RightCharges = Readonly<Partial<Record<'delivery' | 'cod_fee' | 'return_fee', number>>>

const newSumSql = '(new_delivery + new_cod_fee + new_return_fee)'
/** Selects what is charged for the delivery or the return of the parcel $2 ($3: its kind), and what is right. */
const chargedSql = `
  select refers_to, tax_percent, merchant_id, new_delivery - delivery as delivery, new_cod_fee - cod_fee as cod_fee,
    new_return_fee - return_fee as return_fee, taxes,
    ${totalSql('taxes', `round(${newSumSql} * tax_percent / 100, decimals) - tax`)} as tax
  from (
    select *, coalesce($4::numeric, delivery) as new_delivery, coalesce($5::numeric, cod_fee) as new_cod_fee,
      coalesce($6::numeric, return_fee) as new_return_fee
    from (
      select line.line_no as refers_to, line.tax_percent, line.merchant_id, ${decimalsSql('min(currency)')} as decimals,
        sum(each.delivery) as delivery, sum(each.cod_fee) as cod_fee, sum(each.return_fee) as return_fee,
        sum(each.tax) as tax, line.taxes as tax_rates, ${bookedSql('each.taxes')} as taxes_booked
      from money_lines line join tenants on tenants.tenant_id = line.tenant_id
        join money_lines each on each.tenant_id = line.tenant_id and each.waybill_number = line.waybill_number
          and (each.line_no = line.line_no
            or each.refers_to = line.line_no and each.kind in ('collection', 'charges'))
      where line.tenant_id = $1 and line.waybill_number = $2 and line.kind = $3
        and not ${hasLaterSql('delivery_reversed', 'return_reversed')}
      group by line.line_no, line.tax_percent, line.taxes, line.merchant_id
    ) booked
  ) charged cross join lateral (
    select line_taxes(tax_rates, ${newSumSql}, taxes_booked, decimals) as taxes offset 0
  ) taxed`

const chargedValues = (tenant: string, waybill: string, right: RightCharges) => [
  ...[tenant, waybill, right.return_fee === undefined ? 'delivered' : 'returned'],
  ...[right.delivery, right.cod_fee, right.return_fee],
]

/**
 * Finds what right charges add to what the merchant is owed, with their tax; undefined: no such move is booked, null:
 * it was booked before rates were stored. The caller has locked the order.
 */
export const findChargesDue = async (tx: Tx, tenant: string, waybill: string, right: RightCharges) => {
  const text = `select (-delivery - cod_fee - return_fee - tax)::float8 as amount from (${chargedSql}) charged`
  const { rows } = await tx.client.query(text, chargedValues(tenant, waybill, right))
  return rows[0]?.amount as number | null | undefined
}

/** Holds what a parcel costs by its rate card; null: the move is not booked, or the card has changed. */
export type CardCharges = Readonly<Record<'delivery' | 'cod_fee' | 'return_fee', number | null>> & {
  readonly is_delivered: boolean
}

/** Prices a parcel at a weight in kg. A card that no longer says what the parcel was booked with prices no delivery. */
export const priceByCard = async (tx: Tx, tenant: string, waybill: string, weight: number): Promise<CardCharges> =>
  (await tx.client.query(byCardSql, [tenant, waybill, weight])).rows[0]

const furtherKg = (weight: string): string => `greatest(ceil(${weight})::integer - 1, 0)`
const zoneSql = (city: string): string => `(
      select zone from zones left join zone_cities using (tenant_id, rate_card, zone)
      where zones.tenant_id = $1 and zones.rate_card = card.rate_card and (city_id = moved.${city} or is_elsewhere)
      order by city_id is null limit 1)`

const byCardSql = `
  select is_delivered, case when is_delivered and first_kg + each_extra_kg * ${furtherKg('weight')} = delivery_charge
      then first_kg + each_extra_kg * ${furtherKg('$3::float8')} end::float8 as delivery,
    (select ${feeSql('cod')} from (${collectedSql}) collected)::float8 as cod_fee,
    case when is_returned then return_fee + each_return_kg * ${furtherKg('$3::float8')} end::float8 as return_fee
  from (
    select moved.*, terms.return_fee, terms.each_return_kg, card.rate_card, ${zoneSql('origin_city_id')} as from_zone,
      ${zoneSql('destination_city_id')} as to_zone, ${isBookedSql('delivered')} as is_delivered,
      ${isBookedSql('returned')} as is_returned
    from orders moved join merchants card on card.tenant_id = moved.tenant_id and card.merchant_id = moved.merchant_id
      cross join lateral (${agreedTermsSql}
      ) terms
    where moved.tenant_id = $1 and moved.waybill_number = $2
  ) parcel left join rates on rates.tenant_id = $1 and rates.rate_card = parcel.rate_card
    and rates.from_zone = parcel.from_zone and rates.to_zone = parcel.to_zone`

/** Inserts the line of a correction of charges: the difference to what is booked. */
export const insertCharges = (tx: Tx, tenant: string, waybill: string, right: RightCharges, id: string) =>
  tx.client.query(insertChargesSql, [...chargedValues(tenant, waybill, right), id])

const insertChargesSql = `
  insert into money_lines (tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, delivery, cod_fee,
    return_fee, tax, taxes, tax_percent, refers_to, booked_on, staff_name, reason)
  select $1, $2, line_no, journal_id, charged.merchant_id, kind, charged.delivery, charged.cod_fee, charged.return_fee,
    tax, taxes, tax_percent, refers_to, booked_on, made_by, reason
  from corrections cross join ${firstFreeSql} cross join (${chargedSql}) charged
  where corrections.tenant_id = $1 and correction_id = $7 returning tenant_id`

/**
 * Inserts the line of the correction $3 of the amount $4. Fee and taxes become those of the right collection, unless
 * the COD fee was charged by terms that are no longer known.
 */
export const insertLineSql = `
  insert into money_lines (tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, cod, cash_account,
    cod_fee, tax, withholding, taxes, withheld, tax_percent, withholding_percent, compensation, adjustment, refers_to,
    booked_on, staff_name, reason)
  select $1, $2, line_no, journal_id, merchant_id, kind, case kind when 'collection' then amount else 0 end,
    case kind when 'collection' then 'differences' end, coalesce(fee - cod_fee, 0),
    coalesce(${totalSql('taxes', 'round((delivery + fee) * tax_percent / 100, decimals) - tax')}, 0),
    coalesce(${totalSql('withheld', 'round((cod + amount) * withholding_percent / 100, decimals) - withholding')}, 0),
    taxes, withheld, tax_percent, withholding_percent, case kind when 'compensation' then amount else 0 end,
    case when kind in ('compensation', 'collection') then 0 else amount end, refers_to, booked_on, made_by, reason
  from corrections cross join ${firstFreeSql} left join (
    select *, case when coalesce(tax_percent::text, tax_rates::text) is not null and ${feeSql('cod')} = cod_fee
      then ${feeSql('(cod + $4::numeric)')} else cod_fee end as fee from (${collectedSql}) booked
  ) collected on kind = 'collection' left join lateral (
    select line_taxes(tax_rates, delivery + fee, taxes_booked, decimals) as taxes,
      line_taxes(withheld_rates, cod + amount, withheld_booked, decimals) as withheld offset 0
  ) taxed on true
  where corrections.tenant_id = $1 and correction_id = $3 returning tenant_id`

/**
 * Makes the invoice of a transfer that came back due again, and its payment a failed one. Returns false if the invoice
 * is no longer paid by that transfer.
 */
export const returnTransfer = async (
  tx: Tx,
  tenant: string,
  {
    invoice_id,
    payment_journal_id,
    reason,
  }: Record<'invoice_id' | 'payment_journal_id', string | null> & {
    reason: string
  },
): Promise<boolean> => {
  const { rowCount } = await tx.client.query(unpaySql, [tenant, invoice_id, payment_journal_id])
  if (!rowCount) return false
  const { rows } = await tx.client.query(failItemSql, [tenant, invoice_id, reason])
  const text = 'update payout_batches set returned = returned + $3 where tenant_id = $1 and batch_no = $2'
  for (const { batch_no, amount } of rows) await tx.client.query(text, [tenant, batch_no, amount])
  return true
}

const unpaySql = `
  update invoices set state = 'approved', deposited_by = null, deposited_at = null, journal_id = null,
    booked_on = null, bank_reference = null, paid_on = null
  where tenant_id = $1 and invoice_id = $2 and journal_id = $3`

const failItemSql = `
  update payout_items set state = 'failed', reason = $3 where tenant_id = $1 and invoice_id = $2 and state = 'paid'
  returning batch_no, amount`
