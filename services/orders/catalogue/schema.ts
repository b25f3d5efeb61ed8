import { ListBody } from '@courier/shared/lists/pages.ts'
import { type Static, type TSchema, Type } from '@sinclair/typebox'

const text = Type.String()
const is_active = Type.Boolean({ description: 'Always true: the list has no others.' })

export const ById = Type.Object({ id: Type.String({ description: 'The id.' }) })

/** The response with one row. */
const OneOf = <Row extends TSchema>(row: Row) => Type.Object({ data: row })

const BusinessRow = Type.Object(
  {
    id: Type.Integer({ examples: [7290] }),
    ref_no: Type.String({ description: 'The id as text.', examples: ['7290'] }),
    name: Type.String({ examples: ['Lanka Shoes Online'] }),
    business_name: Type.String({ description: 'The same as `name`.' }),
    is_default: Type.Boolean(),
    is_active,
  },
  { title: 'Business' },
)

const CityRow = Type.Object(
  {
    id: Type.Integer({ examples: [1500] }),
    ref_no: Type.String({ examples: ['CT-1500'] }),
    name: Type.String({ examples: ['Kotte'] }),
    postal_code: Type.Union([text, Type.Null()]),
    state_id: Type.Integer(),
    state: Type.Object({ id: Type.Integer(), name: Type.String({ examples: ['Colombo'] }) }),
    zone_id: Type.Union([Type.Integer(), Type.Null()]),
    zone: Type.Union([Type.Object({ id: Type.Integer(), name: text }), Type.Null()], {
      description: "The city's zone in the merchant's rate card; null when it has none.",
    }),
    is_active,
  },
  { title: 'City' },
)
export type ListedCity = Static<typeof CityRow>

const StateRow = Type.Object(
  {
    id: Type.Integer(),
    ref_no: Type.String({ examples: ['ST-0001'] }),
    name: Type.String({ examples: ['Colombo'] }),
    country_id: Type.Integer({ description: 'Always 1: a courier company serves one country.' }),
    has_child: Type.Boolean({ description: 'Whether it has cities.' }),
    is_active,
    cities: Type.Optional(Type.Array(CityRow)),
  },
  { title: 'State' },
)
export type ListedState = Static<typeof StateRow>

export const Businesses = ListBody(BusinessRow)
export const Business = OneOf(BusinessRow)
export const States = ListBody(StateRow)
export const State = OneOf(StateRow)
export const Cities = ListBody(CityRow)
export const City = OneOf(CityRow)
