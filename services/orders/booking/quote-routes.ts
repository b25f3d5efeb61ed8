import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { validator } from '@courier/shared/edge/validator.ts'
import { errorResponses, invalid } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { TSchema } from '@sinclair/typebox'
import type { Catalogue, Catalogues } from '../catalogue/catalogue.ts'
import { Findings } from '../catalogue/findings.ts'
import { rateOf } from '../catalogue/place-schema.ts'
import { type FoundPrices, findPrices } from '../catalogue/price-parcels.ts'
import { charge } from '../catalogue/rate-card.ts'
import type { RateGaps } from '../rate-gaps/recorder.ts'
import { batchPaths } from './check-batch.ts'
import { Quotes, quoteBody, quoteReader } from './quote.ts'

interface QuotingOptions {
  catalogues: Catalogues
  maxOrdersPerBatch: number
  maxBodyBytes: number
  gaps: RateGaps
}

/** Quotes the charges of parcels, before there is a recipient. */
export const quoteRoutes: FastifyPluginAsyncTypebox<QuotingOptions> = async (
  app,
  { catalogues, maxOrdersPerBatch, maxBodyBytes, gaps },
) => {
  // quoteReader checks the body: it adds rules that a schema cannot express.
  app.setValidatorCompiler<TSchema>(context => (context.httpPart === 'body' ? () => true : validator(context)))
  acceptJson(app)
  const readQuote = quoteReader(maxOrdersPerBatch)
  app.post(
    '/order/quote',
    {
      bodyLimit: maxBodyBytes,
      schema: {
        tags: ['orders'],
        operationId: 'quoteOrders',
        summary: 'The charges of parcels',
        description:
          'By origin, destination and weight, the same as in a dry run, without recipients. Accepts a complete bulk body.',
        security: [{ token: [] }],
        body: quoteBody(maxOrdersPerBatch),
        response: { 200: Quotes, ...errorResponses(400, 401, 405, 413, 415, 422, 429, 503) },
      },
      serializerCompiler: () => JSON.stringify,
    },
    async request => {
      const { tenant, merchantId } = request.merchant
      const { parcels, weights, errors } = readQuote(request.body)
      const catalogue = await catalogues.fresh(tenant)
      const findings = new Findings(catalogue.cities, errors)
      const found = findPrices(parcels, catalogue, merchantId, findings, batchPaths)
      const { suggestions, missingRates } = findings.refusal()
      gaps.record(request.merchant, missingRates)
      if (errors.count > 0) throw invalid(errors.errors, { suggestions, more: errors.more })
      return { data: weights.map((weight, index) => quoteOf(found, index, weight, catalogue)) }
    },
  )
}

const quoteOf = ({ destinations, rates }: FoundPrices, index: number, weightKg: number, { currency }: Catalogue) => {
  const [city, rate] = [destinations[index], rates[index]]
  if (!city || !rate) throw new Error('a parcel without errors has no rate')
  return {
    destination_city_id: city.id,
    destination_city: city.name,
    destination_state: city.state.name,
    delivery_charge: charge(rate, weightKg) / 100,
    currency,
    rate: rateOf(rate, currency),
  }
}
