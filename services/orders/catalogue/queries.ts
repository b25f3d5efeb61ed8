import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { Selectable } from 'kysely'
import type pg from 'pg'
import type { Tables } from '../database/tables.ts'
import { type StoredStatus, statusesSql } from '../statuses/status-queries.ts'

/** Reads the version of a tenant's settings, cities, prices, businesses and statuses; undefined for an unknown tenant. */
export const readVersion = async (pool: pg.Pool, tenant: string): Promise<string | undefined> => {
  const text = 'select version from tenants where tenant_id = $1'
  return (await pool.query({ name: 'read_version', text, values: [tenant] })).rows[0]?.version
}

/** Includes deactivated rows: orders still refer to them. Lists are sorted by id, statuses as in the set. */
export interface CatalogueRow extends Selectable<Omit<Tables['tenants'], 'tenant_id' | 'messaging'>> {
  readonly states: readonly [id: number, name: string, isActive: boolean][]
  readonly cities: readonly [id: number, stateId: number, name: string, postalCode: string | null, isActive: boolean][]
  readonly aliases: readonly [cityId: number, alias: string][]
  readonly cards: readonly string[]
  readonly zones: readonly [card: string, id: number, zone: string, isElsewhere: boolean][]
  readonly zone_cities: readonly [card: string, cityId: number, zone: string][]
  readonly rates: readonly [card: string, from: string, to: string, firstKg: number, eachExtraKg: number][]
  readonly merchants: readonly [id: number, name: string, card: string | null][]
  readonly businesses: readonly [id: number, name: string, merchantId: number, isActive: boolean][]
  readonly statuses: readonly StoredStatus[]
}

/** Reads all of one version: one statement has one snapshot. */
export const readCatalogueRow = async (pool: pg.Pool, tenant: string): Promise<CatalogueRow> => {
  const query = { name: 'read_catalogue', text: catalogueSql, values: [tenant] }
  const [row] = await readInTenant<CatalogueRow>(pool, tenant, query)
  if (!row) throw new Error(`there is no tenant ${tenant}`)
  return row
}

const listSql = (table: string, columns: string, order = ''): string =>
  `(select coalesce(json_agg(json_build_array(${columns})${order && ` order by ${order}`}), '[]')
    from ${table} where tenant_id = $1)`

const catalogueSql = `
  select version, name, contact, color, currency, country, time_zone, link_key, waybill_mode, waybill_format,
    secondary_phone, phone_check, duplicate_check, unusual_check,
    ${listSql('states', 'state_id, name, is_active', 'state_id')} as states,
    ${listSql('cities', 'city_id, state_id, name, postal_code, is_active', 'city_id')} as cities,
    ${listSql('city_aliases', 'city_id, alias', 'alias')} as aliases,
    (select coalesce(json_agg(rate_card), '[]') from rate_cards where tenant_id = $1) as cards,
    ${listSql('zones', 'rate_card, zone_id, zone, is_elsewhere')} as zones,
    ${listSql('zone_cities', 'rate_card, city_id, zone')} as zone_cities,
    ${listSql('rates', 'rate_card, from_zone, to_zone, first_kg, each_extra_kg')} as rates,
    ${listSql('merchants', 'merchant_id, name, rate_card')} as merchants,
    ${listSql('businesses', 'business_id, name, merchant_id, is_active')} as businesses,
    (select coalesce(json_agg(status), '[]') from (${statusesSql}) status) as statuses
  from tenants where tenant_id = $1`
