import { ErrorList, listErrors } from '@courier/shared/errors/field-errors.ts'
import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { PlaceRate } from '../catalogue/place-schema.ts'
import type { Parcels } from '../catalogue/price-parcels.ts'
import {
  cityReference,
  dropFrom,
  isObject,
  optionalNames,
  refuseNumbers,
  requireNames,
  wrongParts,
} from './read-batch.ts'
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
type QuoteBody = Static<ReturnType<typeof quoteBody>>

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
            ...{ destination_city_id: 2100, destination_city: 'Galle', destination_state: 'Galle' },
            ...{ delivery_charge: 540, currency: 'LKR', rate: { first_kg: 450, each_extra_kg: 90, currency: 'LKR' } },
          },
        ],
      },
    ],
  },
)
export type Quotes = Static<typeof Quotes>

interface ReadQuote {
  /** Those whose shape is right. */
  readonly parcels: Parcels
  readonly weights: readonly number[]
  readonly errors: ErrorList
}

/** Compiles a reader of bodies: places and weights as booking reads them, with every error of their shape. */
export const quoteReader = (maxOrders: number): ((body: unknown) => ReadQuote) => {
  const check = TypeCompiler.Compile(quoteBody(maxOrders))
  return body => {
    const record = isObject(body) ? body : {}
    const { general_data: general, order_data: listed } = record
    const items: unknown[] = Array.isArray(listed) && listed.length <= maxOrders ? listed : []
    dropFrom(general, optionalNames(Origin))
    for (const item of items) dropFrom(item, optionalNames(Parcel))
    const errors = check.Check(record) ? new ErrorList() : listErrors(check, record)
    if (isObject(general)) requireNames(general, 'general_data.', 'origin', errors)
    for (const [index, item] of items.entries()) addRuleErrors(item, `order_data.${index}.`, errors)
    return readRight(general as QuoteBody['general_data'], items as QuoteBody['order_data'], errors)
  }
}

/** The rules that the schema cannot express. */
const addRuleErrors = (item: unknown, path: string, errors: ErrorList): void => {
  if (!isObject(item) || errors.isFull) return
  requireNames(item, path, 'destination', errors)
  refuseNumbers({ weight: item.weight }, path, errors)
}

const readRight = (
  general: QuoteBody['general_data'],
  items: QuoteBody['order_data'],
  errors: ErrorList,
): ReadQuote => {
  const wrong = wrongParts(errors.paths)
  const origin =
    errors.isFull || wrong.has('general_data')
      ? undefined
      : cityReference(general.origin_city_id, general.origin_city_name, general.origin_state_name)
  const destinations = errors.isFull
    ? []
    : items.map((item, index) =>
        wrong.has(`order_data.${index}`)
          ? undefined
          : cityReference(item.destination_city_id, item.destination_city_name, item.destination_state_name),
      )
  return {
    parcels: { origin, destinations },
    weights: errors.count > 0 ? [] : items.map(({ weight }) => Number(weight)),
    errors,
  }
}
