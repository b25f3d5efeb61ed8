import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { findStatuses, type StoredStatus, statusesSql } from '../statuses/status-queries.ts'

/**
 * Reads the version of a tenant's settings, cities, prices, businesses and statuses; undefined for an unknown tenant.
 */
export const readVersion = async (pool: pg.Pool, tenant: string): Promise<string | undefined> => {
  return (await pool.query(selectVersion(tenant))).rows[0]?.version
}

const selectVersion = (tenant: string) => ({
  name: 'read_version',
  text: 'select version from tenants where tenant_id = $1',
  values: [tenant],
})

type Statuses = ReadonlyMap<string, StoredStatus>

/** Returns the statuses as the transaction sees them, from memory if the catalogue there has the same version. */
export const readStatuses = async (
  tx: Tx,
  catalogues: { known(tenant: string, version: string): { readonly statuses: Statuses } | undefined },
  tenant: string,
): Promise<Statuses> => {
  const [row] = await tx.rows<{ version: string }>(selectVersion(tenant))
  return catalogues.known(tenant, row?.version ?? '')?.statuses ?? findStatuses(tx, tenant)
}

export type Check = 'refuse' | 'warn' | 'off'

export interface Settings {
  readonly version: string
  /** Holds the tenant's name. */
  readonly company: string
  /** Holds the phone number where recipients reach the tenant. */
  readonly contact: string | null
  /** Holds a colour such as #0a5c8f. */
  readonly color: string | null
  readonly currency: string
  readonly country: string
  readonly timeZone: string
  /** Holds the keys of the links to parcels' pages, newest first: the first one signs, and all are valid. */
  readonly linkKeys: readonly string[]
  readonly secondaryPhone: boolean
  /** Sets how doubtful but valid input is treated; null is `warn`, but see `chooseCheck` for `duplicate`. */
  readonly checks: Readonly<Record<'phone' | 'duplicate' | 'unusual', Check | null>>
}

/**
 * Includes deactivated rows: orders still refer to them. States and cities are sorted by id, aliases by alias, statuses
 * as in the set of statuses.
 */
export interface CatalogueRow {
  readonly settings: Settings
  readonly waybill_mode: 'auto' | 'manual'
  readonly waybill_format: string
  readonly states: readonly [id: number, name: string, isActive: boolean][]
  readonly cities: readonly [id: number, stateId: number, name: string, postalCode: string | null, isActive: boolean][]
  readonly aliases: readonly [cityId: number, alias: string][]
  readonly cards: readonly CardRow[]
  readonly merchants: readonly [id: number, name: string, card: string | null, refusal: string | null][]
  readonly businesses: readonly [id: number, name: string, merchantId: number, isActive: boolean][]
  readonly statuses: readonly StoredStatus[]
}

export interface CardRow {
  readonly name: string
  readonly zones: readonly [id: number, zone: string, isElsewhere: boolean][]
  readonly cities: readonly [id: number, zone: string][]
  readonly rates: readonly [from: string, to: string, firstKg: number, eachExtraKg: number][]
}

/** Reads everything in one version: one statement has one snapshot. */
export const readCatalogueRow = async (pool: pg.Pool, tenant: string): Promise<CatalogueRow> => {
  const query = { name: 'read_catalogue', text: catalogueSql, values: [tenant] }
  const [row] = await readInTenant<CatalogueRow>(pool, tenant, query)
  if (!row) throw new Error(`there is no tenant ${tenant}`)
  return row
}

const listSql = (table: string, columns: string, order = '', condition = 'true'): string =>
  `(select coalesce(json_agg(json_build_array(${columns})${order && ` order by ${order}`}), '[]')
    from ${table} where tenant_id = $1 and ${condition})`

const listForCardSql = (table: string, columns: string): string =>
  listSql(table, columns, '', `${table}.rate_card = rate_cards.rate_card`)

const cardsSql = `
  select rate_card as name, ${listForCardSql('zones', 'zone_id, zone, is_elsewhere')} as zones,
    ${listForCardSql('zone_cities', 'city_id, zone')} as cities,
    ${listForCardSql('rates', 'from_zone, to_zone, first_kg, each_extra_kg')} as rates
  from rate_cards where tenant_id = $1`

/** Selects the keys, or the one in `tenants` for a tenant that a process of 0.2.0 added. */
const linkKeysSql = `coalesce(
        (select json_agg(secret order by key_no desc) from tracking_keys where tenant_id = $1 and revoked_at is null),
        json_build_array(link_key))`

const catalogueSql = `
  select json_build_object('version', version::text, 'company', name, 'contact', contact, 'color', color,
      'currency', currency, 'country', country, 'timeZone', time_zone, 'linkKeys', ${linkKeysSql},
      'secondaryPhone', secondary_phone,
      'checks', json_build_object('phone', phone_check, 'duplicate', duplicate_check, 'unusual', unusual_check)
    ) as settings, waybill_mode, waybill_format,
    ${listSql('states', 'state_id, name, is_active', 'state_id')} as states,
    ${listSql('cities', 'city_id, state_id, name, postal_code, is_active', 'city_id')} as cities,
    ${listSql('city_aliases', 'city_id, alias', 'alias')} as aliases,
    (select coalesce(json_agg(card), '[]') from (${cardsSql}) card) as cards,
    ${listSql('merchants', 'merchant_id, name, rate_card, booking_refusal')} as merchants,
    ${listSql('businesses', 'business_id, name, merchant_id, is_active')} as businesses,
    (select coalesce(json_agg(status), '[]') from (${statusesSql}) status) as statuses
  from tenants where tenant_id = $1`
