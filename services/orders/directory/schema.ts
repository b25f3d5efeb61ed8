import { FilterText, filterFields, ListOf, pageFields } from '@courier/shared/http/pages.ts'
import { Type } from '@sinclair/typebox'

const text = Type.String()
const ref_no = Type.String({ description: 'The id as text.' })
const is_active = Type.Boolean({ description: 'Always true: the list has no others.' })

export const ListQuery = Type.Object(pageFields)

export const CityQuery = Type.Object({
  ...pageFields,
  ...filterFields({
    name: FilterText('Part of the name, in any letter case.'),
    state_id: FilterText('The id of a state.'),
  }),
})

export const Businesses = ListOf(
  Type.Object({ id: Type.Integer(), ref_no, name: text, is_default: Type.Boolean(), is_active }, { title: 'Business' }),
  { id: 7290, ref_no: '7290', name: 'Lanka Shoes Online', is_default: true, is_active: true },
)

export const States = ListOf(Type.Object({ id: Type.Integer(), ref_no, name: text, is_active }, { title: 'State' }), {
  id: 1,
  ref_no: '1',
  name: 'Colombo',
  is_active: true,
})

export const Cities = ListOf(
  Type.Object(
    {
      id: Type.Integer(),
      ref_no,
      name: text,
      postal_code: Type.Union([text, Type.Null()]),
      state_id: Type.Integer(),
      state: Type.Object({ id: Type.Integer(), name: text }),
      zone: Type.Union([text, Type.Null()], {
        description: "The city's zone in the merchant's rate card; null when it has none.",
      }),
      is_active,
    },
    { title: 'City' },
  ),
  {
    id: 1500,
    ref_no: '1500',
    name: 'Kotte',
    postal_code: '10100',
    state_id: 1,
    state: { id: 1, name: 'Colombo' },
    zone: 'metro',
    is_active: true,
  },
)
