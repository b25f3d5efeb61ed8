import { inTenant } from '@courier/shared/database.ts'
import { shareReads } from '@courier/shared/share-reads.ts'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { findBusinesses, findMerchants } from '../access/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { Places } from '../directory/places.ts'
import { findPlaces, findTenant, findVersion, readVersion } from '../directory/queries.ts'
import { findRateCards } from '../pricing/queries.ts'
import type { RateCard } from '../pricing/rate-card.ts'
import { WaybillFormat } from './waybill-format.ts'

/** What a batch is checked against: one version of a tenant's settings, places, prices and businesses. */
export interface Catalogue {
  readonly tenant: string
  readonly version: string
  readonly currency: string
  readonly waybills: { readonly mode: 'auto' | 'manual'; readonly format: WaybillFormat }
  readonly secondaryPhone: boolean
  readonly places: Places
  /** The card of each merchant that has one, by merchant id. */
  readonly rateCards: ReadonlyMap<string, RateCard>
  /** The merchant of each active business, by business id. */
  readonly merchantOfBusiness: ReadonlyMap<string, string>
}

/** Catalogues in memory. What they say may be old: whoever writes compares the version in its own transaction. */
export interface Catalogues {
  current(tenant: string): Promise<Catalogue>
  reload(tenant: string): Promise<Catalogue>
  /** As the database has it now, for who only reads. */
  fresh(tenant: string): Promise<Catalogue>
}

export const createCatalogues = (pool: pg.Pool): Catalogues => {
  const cache = new LRUCache<string, Catalogue>({ max: 500, fetchMethod: tenant => loadCatalogue(pool, tenant) })
  const current = (tenant: string) => cache.forceFetch(tenant)
  const reload = (tenant: string) => cache.forceFetch(tenant, { forceRefresh: true })
  const version = shareReads(async tenant => new Map([['version', await readVersion(pool, tenant)]]))
  const fresh = async (tenant: string): Promise<Catalogue> => {
    const [newest = '', remembered] = await Promise.all([version(tenant, 'version'), current(tenant)])
    let catalogue = remembered
    // A load that another call began before the change ends with the old version: the next one does not.
    while (BigInt(catalogue.version) < BigInt(newest)) catalogue = await reload(tenant)
    return catalogue
  }
  return { current, reload, fresh }
}

const loadCatalogue = async (pool: pg.Pool, tenant: string): Promise<Catalogue> => {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const catalogue = await inTenant(pool, tenant, (tx: Tx) => readCatalogue(tx, tenant))
    if (catalogue) return catalogue
  }
  throw new Error('the tenant changes faster than it can be read')
}

/** undefined when an operator changed the tenant meanwhile: statements of one transaction see different moments. */
const readCatalogue = async (tx: Tx, tenant: string): Promise<Catalogue | undefined> => {
  const settings = await findTenant(tx, tenant)
  const [places, cards, merchants, businesses] = await Promise.all([
    findPlaces(tx, tenant),
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
    waybills: { mode: settings.waybill_mode, format: new WaybillFormat(settings.waybill_format) },
    secondaryPhone: settings.secondary_phone,
    places,
    rateCards,
    merchantOfBusiness: new Map(businesses.map(row => [String(row.business_id), row.merchant_id])),
  }
}
