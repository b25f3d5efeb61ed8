import { readInTenant } from '@courier/shared/postgres/database.ts'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'

export interface StatusLabel {
  key: string
  name: string
  color: string
}

/** The names of one version of a tenant's catalogue, with what is deactivated: orders refer to it still. */
export interface Names {
  readonly version: string
  readonly company: string
  readonly contact: string | null
  readonly currency: string
  readonly merchants: ReadonlyMap<number, string>
  readonly businesses: ReadonlyMap<number, string>
  readonly cities: ReadonlyMap<number, { readonly name: string; readonly state: string }>
  readonly statuses: ReadonlyMap<string, StatusLabel>
}

/** The tenant's names, no older than a version that was just read. */
export type NamesOf = (tenant: string, version: string) => Promise<Names>

/** Names in memory. Those least recently used leave when all exceed `maxBytes`; one that does so alone stays until another is used. */
export const createNames = (pool: pg.Pool, maxBytes: number): NamesOf => {
  const cache = new LRUCache<string, Names>({
    maxSize: maxBytes,
    sizeCalculation: names => Math.min(maxBytes, estimateBytes(names)),
  })
  const loading = new Map<string, Promise<Names>>()
  const load = async (tenant: string): Promise<Names> => {
    const names = await readNames(pool, tenant)
    cache.set(tenant, names)
    return names
  }
  const reload = (tenant: string): Promise<Names> => {
    const started = loading.get(tenant) ?? load(tenant).finally(() => loading.delete(tenant))
    loading.set(tenant, started)
    return started
  }
  return async (tenant, version) => {
    const cached = cache.get(tenant)
    if (cached?.version === version) return cached
    const names = await reload(tenant)
    // A load that began before the change still has the old version; the next one does not.
    return BigInt(names.version) < BigInt(version) ? reload(tenant) : names
  }
}

/** In memory, rounded up: long names are rare. */
const estimateBytes = ({ merchants, businesses, cities, statuses }: Names): number =>
  2_000 + 250 * (merchants.size + businesses.size + cities.size + statuses.size)

interface NamesRow {
  version: string
  company: string
  contact: string | null
  currency: string
  merchants: [number, string][]
  businesses: [number, string][]
  cities: [number, { name: string; state: string }][]
  statuses: [string, StatusLabel][]
}

/** One statement: all of one version. */
const readNames = async (pool: pg.Pool, tenant: string): Promise<Names> => {
  const [row] = await readInTenant<NamesRow>(pool, tenant, { name: 'read_names', text: statement, values: [tenant] })
  if (!row) throw new Error(`there is no tenant ${tenant}`)
  return {
    ...row,
    merchants: new Map(row.merchants),
    businesses: new Map(row.businesses),
    cities: new Map(row.cities),
    statuses: new Map(row.statuses),
  }
}

const pairs = (key: string, value: string, rows: string): string =>
  `(select coalesce(json_agg(json_build_array(${key}, ${value})), '[]') from ${rows} where one.tenant_id = $1)`

const statement = `
  select version, name as company, contact, currency,
    ${pairs('merchant_id', 'name', 'merchants one')} as merchants,
    ${pairs('business_id', 'name', 'businesses one')} as businesses,
    ${pairs('city_id', `json_build_object('name', one.name, 'state', state.name)`, 'cities one join states state using (tenant_id, state_id)')} as cities,
    ${pairs('status_key', `json_build_object('key', status_key, 'name', name, 'color', color)`, 'statuses one')} as statuses
  from tenants where tenant_id = $1`
