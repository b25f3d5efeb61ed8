import { ListBody } from '@courier/shared/lists/pages.ts'
import { type Static, type TSchema, Type } from '@sinclair/typebox'

const text = Type.String()
const is_active = Type.Boolean({ description: 'Always true: the list has no others.' })

export const ById = Type.Object({ id: Type.String({ description: 'The id.' }) })

/** The response with one row. */
const OneOf = <Row extends TSchema>(row: Row, example: Static<Row>) =>
  Type.Object({ data: row }, { examples: [{ data: example }] })

const BusinessRow = Type.Object(
  {
    id: Type.Integer(),
    ref_no: Type.String({ description: 'The id as text.' }),
    name: text,
    business_name: Type.String({ description: 'The same as `name`.' }),
    is_default: Type.Boolean(),
    is_active,
  },
  { title: 'Business' },
)
const exampleBusiness = {
  id: 7290,
  ref_no: '7290',
  name: 'Lanka Shoes Online',
  business_name: 'Lanka Shoes Online',
  is_default: true,
  is_active: true,
}

const CityRow = Type.Object(
  {
    id: Type.Integer(),
    ref_no: Type.String({ description: 'Such as CT-0260.' }),
    name: text,
    postal_code: Type.Union([text, Type.Null()]),
    state_id: Type.Integer(),
    state: Type.Object({ id: Type.Integer(), name: text }),
    zone_id: Type.Union([Type.Integer(), Type.Null()]),
    zone: Type.Union([Type.Object({ id: Type.Integer(), name: text }), Type.Null()], {
      description: "The city's zone in the merchant's rate card; null when it has none.",
    }),
    is_active,
  },
  { title: 'City' },
)
export type ListedCity = Static<typeof CityRow>
const exampleCity = {
  id: 1500,
  ref_no: 'CT-1500',
  name: 'Kotte',
  postal_code: '10100',
  state_id: 1,
  state: { id: 1, name: 'Colombo' },
  zone_id: 2,
  zone: { id: 2, name: 'metro' },
  is_active: true,
}

const StateRow = Type.Object(
  {
    id: Type.Integer(),
    ref_no: Type.String({ description: 'Such as ST-0001.' }),
    name: text,
    country_id: Type.Integer({ description: 'Always 1: a courier company serves one country.' }),
    has_child: Type.Boolean({ description: 'Whether it has cities.' }),
    is_active,
    cities: Type.Optional(Type.Array(CityRow)),
  },
  { title: 'State' },
)
export type ListedState = Static<typeof StateRow>
const exampleState = { id: 1, ref_no: 'ST-0001', name: 'Colombo', country_id: 1, has_child: true, is_active: true }

export const Businesses = ListBody(BusinessRow, exampleBusiness)
export const Business = OneOf(BusinessRow, exampleBusiness)
export const States = ListBody(StateRow, exampleState)
export const State = OneOf(StateRow, { ...exampleState, cities: [exampleCity] })
export const Cities = ListBody(CityRow, exampleCity)
export const City = OneOf(CityRow, exampleCity)
