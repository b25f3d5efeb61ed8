import type { Change } from '@courier/shared/changes.ts'
import type { Tx } from '../database/tables.ts'
import { type Synced, sync } from './sync.ts'
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
  const steps = [
    { table: 'rate_cards', kind: 'rate card', keys: key, current: currentCards, wanted: wanted.cards },
    { table: 'zones', kind: 'zone', keys: [...key, 'zone'], current: zones, wanted: wanted.zones },
    { table: 'zone_cities', kind: 'zone of city', keys: [...key, 'city_id'], current: cities, wanted: wanted.cities },
    { table: 'rates', kind: 'rate', keys: [...key, 'from_zone', 'to_zone'], current: rates, wanted: wanted.rates },
  ] as const
  const synced: Synced[] = []
  for (const step of steps)
    synced.push(await sync({ tx, ...step, others: step.table === 'rate_cards' ? 'kept' : 'removed' }))
  for (const { remove } of synced.toReversed()) await remove()
  return synced.flatMap(({ changes }) => changes)
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
