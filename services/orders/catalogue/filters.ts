import { flag, listQuery, part, whole } from '@courier/shared/lists/filters.ts'
import { pageFields } from '@courier/shared/lists/pages.ts'
import { Type } from '@sinclair/typebox'
import { countryId } from './lists.ts'
import type { ListedCity, ListedState } from './schema.ts'

interface Row {
  readonly id: number
  readonly ref_no: string
  readonly name: string
  readonly is_active: boolean
}

const filters = {
  id: whole<Row>(row => row.id, 'The id.'),
  ref_no: whole<Row>(row => row.ref_no, 'The reference number.'),
  name: part<Row>(row => row.name, 'Part of the name, in any letter case.'),
  is_active: flag<Row>(row => row.is_active, 'The list has only active rows.'),
}

export const businessFilters = {
  ...filters,
  business_name: part<Row>(row => row.name, 'Part of the name, in any letter case.'),
  is_default: flag<Row & { is_default: boolean }>(row => row.is_default, "The merchant's default business."),
}

export const stateFilters = {
  ...filters,
  country_id: whole<ListedState>(row => row.country_id, 'Always 1.'),
  has_child: flag<ListedState>(row => row.has_child, 'Whether it has cities.'),
}

export const cityFilters = {
  ...filters,
  postal_code: whole<ListedCity>(row => row.postal_code, 'The postal code.'),
  state_id: whole<ListedCity>(row => row.state_id, 'The id of a state.'),
  state_name: part<ListedCity>(row => row.state.name, "Part of the state's name, in any letter case."),
  country_id: whole<ListedCity>(() => countryId, 'Always 1.'),
  zone_id: whole<ListedCity>(row => row.zone_id, 'The id of a zone.'),
  zone: whole<ListedCity>(row => row.zone?.name, 'The name of a zone.'),
}

export const BusinessQuery = listQuery(pageFields, businessFilters)
export const StateQuery = listQuery(
  {
    ...pageFields,
    include: Type.Optional(
      Type.String({
        maxLength: 255,
        description: '`cities` adds its cities to each state, as the whole list always does.',
      }),
    ),
  },
  stateFilters,
)
export const CityQuery = listQuery(pageFields, cityFilters)
