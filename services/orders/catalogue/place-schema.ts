import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Rate } from './rate-card.ts'
import { confidences } from './resolve-place.ts'

const text = Type.String()
const optional = (maxLength: number, description: string) =>
  Type.Optional(orNull(Type.String({ maxLength }), { description }))

export const maxPlaces = 1_000
/** Enough bytes for an item in which every character is escaped. */
export const maxPlaceBytes = 3_584

const Place = component('WrittenPlace', {
  text: optional(255, 'A name or an address as somebody wrote it. Give either this or city_name.'),
  city_name: optional(255, 'The name of a city. Give either this or text.'),
  state_name: optional(255, 'The name of its state.'),
  postal_code: optional(20, 'Its postal code.'),
})

export const ResolvePlaces = Type.Object(
  {
    places: Type.Array(Place, { minItems: 1, maxItems: maxPlaces }),
    origin_city_id: Type.Optional(
      Type.Union([Type.String({ maxLength: 64 }), Type.Number(), Type.Null()], {
        description:
          'The city where the parcels start: with it, `served` and `rate` say what a parcel from there costs.',
      }),
    ),
  },
  {
    title: 'ResolvePlaces',
    examples: [{ places: [{ text: '12 Temple Road, Nugegodha' }, { city_name: 'Colombo' }], origin_city_id: 1500 }],
  },
)
export type ResolvePlaces = Static<typeof ResolvePlaces>

const CityOfPlace = component('CityOfPlace', { id: Type.Integer(), name: text, state: text, postal_code: orNull(text) })

export const PlaceRate = component('PlaceRate', {
  first_kg: Type.Number({ description: 'The price of the first kilogram.' }),
  each_extra_kg: Type.Number({ description: 'The price of each additional kilogram or part of one.' }),
  currency: text,
})

/** A rate as responses have it: in units of the currency. */
export const viewRate = ({ firstKg, eachExtraKg }: Rate, currency: string): Static<typeof PlaceRate> => ({
  first_kg: firstKg / 100,
  each_extra_kg: eachExtraKg / 100,
  currency,
})

export const ResolvedPlaces = component('ResolvedPlaces', {
  data: Type.Array(
    component('ResolvedPlace', {
      confidence: oneOf(confidences, {
        description: 'exact and alias: booking accepts the name as written (docs/merchants/places.md#confidence).',
      }),
      city: orNull(CityOfPlace, { description: 'null if the confidence is ambiguous or none.' }),
      alternatives: Type.Array(CityOfPlace, { description: 'Up to five other possible cities.' }),
      served: orNull(Type.Boolean(), {
        description: "True if the merchant's rate card has a rate from the origin; null without an origin or a city.",
      }),
      rate: orNull(PlaceRate),
    }),
    { description: 'The order is that of the places.' },
  ),
})
export type ResolvedPlaces = Static<typeof ResolvedPlaces>
