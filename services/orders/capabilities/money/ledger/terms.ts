import type { Tx } from '../../../core/database/tables.ts'

interface Terms {
  readonly merchant_id: string
  /** Lists the values of `feeColumns`. */
  readonly fees: readonly number[]
}

/**
 * Selects the fees that held when the order `moved` was booked (docs/money.md#what-a-parcel-costs). Without a card the
 * COD fee is 0 and the others are null.
 */
export const agreedTermsSql = `
              select coalesce(former.cod_fee_percent, card.cod_fee_percent, 0) as fee_percent,
                coalesce(former.cod_fee_min, card.cod_fee_min, 0) as fee_min,
                coalesce(former.return_fee, card.return_fee) as return_fee,
                coalesce(former.each_return_kg, card.each_return_kg) as each_return_kg,
                tax_status, tax_number is not null and tax_status is distinct from 'unregistered' as is_registered
              from (
                select rate_cards.*, tax_status, tax_number from merchants left join rate_cards
                  on rate_cards.tenant_id = $1 and rate_cards.rate_card = merchants.rate_card
                where merchants.tenant_id = $1 and merchants.merchant_id = moved.merchant_id offset 0
              ) card
                left join lateral (
                  select * from former_terms where former_terms.tenant_id = $1
                    and former_terms.merchant_id = moved.merchant_id and former_terms.until > moved.created_at
                  order by former_terms.until limit 1
                ) former on true`

const feeColumns = 'cod_fee_percent, cod_fee_min, return_fee, each_return_kg'

const readTerms = (tx: Tx, tenant: string) =>
  tx.rows<Terms>(
    `select merchant_id, to_jsonb(array[${feeColumns}]) as fees
    from merchants join rate_cards using (tenant_id, rate_card) where tenant_id = $1`,
    [tenant],
  )

/**
 * Reads the fees of all merchants before a company file changes them. Returns the function that then keeps those that
 * changed, for the orders that were booked before.
 */
export const keepFormerTerms = async (tx: Tx, tenant: string) => {
  const before = await readTerms(tx, tenant)
  return async (): Promise<void> => {
    const after = new Map((await readTerms(tx, tenant)).map(({ merchant_id, fees }) => [merchant_id, fees]))
    const changed = before.filter(({ merchant_id, fees }) => String(after.get(merchant_id)) !== String(fees))
    if (changed.length > 0) await tx.rows(insertSql, [tenant, JSON.stringify(changed)])
  }
}

const insertSql = `
  insert into former_terms (tenant_id, merchant_id, ${feeColumns})
  select $1, merchant_id, (fees ->> 0)::numeric, (fees ->> 1)::numeric, (fees ->> 2)::numeric, (fees ->> 3)::numeric
  from jsonb_to_recordset($2::jsonb) as changed (merchant_id bigint, fees jsonb)
  returning tenant_id`
