import type { RateCard } from '../pricing/rate-card.ts'
import { nameKey } from './names.ts'
import type { City, Places } from './places.ts'

/** A city as a merchant's program reads it; `ref_no` is the id as text. */
export interface ListedCity {
  readonly id: number
  readonly ref_no: string
  readonly name: string
  readonly postal_code: string | null
  readonly state_id: number
  readonly state: { readonly id: number; readonly name: string }
  /** The city's zone in the merchant's rate card. */
  readonly zone: string | null
  readonly is_active: boolean
}

export interface CityFilter {
  /** Part of the name, in any letter case. */
  readonly name?: string | undefined
  readonly stateId?: string | undefined
}

interface Entry {
  readonly city: ListedCity
  readonly nameKey: string
  readonly stateId: string
}

/** Places and cards live as long as one version of a tenant: a list is made once for each. */
const lists = new WeakMap<Places | RateCard, readonly Entry[]>()

/** The cities of `places` with their zones in `card`, in the order of their ids. `card` is of the same catalogue. */
export const listCities = (
  places: Places,
  card: RateCard | undefined,
  { name = '', stateId = '' }: CityFilter,
): readonly ListedCity[] => {
  const wantedName = nameKey(name)
  const wantedState = stateId.trim()
  const isWanted = (entry: Entry): boolean =>
    entry.nameKey.includes(wantedName) && (wantedState === '' || entry.stateId === wantedState)
  const entries = entriesOf(places, card)
  const wanted = wantedName === '' && wantedState === '' ? entries : entries.filter(isWanted)
  return wanted.map(({ city }) => city)
}

/** The whole list as JSON, `{"data": [...]}`. It is long, and asked for by programs whenever they start. */
export const wholeCityList = (places: Places, card: RateCard | undefined): Buffer => {
  const entries = entriesOf(places, card)
  const known = wholeLists.get(entries)
  if (known) return known
  const json = Buffer.from(JSON.stringify({ data: entries.map(({ city }) => city) }))
  wholeLists.set(entries, json)
  return json
}

const wholeLists = new WeakMap<readonly Entry[], Buffer>()

const entriesOf = (places: Places, card: RateCard | undefined): readonly Entry[] => {
  const owner = card ?? places
  const known = lists.get(owner)
  if (known) return known
  const entries = places.cities.map(city => ({
    city: listed(city, card),
    nameKey: nameKey(city.name),
    stateId: String(city.state.id),
  }))
  lists.set(owner, entries)
  return entries
}

const listed = ({ id, name, postalCode, state }: City, card: RateCard | undefined): ListedCity => ({
  id,
  ref_no: String(id),
  name,
  postal_code: postalCode,
  state_id: state.id,
  state: { id: state.id, name: state.name },
  zone: card?.zoneOf(id) ?? null,
  is_active: true,
})
