import { createBulkheads, refuseBusy } from '@courier/shared/edge/bulkheads.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { type FieldErrors, invalid } from '@courier/shared/errors/errors.ts'
import { isBlank, selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Catalogue, Catalogues } from './catalogue.ts'
import type { City } from './cities.ts'
import { SuggestionBudget } from './place-index.ts'
import { maxPlaceBytes, maxPlaces, ResolvedPlaces, ResolvePlaces, viewRate } from './place-schema.ts'
import { type ResolvedPlace, resolvePlace, type WrittenPlace } from './resolve-place.ts'

interface PlaceOptions {
  catalogues: Catalogues
  nextSlice: () => Promise<void>
}

const maxWaiting = 10

/** Finds the cities that people mean by the names they write. */
export const placeRoutes: FastifyPluginAsyncTypebox<PlaceOptions> = async (app, { catalogues, nextSlice }) => {
  const bulkheads = createBulkheads({ caller: 1, process: 4 }, maxWaiting)
  acceptJson(app)
  const schema = {
    operationId: 'resolvePlaces',
    summary: 'Find the cities of up to 1,000 places as people write them',
    description:
      'Matches name, alias, spelling, address, state or postal code, each with a confidence. Stores nothing.',
    body: ResolvePlaces,
    response: { 200: ResolvedPlaces },
  }
  app.post(
    '/city/resolve',
    { bodyLimit: maxPlaces * maxPlaceBytes, serializerCompiler: () => JSON.stringify, schema },
    async request => {
      const places = readPlaces(request.body)
      const { tenant, merchantId } = request.merchant
      const resolve = async () => {
        const catalogue = await catalogues.fresh(tenant)
        const origin = findOrigin(request.body, catalogue)
        const resolved = await resolveAll(places, catalogue, nextSlice)
        return { data: resolved.map(place => shown(place, origin, catalogue, merchantId)) }
      }
      return bulkheads({ caller: `${tenant} ${merchantId}`, process: '' }, resolve).catch(refuseBusy(busy))
    },
  )
}

const busy = 'Too many requests to find cities are waiting. Repeat the request.'

const readPlaces = ({ places }: ResolvePlaces): WrittenPlace[] => {
  const errors: FieldErrors = {}
  const read = places.map(({ text, city_name, state_name, postal_code }, index) => {
    const isOne = isBlank(text) !== isBlank(city_name) || (isBlank(text) && !isBlank(postal_code))
    if (!isOne) errors[`places.${index}.text`] = ['Give either text or city_name.']
    const filled = (value: string | null | undefined) => value?.trim() || undefined
    return {
      text: filled(text) ?? filled(city_name) ?? '',
      stateName: filled(state_name),
      postalCode: filled(postal_code),
    }
  })
  if (Object.keys(errors).length > 0) throw invalid(errors)
  return read
}

const findOrigin = ({ origin_city_id: id }: ResolvePlaces, { cities }: Catalogue): City | undefined => {
  if (isBlank(id)) return undefined
  const found = cities.find({ cityId: String(id).trim() })
  if (found.kind === 'found') return found.city
  throw invalid({ origin_city_id: [selectedInvalid('origin_city_id')] })
}

/** The steps that a request may spend on comparing misspelt names; beyond them such names are not found. */
const maxSteps = 50_000_000
const sliceMs = 3

const resolveAll = async (
  places: readonly WrittenPlace[],
  { cities }: Catalogue,
  nextSlice: () => Promise<void>,
): Promise<ResolvedPlace[]> => {
  const budget = new SuggestionBudget(maxSteps)
  const resolved: ResolvedPlace[] = []
  let sliceEnd = 0
  for (const place of places) {
    if (performance.now() > sliceEnd) {
      await nextSlice()
      sliceEnd = performance.now() + sliceMs
    }
    resolved.push(resolvePlace(place, cities, budget))
  }
  return resolved
}

const shown = (
  { confidence, city, alternatives }: ResolvedPlace,
  origin: City | undefined,
  { currency, rateCards }: Catalogue,
  merchantId: string,
): ResolvedPlaces['data'][number] => {
  const rate = origin && city && rateCards.get(merchantId)?.find(origin.id, city.id)
  return {
    confidence,
    city: city ? viewCity(city) : null,
    alternatives: alternatives.map(viewCity),
    served: origin && city ? rate !== undefined : null,
    rate: rate ? viewRate(rate, currency) : null,
  }
}

const viewCity = ({ id, name, state, postalCode }: City) => ({ id, name, state: state.name, postal_code: postalCode })
