import { pageLimit, wholeNumber } from '@courier/shared/lists/cursor.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { component, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Catalogue, Catalogues } from '../../core/catalogue/catalogue.ts'
import type { Tx } from '../../core/database/tables.ts'
import { findWanted, keptDays, maxOrders, type Wanted } from './queries.ts'
import type { RateGaps } from './recorder.ts'

const City = Type.Object({ id: Type.Integer(), name: Type.String(), state: Type.String() })
const maxMerchants = 5

const RateGap = component('RateGap', {
  origin: City,
  destination: City,
  asked_for: Type.Integer({ description: 'Parcels of refused batches, dry runs and quotes; each try counts.' }),
  orders: Type.Integer({
    description: `Orders booked when there was a rate, of the newest ${maxOrders} of the period.`,
  }),
  merchants: Type.Array(Type.Object({ id: Type.Integer(), name: Type.String(), rate_card: orNull(Type.String()) }), {
    description: `The merchants that want the combination most, at most ${maxMerchants}.`,
  }),
  more_merchants: Type.Integer({ description: 'The number of other merchants.' }),
  last_at: Type.String({ description: 'ISO 8601, UTC.' }),
})
type RateGap = Static<typeof RateGap>

type RateGapOptions = { readonly pool: pg.Pool; readonly catalogues: Catalogues; readonly gaps: RateGaps }

const Query = Type.Object({
  limit: pageLimit,
  days: wholeNumber(1, keptDays, 'The number of days, including today. Default: 30.'),
})

/** A report reads many orders, so requests within this time share it. */
const keptMilliseconds = 5_000

export const rateGapRoutes: FastifyPluginAsyncTypebox<RateGapOptions> = async (app, { pool, catalogues, gaps }) => {
  const reports = new LRUCache<string, RateGap[], { tenant: string; days: number }>({
    max: 100,
    ttl: keptMilliseconds,
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { context: { tenant, days } }) => {
      await gaps.flush()
      return reportGaps(pool, await catalogues.fresh(tenant), days)
    },
  })
  const schema = {
    operationId: 'listRateGaps',
    summary: 'Combinations of cities that rate cards lack, most wanted first',
    description: 'Lists combinations that merchants requested or have orders of, and whose rate their card lacks now.',
    querystring: Query,
    response: {
      200: component('RateGaps', { data: Type.Array(RateGap) }),
    },
  }
  app.get('/rate-gaps', { schema }, async ({ staff: { tenant }, query: { days = '30', limit = '50' } }) => {
    const report = await reports.forceFetch(`${tenant} ${days}`, { context: { tenant, days: Number(days) } })
    return { data: report.slice(0, Number(limit)) }
  })
}

const maxGaps = 200

/** Lists the combinations of active cities that merchants want and their cards lack now, most wanted first. */
const reportGaps = async (pool: pg.Pool, catalogue: Catalogue, days: number): Promise<RateGap[]> => {
  const { tenant, rateCards } = catalogue
  const wanted = await inTenant(pool, tenant, (tx: Tx) => findWanted(tx, tenant, days))
  const lacking = wanted.filter(({ merchant_id, origin, destination }) => {
    const card = rateCards.get(merchant_id)
    return card && !card.find(origin, destination) && findCity(catalogue, origin) && findCity(catalogue, destination)
  })
  const byCities = Map.groupBy(lacking, ({ origin, destination }) => `${origin} ${destination}`)
  return takeMostWanted(
    [...byCities.values()].map(group => describe(group, catalogue)),
    maxGaps,
  )
}

const takeMostWanted = <Counted extends Pick<Wanted, 'asked_for' | 'orders'>>(counted: Counted[], count: number) =>
  counted.toSorted((a, b) => b.asked_for + b.orders - a.asked_for - a.orders).slice(0, count)

const findCity = ({ cities }: Catalogue, id: number): Static<typeof City> | undefined => {
  const { city } = cities.find({ cityId: String(id) })
  return city && { id, name: city.name, state: city.state.name }
}

/** Sums what the merchants want between the same two cities. */
const describe = (wanted: Wanted[], catalogue: Catalogue): RateGap => {
  const { origin = 0, destination = 0 } = wanted[0] ?? {}
  const merchants = takeMostWanted(wanted, maxMerchants)
  return {
    origin: findCity(catalogue, origin) as Static<typeof City>,
    destination: findCity(catalogue, destination) as Static<typeof City>,
    asked_for: wanted.reduce((sum, { asked_for }) => sum + asked_for, 0),
    orders: wanted.reduce((sum, { orders }) => sum + orders, 0),
    merchants: merchants.map(({ merchant_id, name, rate_card }) => ({ id: Number(merchant_id), name, rate_card })),
    more_merchants: wanted.length - merchants.length,
    last_at: new Date(Math.max(...wanted.map(({ last_at }) => last_at.getTime()))).toISOString(),
  }
}
