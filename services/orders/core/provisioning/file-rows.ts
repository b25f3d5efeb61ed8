import type { Selectable } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { type CompanyParts, toPartColumns } from './company-part.ts'
import type { Wanted } from './sync.ts'
import type { TenantFile } from './tenant-file.ts'

/** Writes an amount as the database holds it: with two decimals, or with more if it has more. */
export const toNumeric = (amount: number): string =>
  amount.toFixed(Math.max(2, String(amount).split('.')[1]?.length ?? 0))

export const toSettings = ({ tenant }: TenantFile, parts: CompanyParts): Wanted => ({
  table: 'tenants',
  rows: [
    {
      name: tenant.name,
      currency: tenant.currency,
      country: tenant.country,
      time_zone: tenant.time_zone,
      waybill_mode: tenant.waybills.mode,
      waybill_format: tenant.waybills.format,
      secondary_phone: tenant.secondary_phone ?? false,
      phone_check: tenant.checks?.phone ?? null,
      duplicate_check: tenant.checks?.duplicate ?? null,
      unusual_check: tenant.checks?.unusual ?? null,
      messaging: tenant.messaging ?? true,
      contact: tenant.contact ?? null,
      ...toPartColumns(parts, 'tenant', tenant),
    },
  ],
})

export const toCities = ({ states }: TenantFile): Wanted[] => {
  const cities = states.flatMap(state => state.cities.map(city => ({ ...city, state_id: state.id })))
  return [
    { table: 'states', rows: states.map(({ id, name }) => ({ state_id: id, name, is_active: true })) },
    {
      table: 'cities',
      rows: cities.map(({ id, state_id, name, postal_code = null }) => ({
        city_id: id,
        state_id,
        name,
        postal_code,
        is_active: true,
      })),
    },
    {
      table: 'city_aliases',
      rows: cities.flatMap(({ id, aliases = [] }) => aliases.map(alias => ({ city_id: id, alias }))),
    },
  ]
}

/** `zones` are the tenant's existing zones, of all cards: they keep their numbers. */
export const toRateCards = (
  { rate_cards }: TenantFile,
  parts: CompanyParts,
  zones: readonly Selectable<Tables['zones']>[],
): Wanted[] => {
  const numberZone = createZoneNumbers(zones)
  const among = { column: 'rate_card', values: rate_cards.map(({ name }) => name) }
  const named = rate_cards.flatMap(({ name, zones }) =>
    Object.entries(zones).map(([zone, members]) => ({ rate_card: name, zone, members })),
  )
  return [
    {
      table: 'rate_cards',
      rows: rate_cards.map(card => ({ rate_card: card.name, ...toPartColumns(parts, 'rateCard', card) })),
    },
    {
      table: 'zones',
      among,
      rows: named.map(({ rate_card, zone, members }) => ({
        rate_card,
        zone,
        is_elsewhere: members === '*',
        zone_id: numberZone(rate_card, zone),
      })),
    },
    {
      table: 'zone_cities',
      among,
      rows: named.flatMap(({ rate_card, zone, members }) =>
        members === '*' ? [] : members.map(city_id => ({ rate_card, city_id, zone })),
      ),
    },
    {
      table: 'rates',
      among,
      rows: rate_cards.flatMap(({ name, rates }) =>
        rates.map(rate => ({
          rate_card: name,
          from_zone: rate.from,
          to_zone: rate.to,
          first_kg: toNumeric(rate.first_kg),
          each_extra_kg: toNumeric(rate.each_extra_kg),
        })),
      ),
    },
  ]
}

/** Creates a function that returns the number of an existing zone, or the next number for a new one. */
const createZoneNumbers = (zones: readonly Selectable<Tables['zones']>[]) => {
  const toKey = (card: string, zone: string): string => JSON.stringify([card, zone])
  const numbers = new Map(zones.map(({ rate_card, zone, zone_id }) => [toKey(rate_card, zone), zone_id]))
  let last = Math.max(0, ...numbers.values())
  return (card: string, zone: string): number => numbers.get(toKey(card, zone)) || ++last
}
