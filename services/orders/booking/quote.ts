import type { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { type Static, Type } from '@sinclair/typebox'
import { PlaceRate } from '../catalogue/place-schema.ts'
import type { Parcels } from '../catalogue/price-parcels.ts'
import { cityReference, partsReader } from './read-batch.ts'
import { GeneralData, OrderData } from './schema.ts'

const Origin = Type.Pick(GeneralData, ['origin_city_id', 'origin_city_name', 'origin_state_name'], {
  title: 'QuoteOrigin',
})
const Parcel = Type.Pick(
  OrderData,
  ['destination_city_id', 'destination_city_name', 'destination_state_name', 'weight'],
  { title: 'QuoteParcel' },
)

/** The places and weights of a bulk body; its other fields are ignored. */
export const quoteBody = (maxOrders: number) =>
  Type.Object(
    { general_data: Origin, order_data: Type.Array(Parcel, { minItems: 1, maxItems: maxOrders }) },
    {
      title: 'Quote',
      examples: [
        { general_data: { origin_city_id: '1500' }, order_data: [{ destination_city_id: '2100', weight: 1.2 }] },
      ],
    },
  )

export const Quotes = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        destination_city_id: Type.Integer(),
        destination_city: Type.String(),
        destination_state: Type.String(),
        delivery_charge: Type.Number({ description: "In the company's currency." }),
        currency: Type.String(),
        rate: PlaceRate,
      }),
      { description: 'In the order of order_data.' },
    ),
  },
  {
    title: 'Quotes',
    examples: [
      {
        data: [
          {
            destination_city_id: 2100,
            destination_city: 'Galle',
            destination_state: 'Galle',
            delivery_charge: 540,
            currency: 'LKR',
            rate: { first_kg: 450, each_extra_kg: 90, currency: 'LKR' },
          },
        ],
      },
    ],
  },
)
export type Quotes = Static<typeof Quotes>

interface ReadQuote {
  /** Returns undefined where the shape is wrong. */
  readonly parcels: Parcels
  readonly weights: readonly number[]
  readonly errors: ErrorList
}

/** Compiles a reader of bodies: places and weights as booking reads them, with every error of their shape. */
export const quoteReader = (maxOrders: number): ((body: unknown) => ReadQuote) => {
  const readParts = partsReader(quoteBody(maxOrders), Origin, Parcel, maxOrders)
  return body => {
    const { general, orders, errors } = readParts(body, false)
    const origin = general && cityReference(general.origin_city_id, general.origin_city_name, general.origin_state_name)
    const destinations = orders.map(
      item => item && cityReference(item.destination_city_id, item.destination_city_name, item.destination_state_name),
    )
    const weights = errors.count > 0 ? [] : orders.map(item => Number(item?.weight))
    return { parcels: { origin, destinations }, weights, errors }
  }
}
