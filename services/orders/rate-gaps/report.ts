import { inTenant } from '@courier/shared/postgres/database.ts'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Tx } from '../database/tables.ts'
import { type FoundGap, findBooked, findMissing, findNamedMerchants, maxOrders } from './queries.ts'

const City = Type.Object({ id: Type.Integer(), name: Type.String(), state: Type.String() })
const maxMerchants = 5

export const RateGap = Type.Object(
  {
    origin: City,
    destination: City,
    asked_for: Type.Integer({ description: 'Parcels of refused batches, dry runs and quotes; each try counts.' }),
    orders: Type.Integer({
      description: `Orders booked when there was a rate, of the newest ${maxOrders} of the period.`,
    }),
    merchants: Type.Array(
      Type.Object({ id: Type.Integer(), name: Type.String(), rate_card: Type.Union([Type.String(), Type.Null()]) }),
      { description: `Those that want it most, at most ${maxMerchants}.` },
    ),
    more_merchants: Type.Integer({ description: 'How many others.' }),
    last_at: Type.String({ description: 'ISO 8601, UTC.' }),
  },
  { title: 'RateGap' },
)
export type RateGap = Static<typeof RateGap>

export const exampleGap: RateGap = {
  origin: { id: 1500, name: 'Kotte', state: 'Colombo' },
  destination: { id: 3000, name: 'Jaffna', state: 'Jaffna' },
  ...{ asked_for: 42, orders: 0, merchants: [{ id: 1, name: 'Lanka Shoes', rate_card: 'standard' }] },
  ...{ more_merchants: 0, last_at: '2026-02-19T19:06:23.000Z' },
}

/** The most lines that a report has. */
const maxGaps = 200

/** The combinations of active cities that merchants want and their cards lack now, most wanted first. */
export const reportGaps = (pool: pg.Pool, { tenant, rateCards, cities }: Catalogue, days: number): Promise<RateGap[]> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const [missing, booked] = await Promise.all([findMissing(tx, tenant, days), findBooked(tx, tenant, days)])
    const isActive = (id: number): boolean => cities.find({ cityId: String(id) }).kind === 'found'
    const lacks = ({ merchant, origin, destination }: FoundGap): boolean => {
      const card = rateCards.get(merchant)
      return card !== undefined && card.find(origin, destination) === undefined
    }
    const found = [...missing, ...booked].filter(gap => lacks(gap) && isActive(gap.origin) && isActive(gap.destination))
    const pairs = [...Map.groupBy(found, pairOf).values()]
    return describe(tx, { tenant, cities }, pairs.toSorted((a, b) => wantedBy(b) - wantedBy(a)).slice(0, maxGaps))
  })

const pairOf = ({ origin, destination }: FoundGap): string => `${origin} ${destination}`

const sumOf = (found: readonly FoundGap[], field: 'asked_for' | 'orders'): number =>
  found.reduce((sum, gap) => sum + gap[field], 0)

const wantedBy = (found: readonly FoundGap[]): number => sumOf(found, 'asked_for') + sumOf(found, 'orders')

const describe = async (
  tx: Tx,
  { tenant, cities }: Pick<Catalogue, 'tenant' | 'cities'>,
  wanted: readonly FoundGap[][],
): Promise<RateGap[]> => {
  const shown = wanted.map(found => {
    const byMerchant = Map.groupBy(found, ({ merchant }) => merchant)
    const ids = [...byMerchant].toSorted(([, a], [, b]) => wantedBy(b) - wantedBy(a)).map(([id]) => id)
    return { found, ids: ids.slice(0, maxMerchants), others: Math.max(0, ids.length - maxMerchants) }
  })
  const merchants = await findNamedMerchants(tx, tenant, [...new Set(shown.flatMap(({ ids }) => ids))])
  const cityOf = (id = 0) => {
    const found = cities.find({ cityId: String(id) })
    const [name, state] = found.kind === 'found' ? [found.city.name, found.city.state.name] : [String(id), '']
    return { id, name, state }
  }
  return shown.map(({ found, ids, others }) => ({
    origin: cityOf(found[0]?.origin),
    destination: cityOf(found[0]?.destination),
    asked_for: sumOf(found, 'asked_for'),
    orders: sumOf(found, 'orders'),
    merchants: ids.flatMap(id => merchants.get(id) ?? []),
    more_merchants: others,
    last_at: new Date(Math.max(...found.map(({ last_at }) => last_at.getTime()))).toISOString(),
  }))
}
