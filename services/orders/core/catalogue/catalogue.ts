import { batchReads } from '@courier/shared/postgres/request-batcher.ts'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { Counter, Gauge, Registry } from 'prom-client'
import { CityIndex } from '../places/cities.ts'
import type { City, State } from '../places/city.ts'
import type { StoredStatus } from '../statuses/status-queries.ts'
import { type CatalogueRow, readCatalogueRow, readVersion, type Settings } from './queries.ts'
import { RateCard } from './rate-card.ts'
import { WaybillFormat } from './waybill-format.ts'

/**
 * Holds one version of a tenant's settings, cities, prices, businesses and statuses: batches are checked against it,
 * and orders take their names from it.
 */
export interface Catalogue extends Settings {
  readonly tenant: string
  readonly waybills: { readonly mode: 'auto' | 'manual'; readonly format: WaybillFormat }
  /** Holds the active cities and states. */
  readonly cities: CityIndex
  /** Holds the card of each merchant that has one, by merchant id. */
  readonly rateCards: ReadonlyMap<string, RateCard>
  /** Holds the merchant of each active business, by business id. */
  readonly merchantOfBusiness: ReadonlyMap<string, string>
  /** Holds why orders of a merchant are refused, by merchant id. */
  readonly bookingRefusals: ReadonlyMap<string, string>
  readonly statuses: ReadonlyMap<string, StoredStatus>
  /** Holds the names by id, including those of deactivated rows: orders still refer to them. */
  readonly names: {
    readonly merchants: ReadonlyMap<number, string>
    readonly businesses: ReadonlyMap<number, string>
    readonly cities: ReadonlyMap<number, City>
  }
}

interface Sized {
  /** Estimates the bytes in memory. */
  readonly bytes: number
}

export type Catalogues = ReturnType<typeof createCatalogues>

/**
 * Keeps catalogues in memory; every function but `keep` rejects for an unknown tenant. Evicts the least recently used
 * catalogue when all together exceed `maxBytes`; a single one that exceeds it stays until another is used.
 */
export const createCatalogues = (pool: pg.Pool, maxBytes: number, registry = new Registry()) => {
  const help = 'Catalogues read from Postgres.'
  const loads = new Counter({ name: 'catalogue_loads_total', help, registers: [registry] })
  const cache = new LRUCache<string, Catalogue | Sized>({
    maxSize: maxBytes,
    sizeCalculation: cached => Math.min(maxBytes, 'bytes' in cached ? cached.bytes : estimateBytes(cached)),
    // A catalogue evicted during its load still resolves for the requests that wait for it.
    ignoreFetchAbort: true,
    fetchMethod: async tenant => {
      loads.inc()
      return toCatalogue(tenant, await readCatalogueRow(pool, tenant))
    },
  })
  const fetch = async (tenant: string, forceRefresh: boolean) =>
    (await cache.fetch(tenant, { forceRefresh })) as Catalogue
  /** Returns a catalogue that may be out of date: writers compare the version in their own transaction. */
  const current = (tenant: string) => fetch(tenant, false)
  const reload = (tenant: string) => fetch(tenant, true)
  /** Returns a catalogue no older than a version that was just read. */
  const since = async (tenant: string, version: string): Promise<Catalogue> => {
    let catalogue = await current(tenant)
    // A load that began before the change still has the old version; the next one does not.
    while (catalogue.version !== version && BigInt(catalogue.version) < BigInt(version))
      catalogue = await reload(tenant)
    return catalogue
  }
  /** Returns the catalogue of this version if it is in memory; otherwise starts to load it, for later requests. */
  const known = (tenant: string, version: string): Catalogue | undefined => {
    const catalogue = cache.get(tenant) as Catalogue | undefined
    if (catalogue?.version === version) return catalogue
    reload(tenant).catch(() => {})
    return undefined
  }
  const version = batchReads(async tenant => new Map([['version', await readVersion(pool, tenant)]]))
  const fresh = async (tenant: string): Promise<Catalogue> => {
    const read = (await version(tenant, 'version')) ?? '0'
    const catalogue = await since(tenant, read)
    // A restored backup has an earlier version.
    return catalogue.version === read ? catalogue : reload(tenant)
  }
  /** Returns the value kept under this name for the catalogue's version; makes and keeps one if there is none. */
  const keep = <Kept extends Sized>({ tenant, version }: Catalogue, name: string, make: () => Kept): Kept => {
    const key = `${tenant} ${version} ${name}`
    const known = cache.get(key) as Kept | undefined
    if (known) return known
    const made = make()
    cache.set(key, made)
    return made
  }
  new Gauge({
    name: 'catalogue_bytes',
    help: 'Catalogues in memory, estimated.',
    registers: [registry],
    collect() {
      this.set(cache.calculatedSize)
    },
  })
  /** Forgets all: a version that was lost may come again with other contents. */
  const forget = () => cache.clear()
  return { current, reload, since, known, fresh, keep, forget }
}

