import type { Selectable } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { Wanted } from './sync.ts'
import type { TenantFile } from './tenant-file.ts'

export const toSettings = ({ tenant }: TenantFile): Wanted => ({
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
      color: tenant.color ?? null,
      contact: tenant.contact ?? null,
      tax_percent: (tenant.tax_percent ?? 0).toFixed(2),
      withholding_percent: (tenant.withholding_percent ?? 0).toFixed(2),
      ...toMoney(tenant.money ?? {}),
      ...toFailedDeliveries(tenant.failed_deliveries ?? {}),
    },
  ],
})

export const toMoney = (money: NonNullable<TenantFile['tenant']['money']>) => ({
  payable_when: money.payable_when ?? 'handed_over',
  payable_after_days: money.payable_after_days ?? 0,
  four_eyes: money.four_eyes ?? false,
  accept_after_days: money.accept_after_days ?? 3,
  invoice_mask: money.invoice_mask ?? 'CFX-YY-MM-#####',
  invoice_ref_mask: money.invoice_ref_mask ?? 'MI-####',
  cash_ceiling: money.cash_ceiling?.toFixed(2) ?? null,
})

const toFailedDeliveries = (settings: NonNullable<TenantFile['tenant']['failed_deliveries']>) => ({
  failure_reasons: settings.reasons ? JSON.stringify(settings.reasons) : null,
  instruction_hours: settings.instruction_hours ?? 48,
  instruction_default: settings.instruction_default ?? 'reattempt',
  recipient_history: settings.recipient_history ?? false,
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
export const toRateCards = ({ rate_cards }: TenantFile, zones: readonly Selectable<Tables['zones']>[]): Wanted[] => {
  const numberZone = createZoneNumbers(zones)
  const among = { column: 'rate_card', values: rate_cards.map(({ name }) => name) }
  const named = rate_cards.flatMap(({ name, zones }) =>
    Object.entries(zones).map(([zone, members]) => ({ rate_card: name, zone, members })),
  )
  return [
    { table: 'rate_cards', rows: rate_cards.map(toCard) },
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
          first_kg: rate.first_kg.toFixed(2),
          each_extra_kg: rate.each_extra_kg.toFixed(2),
        })),
      ),
    },
  ]
}

const toCard = ({ name, ...fees }: TenantFile['rate_cards'][number]) => ({
  rate_card: name,
  cod_fee_percent: (fees.cod_fee_percent ?? 0).toFixed(2),
  cod_fee_min: (fees.cod_fee_min ?? 0).toFixed(2),
  return_fee: (fees.return_fee ?? 0).toFixed(2),
  each_return_kg: (fees.each_return_kg ?? 0).toFixed(2),
})

/** Creates a function that returns the number of an existing zone, or the next number for a new one. */
const createZoneNumbers = (zones: readonly Selectable<Tables['zones']>[]) => {
  const toKey = (card: string, zone: string): string => JSON.stringify([card, zone])
  const numbers = new Map(zones.map(({ rate_card, zone, zone_id }) => [toKey(rate_card, zone), zone_id]))
  let last = Math.max(0, ...numbers.values())
  return (card: string, zone: string): number => numbers.get(toKey(card, zone)) || ++last
}
