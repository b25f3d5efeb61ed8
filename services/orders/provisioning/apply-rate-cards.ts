import type { Change } from '@courier/shared/cli/changes.ts'
import type { Selectable } from 'kysely'
import type { Tables, Tx } from '../database/tables.ts'
import { type Synced, sync } from './sync.ts'
import type { TenantFile } from './tenant-file.ts'

/** Zones are deleted after the cities and rates that refer to them. */
export const applyRateCards = async (tx: Tx, { tenant, rate_cards }: TenantFile): Promise<Change[]> => {
  const tenant_id = tenant.id
  const cards = rate_cards.map(card => card.name)
  const ofTenant = <Table extends 'zone_cities' | 'rates'>(table: Table) =>
    tx
      .selectFrom(table as 'rates')
      .selectAll()
      .where('tenant_id', '=', tenant_id)
      .where(({ eb }) => (cards.length > 0 ? eb('rate_card', 'in', cards) : eb.val(false)))
      .execute()
  const [currentCards, allZones, cities, rates] = await Promise.all([
    tx.selectFrom('rate_cards').selectAll().where('tenant_id', '=', tenant_id).execute(),
    tx.selectFrom('zones').selectAll().where('tenant_id', '=', tenant_id).execute(),
    ofTenant('zone_cities'),
    ofTenant('rates'),
  ])
  const zones = allZones.filter(zone => cards.includes(zone.rate_card))
  const wanted = rowsOf(tenant_id, rate_cards, createZoneNumbers(allZones))
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

/** The number that a zone has, or the next one. */
const createZoneNumbers = (zones: readonly Selectable<Tables['zones']>[]) => {
  const keyOf = (card: string, zone: string): string => JSON.stringify([card, zone])
  const numbers = new Map(zones.map(({ rate_card, zone, zone_id }) => [keyOf(rate_card, zone), zone_id]))
  let last = Math.max(0, ...numbers.values())
  return (card: string, zone: string): number => numbers.get(keyOf(card, zone)) || ++last
}

const rowsOf = (
  tenant_id: string,
  rateCards: TenantFile['rate_cards'],
  numberOf: ReturnType<typeof createZoneNumbers>,
) => ({
  cards: rateCards.map(({ name }) => ({ tenant_id, rate_card: name })),
  zones: rateCards.flatMap(({ name, zones }) =>
    Object.entries(zones).map(([zone, members]) => ({
      tenant_id,
      rate_card: name,
      zone,
      is_elsewhere: members === '*',
      zone_id: numberOf(name, zone),
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