/**
 * Estimates the bytes in memory from measurements, with all indexes of the names, and rounds up. Long names are rare.
 */
export const estimateBytes = ({ cities, rateCards, merchantOfBusiness, names, statuses }: Catalogue): number => {
  const aliases = cities.cities.reduce((sum, { aliases = [] }) => sum + aliases.length, 0)
  const prices = [...new Set(rateCards.values())].reduce((sum, card) => sum + card.size, 0)
  const named = names.merchants.size + names.businesses.size + 4 * statuses.size
  const others = 200 * named + 100 * (rateCards.size + merchantOfBusiness.size)
  return 20_000 + 750 * names.cities.size + 450 * aliases + 40 * prices + others
}

const toCatalogue = (tenant: string, row: CatalogueRow): Catalogue => {
  const states = new Map(row.states.map(([id, name]): [number, State] => [id, { id, name }]))
  const aliasesByCity = Map.groupBy(row.aliases, ([cityId]) => cityId)
  const cities = new Map(
    row.cities.map(([id, stateId, name, postalCode]): [number, City] => {
      const aliases = aliasesByCity.get(id)?.map(([, alias]) => alias)
      return [id, { id, name, postalCode, state: states.get(stateId) as State, aliases }]
    }),
  )
  const activeStates = new Set(row.states.flatMap(([id, , isActive]) => (isActive ? id : [])))
  const isActive = ([, stateId, , , isActive]: CatalogueRow['cities'][number]) => isActive && activeStates.has(stateId)
  const cards = new Map(row.cards.map(card => [card.name, new RateCard(card)]))
  return {
    tenant,
    ...row.settings,
    waybills: { mode: row.waybill_mode, format: new WaybillFormat(row.waybill_format) },
    cities: new CityIndex(
      [...states.values()].filter(({ id }) => activeStates.has(id)),
      row.cities.filter(isActive).map(([id]) => cities.get(id) as City),
    ),
    rateCards: new Map(
      row.merchants.flatMap(([id, , card]): [string, RateCard][] => {
        const known = cards.get(card ?? '')
        return known ? [[String(id), known]] : []
      }),
    ),
    merchantOfBusiness: new Map(
      row.businesses.flatMap(([id, , merchantId, isActive]): [string, string][] =>
        isActive ? [[String(id), String(merchantId)]] : [],
      ),
    ),
    bookingRefusals: new Map(
      row.merchants.flatMap(([id, , , refusal]): [string, string][] => (refusal ? [[String(id), refusal]] : [])),
    ),
    statuses: new Map(row.statuses.map(status => [status.key, status])),
    names: {
      merchants: new Map(row.merchants.map(([id, name]) => [id, name])),
      businesses: new Map(row.businesses.map(([id, name]) => [id, name])),
      cities,
    },
  }
}
