import type { Tx } from '../database/tables.ts'
import { type Change, sync } from './sync.ts'
import type { TenantFile } from './tenant-file.ts'

/** Zones that lose their last city or rate go last: cities and rates point at them. */
export const applyRateCards = async (tx: Tx, { tenant, rate_cards }: TenantFile): Promise<Change[]> => {
  const tenant_id = tenant.id
  const wanted = rowsOf(tenant_id, rate_cards)
  const cards = rate_cards.map(card => card.name)
  const ofTenant = <Table extends 'zones' | 'zone_cities' | 'rates'>(table: Table) =>
    tx
      .selectFrom(table as 'zones')
      .selectAll()
      .where('tenant_id', '=', tenant_id)
      .where(({ eb }) => (cards.length > 0 ? eb('rate_card', 'in', cards) : eb.val(false)))
      .execute()
  const [currentCards, zones, cities, rates] = await Promise.all([
    tx.selectFrom('rate_cards').selectAll().where('tenant_id', '=', tenant_id).execute(),
    ofTenant('zones'),
    ofTenant('zone_cities'),
    ofTenant('rates'),
  ])
  const key = ['tenant_id', 'rate_card']
  const common = { tx, others: 'removed' } as const
  const ofCards = await sync({
    ...common,
    table: 'rate_cards',
    kind: 'rate card',
    keys: key,
    current: currentCards,
    wanted: wanted.cards,
    others: 'kept',
  })
  const ofZones = await sync({
    ...common,
    table: 'zones',
    kind: 'zone',
    keys: [...key, 'zone'],
    current: zones,
    wanted: wanted.zones,
  })
  const ofCities = await sync({
    ...common,
    table: 'zone_cities',
    kind: 'zone of city',
    keys: [...key, 'city_id'],
    current: cities,
    wanted: wanted.cities,
  })
  const ofRates = await sync({
    ...common,
    table: 'rates',
    kind: 'rate',
    keys: [...key, 'from_zone', 'to_zone'],
    current: rates,
    wanted: wanted.rates,
  })
  await ofRates.remove()
  await ofCities.remove()
  await ofZones.remove()
  return [ofCards, ofZones, ofCities, ofRates].flatMap(({ changes }) => changes)
}

const rowsOf = (tenant_id: string, rateCards: TenantFile['rate_cards']) => ({
  cards: rateCards.map(({ name }) => ({ tenant_id, rate_card: name })),
  zones: rateCards.flatMap(({ name, zones }) =>
    Object.entries(zones).map(([zone, members]) => ({
      tenant_id,
      rate_card: name,
      zone,
      is_elsewhere: members === '*',
    })),
  ),
  cities: rateCards.flatMap(({ name, zones }) =>
    Object.entries(zones).flatMap(([zone, members]) =>
      members === '*' ? [] : members.map(city_id => ({ tenant_id, rate_card: name, city_id, zone })),
    ),
  ),
  rates: rateCards.flatMap(({ name, rates }) =>
    rates.map(rate => ({
      tenant_id,
      rate_card: name,
      from_zone: rate.from,
      to_zone: rate.to,
      first_kg: rate.first_kg.toFixed(2),
      each_extra_kg: rate.each_extra_kg.toFixed(2),
    })),
  ),
})
