import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { type City, CityIndex, type State } from './cities.ts'
import { RateCard } from './rate-card.ts'

export const findTenant = (tx: Tx, tenant: string) =>
  tx.selectFrom('tenants').selectAll().where('tenant_id', '=', tenant).executeTakeFirstOrThrow()

/** The version of the tenant's settings, cities, prices and businesses. */
export const findVersion = async (tx: Tx, tenant: string): Promise<string> =>
  (await tx.selectFrom('tenants').select('version').where('tenant_id', '=', tenant).executeTakeFirstOrThrow()).version

/** As `findVersion`, outside a transaction; undefined for an unknown tenant. */
export const readVersion = async (pool: pg.Pool, tenant: string): Promise<string | undefined> => {
  const text = 'select version from tenants where tenant_id = $1'
  return (await pool.query({ name: 'read_version', text, values: [tenant] })).rows[0]?.version
}

/** The active states and cities of a tenant, by id. */
export const findCities = async (tx: Tx, tenant: string): Promise<CityIndex> => {
  const [stateRows, cityRows, aliasRows] = await Promise.all([
    tx
      .selectFrom('states')
      .select(['state_id', 'name'])
      .where('tenant_id', '=', tenant)
      .where('is_active', '=', true)
      .orderBy('state_id')
      .execute(),
    tx
      .selectFrom('cities')
      .select(['city_id', 'state_id', 'name', 'postal_code'])
      .where('tenant_id', '=', tenant)
      .where('is_active', '=', true)
      .orderBy('city_id')
      .execute(),
    tx
      .selectFrom('city_aliases')
      .select(['city_id', 'alias'])
      .where('tenant_id', '=', tenant)
      .orderBy('alias')
      .execute(),
  ])
  const aliasesOf = Map.groupBy(aliasRows, row => row.city_id)
  const states = new Map<number, State>(stateRows.map(row => [row.state_id, { id: row.state_id, name: row.name }]))
  const cities = cityRows.flatMap((row): City[] => {
    const state = states.get(row.state_id)
    const aliases = aliasesOf.get(row.city_id)?.map(({ alias }) => alias)
    return state ? [{ id: row.city_id, name: row.name, postalCode: row.postal_code, state, aliases }] : []
  })
  return new CityIndex(states.values(), cities)
}

/** The rate cards of a tenant by name. */
export const findRateCards = async (tx: Tx, tenant: string): Promise<Map<string, RateCard>> => {
  const [cardRows, zoneRows, cityRows, rateRows] = await Promise.all([
    tx.selectFrom('rate_cards').select('rate_card').where('tenant_id', '=', tenant).execute(),
    tx.selectFrom('zones').selectAll().where('tenant_id', '=', tenant).execute(),
    tx.selectFrom('zone_cities').select(['rate_card', 'city_id', 'zone']).where('tenant_id', '=', tenant).execute(),
    tx.selectFrom('rates').selectAll().where('tenant_id', '=', tenant).execute(),
  ])
  const zones = Map.groupBy(zoneRows, row => row.rate_card)
  const cities = Map.groupBy(cityRows, row => row.rate_card)
  const rates = Map.groupBy(rateRows, row => row.rate_card)
  return new Map(
    cardRows.map(({ rate_card: name }) => {
      const ofCard = zones.get(name) ?? []
      const card = new RateCard({
        name,
        zones: ofCard.map(row => ({ id: row.zone_id, name: row.zone })),
        elsewhere: ofCard.find(row => row.is_elsewhere)?.zone,
        cities: (cities.get(name) ?? []).map(row => ({ cityId: row.city_id, zone: row.zone })),
        rates: (rates.get(name) ?? []).map(row => ({
          from: row.from_zone,
          to: row.to_zone,
          firstKg: hundredths(row.first_kg),
          eachExtraKg: hundredths(row.each_extra_kg),
        })),
      })
      return [name, card]
    }),
  )
}

/** numeric(12,2) as Postgres writes it, "450.00", in hundredths. */
const hundredths = (decimal: string): number => Math.round(Number(decimal) * 100)
