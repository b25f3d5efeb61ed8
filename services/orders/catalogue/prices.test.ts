import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import t from 'tap'
import { plainCatalogue } from '../test/plain-catalogue.ts'
import { Findings } from './findings.ts'
import { findPrices, priceParcel } from './price-parcels.ts'

const catalogue = plainCatalogue()
const kotte = { cityId: '1500' }
const galle = { cityName: 'galle', stateName: 'GALLE' }
const [jaffna, nallur] = [{ cityId: '3000' }, { cityId: '3001' }]

t.test('one parcel has its cities, its rate and its charge', async t => {
  const priced = priceParcel(catalogue, 'shoes', { origin: kotte, destination: galle, weightKg: 1.2 })
  t.match(priced, { kind: 'priced', origin: { id: 1500 }, destination: { id: 2100 }, charge: 54_050 })
  t.match(priced, { rate: { firstKg: 45_000, eachExtraKg: 9_050 } })
})

const errorsOf = (destination: object, merchantId = 'shoes', path?: string, origin: object = kotte) => {
  const found = priceParcel(catalogue, merchantId, { origin, destination, weightKg: 1 }, path)
  return found.kind === 'refused' ? { errors: found.errors.errors, suggestions: found.suggestions } : undefined
}

t.test('the errors of one parcel are under its own path', async t => {
  t.strictSame(errorsOf({ cityName: 'Gale', stateName: 'Galle' }, 'shoes', 'order.'), {
    errors: { 'order.destination_city_name': ['The selected destination city name is invalid.'] },
    suggestions: { 'order.destination_city_name': [{ id: 2100, name: 'Galle', state: 'Galle' }] },
  })
  const sentence =
    'No rate card is assigned for the combination Kotte to Jaffna. It is from Kotte in Colombo to Jaffna in Jaffna'
  t.strictSame(errorsOf(jaffna, 'shoes', 'order.')?.errors, {
    'rate_card.destination_city_id': [`${sentence}, of order.`],
  })
  t.strictSame(errorsOf(jaffna)?.errors, { 'rate_card.destination_city_id': [`${sentence}.`] })
  t.strictSame(errorsOf(galle, 'books')?.errors, { merchant_rate_card: ['Please assign a rate card to the merchant.'] })
  t.strictSame(errorsOf(galle, 'shoes', 'order.', { cityId: '9' })?.errors, {
    'order.origin_city_id': ['The selected origin city id is invalid.'],
  })
})

const find = (destinations: readonly (object | undefined)[], origin: object | null = kotte) => {
  const findings = new Findings(catalogue.cities, new ErrorList())
  const paths = { origin: 'from.', destination: (index: number) => `to.${index}.` }
  const found = findPrices({ origin: origin ?? undefined, destinations }, catalogue, 'shoes', findings, paths)
  return { ...found, errors: findings.list.errors, missing: findings.missingRates }
}

t.test('returns the rates in the order of the parcels, without the malformed ones', async t => {
  const { rates, destinations, errors } = find([kotte, undefined, galle])
  t.strictSame(
    rates.map(rate => rate?.firstKg),
    [30_000, undefined, 45_000],
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

t.test('a combination without a rate is one error, with its first ten places and how many more', async t => {
  const { errors, missing } = find([jaffna, nallur, ...Array.from({ length: 10 }, () => jaffna)])
  const [first = '', second = '', ...others] = errors['rate_card.destination_city_id'] ?? []
  t.equal(others.length, 0)
  t.match(first, /Jaffna in Jaffna, of to\.0, to\.2, .*, to\.10 and 1 more\.$/)
  t.equal(
    second,
    'No rate card is assigned for the combination Kotte to Nallur. It is from Kotte in Colombo to Nallur in Jaffna, of to.1.',
  )
  t.match(missing, [
    { origin: { id: 1500 }, destination: { id: 3000 }, parcels: 11 },
    { destination: { id: 3001 }, parcels: 1 },
  ])
  const ten = find(Array.from({ length: 10 }, () => jaffna)).errors['rate_card.destination_city_id'] ?? []
  t.match(ten, [/, to\.8, to\.9\.$/])
})
