import type { Tx } from '../database/tables.ts'
import { RateCard } from './rate-card.ts'

/** The rate cards of a tenant by name. */
export const findRateCards = async (tx: Tx, tenant: string): Promise<Map<string, RateCard>> => {
  const [cardRows, zoneRows, cityRows, rateRows] = await Promise.all([
    tx.selectFrom('rate_cards').select('rate_card').where('tenant_id', '=', tenant).execute(),
    tx
      .selectFrom('zones')
      .select(['rate_card', 'zone'])
      .where('tenant_id', '=', tenant)
      .where('is_elsewhere', '=', true)
      .execute(),
    tx.selectFrom('zone_cities').select(['rate_card', 'city_id', 'zone']).where('tenant_id', '=', tenant).execute(),
    tx.selectFrom('rates').selectAll().where('tenant_id', '=', tenant).execute(),
  ])
  const elsewhere = new Map(zoneRows.map(row => [row.rate_card, row.zone]))
  const cards = new Map(cardRows.map(row => [row.rate_card, new RateCard(elsewhere.get(row.rate_card))]))
  for (const row of cityRows) cards.get(row.rate_card)?.addCity(row.city_id, row.zone)
  for (const row of rateRows)
    cards.get(row.rate_card)?.addRate(row.from_zone, row.to_zone, {
      firstKg: hundredths(row.first_kg),
      eachExtraKg: hundredths(row.each_extra_kg),
    })
  return cards
}

/** numeric(12,2) as Postgres writes it, "450.00", in hundredths. */
const hundredths = (decimal: string): number => Math.round(Number(decimal) * 100)
