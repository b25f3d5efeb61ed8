import { flag, listQuery, part, whole } from '@courier/shared/lists/filters.ts'
import { ListBody, pageFields } from '@courier/shared/lists/pages.ts'
import { component, orNull } from '@courier/shared/schemas.ts'
import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { type Rate, toAmount } from './rate-card.ts'

const text = Type.String()
const is_active = Type.Boolean({ description: 'Always true: the list has only active rows.' })

export const ById = Type.Object({ id: Type.String({ description: 'The id.' }) })

const BusinessRow = component('Business', {
  id: Type.Integer({ examples: [7290] }),
  ref_no: Type.String({ description: 'The id as text.', examples: ['7290'] }),
  name: Type.String({ examples: ['Lanka Shoes Online'] }),
  business_name: Type.String({ description: 'The same as `name`.' }),
  is_default: Type.Boolean(),
  is_active,
})

const CityRow = component('City', {
  id: Type.Integer({ examples: [1500] }),
  ref_no: Type.String({ examples: ['CT-1500'] }),
  name: Type.String({ examples: ['Kotte'] }),
  postal_code: orNull(text),
  state_id: Type.Integer(),
  state: Type.Object({ id: Type.Integer(), name: Type.String({ examples: ['Colombo'] }) }),
  country: Type.Object({ id: Type.Integer(), name: Type.String({ examples: ['Sri Lanka'] }) }),
  default_warehouse: Type.Null({ description: 'Always null: a company has no warehouses here.' }),
  zone_id: orNull(Type.Integer()),
  zone: orNull(Type.Object({ id: Type.Integer(), name: text }), {
    description: "The city's zone in the merchant's rate card; null when it has none.",
  }),
  is_active,
})
export type ListedCity = Static<typeof CityRow>

const StateRow = component('State', {
  id: Type.Integer(),
  ref_no: Type.String({ examples: ['ST-0001'] }),
  name: Type.String({ examples: ['Colombo'] }),
  country_id: Type.Integer({ description: 'Always 1: a courier company serves one country.' }),
  has_child: Type.Boolean({ description: 'True if it has cities.' }),
  is_active,
  cities: Type.Optional(Type.Array(CityRow)),
})
export type ListedState = Static<typeof StateRow>

interface Row {
  readonly id: number
  readonly ref_no: string
  readonly name: string
  readonly is_active: boolean
}

const rowFilters = {
  id: whole<Row>(row => row.id, 'The id.'),
  ref_no: whole<Row>(row => row.ref_no, 'The reference number.'),
  name: part<Row>(row => row.name, 'Part of the name, in any letter case.'),
  is_active: flag<Row>(row => row.is_active, 'The list has only active rows.'),
}

/** Creates the schemas of a list of rows, of its query and of one row. */
const listKind = <S extends TSchema, Filters extends Parameters<typeof listQuery>[1], Fields extends TProperties>(
  row: S,
  filters: Filters,
  fields = {} as Fields,
) => ({
  List: ListBody(row),
  One: Type.Object({ data: row }),
  Query: listQuery({ ...pageFields, ...fields }, filters),
  filters,
})

export const businesses = listKind(BusinessRow, {
  ...rowFilters,
  business_name: part<Row>(row => row.name, 'Part of the name, in any letter case.'),
  is_default: flag<Row & { is_default: boolean }>(row => row.is_default, "The merchant's default business."),
})

export const states = listKind(
  StateRow,
  {
    ...rowFilters,
    country_id: whole<ListedState>(row => row.country_id, 'Always 1.'),
    has_child: flag<ListedState>(row => row.has_child, 'True for states with cities.'),
  },
  {
    include: Type.Optional(
      Type.String({
        maxLength: 255,
        description: '`cities` adds to each state its cities, which the whole list always has.',
      }),
    ),
  },
)

export const cities = listKind(CityRow, {
  ...rowFilters,
  postal_code: whole<ListedCity>(row => row.postal_code, 'The postal code.'),
  state_id: whole<ListedCity>(row => row.state_id, 'The id of a state.'),
  state_name: part<ListedCity>(row => row.state.name, "Part of the state's name, in any letter case."),
  country_id: whole<ListedCity>(() => 1, 'Always 1.'),
  zone_id: whole<ListedCity>(row => row.zone_id, 'The id of a zone.'),
  zone: whole<ListedCity>(row => row.zone?.name, 'The name of a zone.'),
})

export const PlaceRate = component('PlaceRate', {
  first_kg: Type.Number({ description: 'The price of the first kilogram.' }),
  each_extra_kg: Type.Number({ description: 'The price of each additional kilogram or part of one.' }),
  currency: text,
})

/** Converts a rate to the form of responses: in units of the currency. */
export const viewRate = ({ firstKg, eachExtraKg }: Rate, currency: string): Static<typeof PlaceRate> => ({
  first_kg: toAmount(firstKg),
  each_extra_kg: toAmount(eachExtraKg),
  currency,
})
