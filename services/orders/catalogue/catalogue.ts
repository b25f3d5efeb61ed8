import { httpError } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { batchReads } from '@courier/shared/postgres/request-batcher.ts'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { findBusinesses, findMerchants } from '../access/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { CityIndex } from './cities.ts'
import { findCities, findRateCards, findTenant, findVersion, readVersion } from './queries.ts'
import type { RateCard } from './rate-card.ts'
import { WaybillFormat } from './waybill-format.ts'

export type Check = 'refuse' | 'warn' | 'off'

/** What a batch is checked against: one version of a tenant's settings, cities, prices and businesses. */
export interface Catalogue {
  readonly tenant: string
  readonly version: string
  readonly currency: string
  readonly country: string
  readonly waybills: { readonly mode: 'auto' | 'manual'; readonly format: WaybillFormat }
  readonly secondaryPhone: boolean
  /** What becomes of what looks wrong but is legal; null is `warn`. */
  readonly checks: Readonly<Record<'phone' | 'duplicate' | 'unusual', Check | null>>
  readonly cities: CityIndex
  /** The card of each merchant that has one, by merchant id. */
  readonly rateCards: ReadonlyMap<string, RateCard>
  /** The merchant of each active business, by business id. */
  readonly merchantOfBusiness: ReadonlyMap<string, string>
}

/**
 * Catalogues in memory. They may be out of date: writers compare the version in their own transaction. undefined: the
 * tenant changes faster than it can be read.
 */
export interface Catalogues {
  current(tenant: string): Promise<Catalogue | undefined>
  reload(tenant: string): Promise<Catalogue | undefined>
  /** As the database has it now, for reads outside a transaction. */
  fresh(tenant: string): Promise<Catalogue | undefined>
  /** In memory, estimated. */
  bytes(): number
}

/**
 * Those least recently used leave when all exceed `maxBytes`; one that does so alone stays until another is used. `onLoad` is
 * called for each that is read.
 */
export const createCatalogues = (pool: pg.Pool, maxBytes: number, onLoad = () => {}): Catalogues => {
  const cache = new LRUCache<string, Catalogue>({
    maxSize: maxBytes,
    sizeCalculation: catalogue => Math.min(maxBytes, estimateBytes(catalogue)),
  })
  const loading = new Map<string, Promise<Catalogue | undefined>>()
  const load = async (tenant: string): Promise<Catalogue | undefined> => {
    onLoad()
    const catalogue = await loadCatalogue(pool, tenant)
    if (catalogue) cache.set(tenant, catalogue)
    return catalogue
  }
  const reload = (tenant: string): Promise<Catalogue | undefined> => {
    const started = loading.get(tenant) ?? load(tenant).finally(() => loading.delete(tenant))
    loading.set(tenant, started)
    return started
  }
  const current = async (tenant: string) => loading.get(tenant) ?? cache.get(tenant) ?? reload(tenant)
  const version = batchReads(async tenant => new Map([['version', await readVersion(pool, tenant)]]))
  const fresh = async (tenant: string): Promise<Catalogue | undefined> => {
    const [newest = '', cached] = await Promise.all([version(tenant, 'version'), current(tenant)])
    let catalogue = cached
    // A load that began before the change still has the old version; the next one does not.
    while (catalogue && BigInt(catalogue.version) < BigInt(newest)) catalogue = await reload(tenant)
    return catalogue
  }
  return { current, reload, fresh, bytes: () => cache.calculatedSize }
}

/** Throws when the tenant changes faster than it can be read. */
export const freshCatalogue = async (catalogues: Catalogues, tenant: string): Promise<Catalogue> => {
  const catalogue = await catalogues.fresh(tenant)
  if (catalogue) return catalogue
  throw httpError(
    'unavailable',
    'The lists kept changing while they were read. Nothing was changed; repeat the request.',
    {
      retryAfterSeconds: 1,
    },
  )
}

/** In memory, as measured, rounded up. Merchants share cards. */
export const estimateBytes = ({ cities, rateCards, merchantOfBusiness }: Catalogue): number => {
  const cards = [...new Set(rateCards.values())].reduce((bytes, card) => bytes + card.estimatedBytes, 0)
  return 8_000 + cards + cities.estimatedBytes + 100 * (rateCards.size + merchantOfBusiness.size)
}

const maxAttempts = 5

const loadCatalogue = async (pool: pg.Pool, tenant: string): Promise<Catalogue | undefined> => {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const catalogue = await inTenant(pool, tenant, (tx: Tx) => readCatalogue(tx, tenant))
    if (catalogue) return catalogue
  }
  return undefined
}

/** undefined when an operator changed the tenant meanwhile: each statement of a transaction has a snapshot of its own. */
const readCatalogue = async (tx: Tx, tenant: string): Promise<Catalogue | undefined> => {
  const settings = await findTenant(tx, tenant)
  const [cities, cards, merchants, businesses] = await Promise.all([
    findCities(tx, tenant),
    findRateCards(tx, tenant),
    findMerchants(tx, tenant),
    findBusinesses(tx, tenant),
  ])
  if ((await findVersion(tx, tenant)) !== settings.version) return undefined
  const rateCards = new Map<string, RateCard>()
  for (const { merchant_id, rate_card } of merchants) {
    const card = rate_card === null ? undefined : cards.get(rate_card)
    if (card) rateCards.set(merchant_id, card)
  }
  return {
    tenant,
    version: settings.version,
    currency: settings.currency,
    country: settings.country,
    waybills: { mode: settings.waybill_mode, format: new WaybillFormat(settings.waybill_format) },
    secondaryPhone: settings.secondary_phone,
    checks: { phone: settings.phone_check, duplicate: settings.duplicate_check, unusual: settings.unusual_check },
    cities,
    rateCards,
    merchantOfBusiness: new Map(businesses.map(row => [String(row.business_id), row.merchant_id])),
  }
}
