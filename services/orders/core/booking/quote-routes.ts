import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { Merchant } from '../access/merchant.ts'
import type { Catalogues } from '../catalogue/catalogue.ts'
import type { MissingRate } from '../catalogue/price-parcels.ts'
import { findPrices } from '../catalogue/price-parcels.ts'
import { charge, type Rate, toAmount } from '../catalogue/rate-card.ts'
import { PlaceRate, viewRate } from '../catalogue/schema.ts'
import type { City } from '../places/city.ts'
import { createPartsReader, referToCity } from './read-batch.ts'
import { GeneralData, OrderData } from './schema.ts'

const Origin = Type.Pick(GeneralData, ['origin_city_id', 'origin_city_name', 'origin_state_name'], {
  title: 'QuoteOrigin',
})
const Parcel = Type.Pick(
  OrderData,
  ['destination_city_id', 'destination_city_name', 'destination_state_name', 'weight'],
  { title: 'QuoteParcel' },
)

/** Describes the places and weights of a bulk body; its other fields are ignored. */
const describeBody = (maxOrders: number) =>
  Type.Object(
    { general_data: Origin, order_data: Type.Array(Parcel, { minItems: 1, maxItems: maxOrders }) },
    {
      title: 'Quote',
      examples: [
        { general_data: { origin_city_id: '1500' }, order_data: [{ destination_city_id: '2100', weight: 1.2 }] },
      ],
    },
  )

const Quotes = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        destination_city_id: Type.Integer(),
        destination_city: Type.String(),
        destination_state: Type.String(),
        delivery_charge: Type.Number({ description: "The charge in the company's currency." }),
        currency: Type.String(),
        rate: PlaceRate,
      }),
      { description: 'One quote for each parcel, in the order of order_data.' },
    ),
  },
  { title: 'Quotes' },
)

interface QuotingOptions {
  readonly catalogues: Catalogues
  readonly maxOrdersPerBatch: number
  readonly maxBodyBytes: number
  /** Receives the combinations of cities that the merchant's card lacks. */
  readonly onRefused: (merchant: Merchant, missing: readonly MissingRate[]) => void
}

/** Quotes the charges of parcels whose recipients are not known yet. */
export const quoteRoutes: FastifyPluginAsyncTypebox<QuotingOptions> = async (
  app,
  { catalogues, maxOrdersPerBatch, maxBodyBytes: bodyLimit, onRefused },
) => {
  acceptJson(app)
  // `readParts` checks the body.
  app.setValidatorCompiler(() => () => true)
  const body = describeBody(maxOrdersPerBatch)
  const readParts = createPartsReader(body, Origin, Parcel, maxOrdersPerBatch)
  const schema = {
    operationId: 'quoteOrders',
    summary: 'Quote the charges of parcels',
    description: 'Prices by origin, destination and weight alone, as a dry run does. Accepts a complete bulk body.',
    body,
    response: { 200: Quotes },
  }
  app.post('/order/quote', { bodyLimit, schema, serializerCompiler: () => JSON.stringify }, async request => {
    const { tenant, merchantId } = request.merchant
    const { general, orders, errors } = readParts(request.body, false)
    const parcels = {
      origin: general && referToCity(general.origin_city_id, general.origin_city_name, general.origin_state_name),
      destinations: orders.map(
        order =>
          order && referToCity(order.destination_city_id, order.destination_city_name, order.destination_state_name),
      ),
    }
    const catalogue = await catalogues.fresh(tenant)
    const { destinations, rates, refusal } = findPrices(parcels, catalogue, merchantId, errors)
    onRefused(request.merchant, refusal.missingRates)
    if (errors.count > 0) throw invalid(errors, { suggestions: refusal.suggestions })
    const quote = (order: { weight: unknown } | undefined, index: number) =>
      writeQuote(destinations[index] as City, rates[index] as Rate, Number(order?.weight), catalogue.currency)
    return { data: orders.map(quote) }
  })
}

const writeQuote = (city: City, rate: Rate, weightKg: number, currency: string) => ({
  destination_city_id: city.id,
  destination_city: city.name,
  destination_state: city.state.name,
  delivery_charge: toAmount(charge(rate, weightKg)),
  currency,
  rate: viewRate(rate, currency),
})
