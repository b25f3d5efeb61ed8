import { createBulkheads, refuseBusy } from '@courier/shared/edge/bulkheads.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { type FieldErrors, invalid } from '@courier/shared/errors/errors.ts'
import { isBlank, selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { City } from '../places/city.ts'
import {
  confidences,
  type ResolvedPlace,
  resolvePlace,
  SuggestionBudget,
  type WrittenPlace,
} from '../places/resolve-place.ts'
import type { Catalogue, Catalogues } from './catalogue.ts'
import { PlaceRate, viewRate } from './schema.ts'

const text = Type.String()
const optional = (maxLength: number, description: string) =>
  Type.Optional(orNull(Type.String({ maxLength }), { description }))

const maxPlaces = 1_000
/** Allows for an item in which every character is escaped. */
const maxPlaceBytes = 3_584

const Place = component('WrittenPlace', {
  text: optional(255, 'A name or an address as somebody wrote it. Give either this or city_name.'),
  city_name: optional(255, 'The name of a city. Give either this or text.'),
  state_name: optional(255, 'The name of the state.'),
  postal_code: optional(20, 'The postal code.'),
})

const ResolvePlaces = Type.Object(
  {
    places: Type.Array(Place, { minItems: 1, maxItems: maxPlaces }),
    origin_city_id: Type.Optional(
      Type.Union([Type.String({ maxLength: 64 }), Type.Number(), Type.Null()], {
        description: 'The city where the parcels start. `served` and `rate` describe the rate from there.',
      }),
    ),
  },
  {
    title: 'ResolvePlaces',
    examples: [{ places: [{ text: '12 Temple Road, Nugegodha' }, { city_name: 'Colombo' }], origin_city_id: 1500 }],
  },
)
type ResolvePlaces = Static<typeof ResolvePlaces>

const CityOfPlace = component('CityOfPlace', { id: Type.Integer(), name: text, state: text, postal_code: orNull(text) })

const ResolvedPlaces = component('ResolvedPlaces', {
  data: Type.Array(
    component('ResolvedPlace', {
      confidence: oneOf(confidences, {
        description: 'exact and alias: booking accepts the name as written (docs/merchants/places.md#confidence).',
      }),
      city: orNull(CityOfPlace, { description: 'null if the confidence is ambiguous or none.' }),
      alternatives: Type.Array(CityOfPlace, { description: 'Up to 20 other possible cities.' }),
      served: orNull(Type.Boolean(), {
        description: "True if the merchant's rate card has a rate from the origin; null without an origin or a city.",
      }),
      rate: orNull(PlaceRate),
    }),
    { description: 'One result for each place, in the order of the places.' },
  ),
})
type ResolvedPlaces = Static<typeof ResolvedPlaces>

type PlaceOptions = { catalogues: Catalogues; nextSlice: () => Promise<void> }

const maxWaiting = 10

/** Finds the cities that people mean by the names they write. */
export const placeRoutes: FastifyPluginAsyncTypebox<PlaceOptions> = async (app, { catalogues, nextSlice }) => {
  const bulkheads = createBulkheads({ caller: 1, process: 4 }, maxWaiting)
  acceptJson(app)
  const schema = {
    operationId: 'resolvePlaces',
    summary: 'Find the cities of up to 1,000 places as people write them',
    description:
      'Matches names, aliases, misspelt names, addresses, states and postal codes, with a confidence. Stores nothing.',
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
        return { data: resolved.map(place => viewPlace(place, origin, catalogue, merchantId)) }
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
    const readText = (value: string | null | undefined) => value?.trim() || undefined
    return {
      text: readText(text) ?? readText(city_name) ?? '',
      stateName: readText(state_name),
      postalCode: readText(postal_code),
    }
  })
  if (Object.keys(errors).length > 0) throw invalid(errors)
  return read
}

const findOrigin = ({ origin_city_id: id }: ResolvePlaces, { cities }: Catalogue): City | undefined => {
  if (isBlank(id)) return undefined
  const { city } = cities.find({ cityId: String(id).trim() })
  if (city) return city
  throw invalid({ origin_city_id: [selectedInvalid('origin_city_id')] })
}

/** Limits the steps that a request may spend on comparing misspelt names; beyond the limit such names are not found. */
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

const viewPlace = (
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
