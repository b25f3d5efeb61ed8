import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import t from 'tap'
import { plainCatalogue } from '../../test/plain-catalogue.ts'
import { CityIndex } from '../places/cities.ts'
import type { City } from '../places/city.ts'
import { SuggestionBudget, suggestCities } from '../places/resolve-place.ts'
import { findPrices } from './price-parcels.ts'

const catalogue = plainCatalogue()
const kotte = { cityId: '1500' }
const galle = { cityName: 'galle', stateName: 'GALLE' }
const [jaffna, nallur] = [{ cityId: '3000' }, { cityId: '3001' }]

const refuse = (destination: object, merchantId = 'shoes', path = '', origin: object = kotte) => {
  const paths = { origin: path, destination: () => path }
  const found = findPrices({ origin, destinations: [destination] }, catalogue, merchantId, new ErrorList(), paths)
  return { errors: found.refusal.errors.errors, suggestions: found.refusal.suggestions }
}

t.test('the errors of one parcel are under its own path', async t => {
  t.strictSame(refuse({ cityName: 'Gale', stateName: 'Galle' }, 'shoes', 'order.'), {
    errors: { 'order.destination_city_name': ['The selected destination city name is invalid.'] },
    suggestions: { 'order.destination_city_name': [{ id: 2100, name: 'Galle', state: 'Galle' }] },
  })
  const sentence =
    'No rate card is assigned for the combination Kotte to Jaffna. It is from Kotte in Colombo to Jaffna in Jaffna'
  t.strictSame(refuse(jaffna, 'shoes', 'order.').errors, {
    'rate_card.destination_city_id': [`${sentence}, for order.`],
  })
  t.strictSame(refuse(jaffna).errors, { 'rate_card.destination_city_id': [`${sentence}.`] })
  t.strictSame(refuse(galle, 'books').errors, { merchant_rate_card: ['Please assign a rate card to the merchant.'] })
  t.strictSame(refuse(galle, 'shoes', 'order.', { cityId: '9' }).errors, {
    'order.origin_city_id': ['The selected origin city id is invalid.'],
  })
})

const find = (destinations: readonly (object | undefined)[], origin: object | null = kotte) => {
  const paths = { origin: 'from.', destination: (index: number) => `to.${index}.` }
  const found = findPrices({ origin: origin ?? undefined, destinations }, catalogue, 'shoes', new ErrorList(), paths)
  return { ...found, errors: found.refusal.errors.errors, missing: found.refusal.missingRates }
}

t.test('returns the rates in the order of the parcels, and undefined for malformed ones', async t => {
  const { rates, destinations, errors } = find([kotte, undefined, galle])
  t.strictSame(
    rates.map(rate => rate?.firstKg),
    [3_000_000, undefined, 4_500_000],
  )
  t.strictSame(
    destinations.map(city => city?.id),
    [1500, undefined, 2100],
  )
  t.strictSame(errors, {})
})

t.test('wrong cities have errors at their paths, and without an origin there are no rates', async t => {
  const { rates, origin, errors } = find([{ cityId: '8' }, galle], { cityId: '9' })
  t.strictSame([rates, origin], [[], undefined])
  t.strictSame(Object.keys(errors), ['from.origin_city_id', 'to.0.destination_city_id'])
  t.match(find([galle], null), { rates: [], origin: undefined, errors: {} })
})

t.test('a combination without a rate gives one error, with ten of its parcels and the count of the rest', async t => {
  const { errors, missing } = find([jaffna, nallur, ...Array.from({ length: 10 }, () => jaffna)])
  const [first = '', second = '', ...others] = errors['rate_card.destination_city_id'] ?? []
  t.equal(others.length, 0)
  t.match(first, /Jaffna in Jaffna, for to\.0, to\.2, .*, to\.10 and 1 more\.$/)
  t.equal(
    second,
    'No rate card is assigned for the combination Kotte to Nallur. It is from Kotte in Colombo to Nallur in Jaffna, for to.1.',
  )
  t.match(missing, [
    { origin: { id: 1500 }, destination: { id: 3000 }, parcels: 11 },
    { destination: { id: 3001 }, parcels: 1 },
  ])
  const ten = find(Array.from({ length: 10 }, () => jaffna)).errors['rate_card.destination_city_id'] ?? []
  t.match(ten, [/, to\.8, to\.9\.$/])
})

const suggest = (...destinations: object[]) =>
  findPrices({ origin: kotte, destinations }, catalogue, 'shoes', new ErrorList()).refusal

t.test('names the fields of a bulk body, and suggests cities and states for wrong names', async t => {
  const { kind, errors, suggestions } = suggest({ cityName: 'Gale', stateName: 'Ga le' }, { cityId: '9' })
  const galle = [{ id: 2100, name: 'Galle', state: 'Galle' }]
  t.equal(kind, 'refused')
  t.strictSame(suggestions, {
    'order_data.0.destination_state_name': [{ id: 2, name: 'Galle', state: 'Galle' }],
    'order_data.0.destination_city_name': galle,
  })
  t.strictSame(
    [...errors.paths],
    ['order_data.0.destination_state_name', 'order_data.0.destination_city_name', 'order_data.1.destination_city_id'],
  )
  const found = findPrices({ origin: { cityId: '9' }, destinations: [] }, catalogue, 'shoes', new ErrorList())
  t.strictSame([...found.refusal.errors.paths], ['general_data.origin_city_id'])
  t.strictSame(suggest({ cityName: 'Quetzalcoatl', stateName: 'Galle' }).suggestions, undefined)
})

t.test('suggests three cities at most, those in the named state first', async t => {
  const [east, west] = ['East', 'West'].map((name, id) => ({ id, name })) as [City['state'], City['state']]
  const names = ['Kalagama', 'Kalagoma', 'Kalagema', 'Kalagima']
  const cities = names.map((name, id) => ({ id, name, postalCode: null, state: id === 3 ? west : east }))
  const shown = suggestCities(
    { cityName: 'Kalgma', stateName: 'WEST' },
    new CityIndex([east, west], cities),
    new SuggestionBudget(),
  )
  t.equal(shown.length, 3)
  t.strictSame(shown[0], { id: 3, name: 'Kalagima', state: 'West' })
})

t.test('suggests cities for the first fifty distinct names of a request, and wherever those are repeated', async t => {
  const gale = (spaces: number) => ({ cityName: 'Gale', stateName: `Galle${' '.repeat(spaces)}` })
  const { suggestions = {} } = suggest(...Array.from({ length: 51 }, (_, spaces) => gale(spaces)), gale(0))
  const paths = Object.keys(suggestions)
  t.equal(paths.length, 51)
  t.notOk('order_data.50.destination_city_name' in suggestions)
  t.equal(paths.at(-1), 'order_data.51.destination_city_name')
})
