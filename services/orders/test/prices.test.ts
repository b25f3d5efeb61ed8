import t from 'tap'
import { createCatalogues } from '../catalogue/catalogue.ts'
import { priceParcel } from '../catalogue/price-parcels.ts'
import { build } from './build.ts'

const { pool } = await build(t)
const catalogue = await createCatalogues(pool, 2 ** 20).current('demo')
if (!catalogue) throw new Error('no catalogue')
const merchant = catalogue.merchantOfBusiness.get('7290') ?? ''
const kotte = { cityId: '1500' }

t.test('one parcel has its cities and its charge', async t => {
  const galle = { cityName: 'galle', stateName: 'GALLE' }
  const priced = priceParcel(catalogue, merchant, { origin: kotte, destination: galle, weightKg: 1.2 })
  t.match(priced, { kind: 'priced', origin: { id: 1500 }, destination: { id: 2100 }, charge: 54_050 })
})

t.test('the errors of one parcel are under its own path', async t => {
  const find = (destination: object, merchantId = merchant) => {
    const found = priceParcel(catalogue, merchantId, { origin: kotte, destination, weightKg: 1 }, 'order.')
    return found.kind === 'refused' ? { errors: found.errors.errors, suggestions: found.suggestions } : undefined
  }
  t.match(find({ cityName: 'Gale', stateName: 'Galle' }), {
    errors: { 'order.destination_city_name': ['The selected destination city name is invalid.'] },
    suggestions: { 'order.destination_city_name': [{ id: 2100 }] },
  })
  t.strictSame(find({ cityId: '3000' })?.errors, {
    'rate_card.destination_city_id': [
      'No rate card is assigned for the combination Kotte to Jaffna. It is from Kotte in Colombo to Jaffna in Jaffna, of order.',
    ],
  })
  t.strictSame(find({ cityId: '2100' }, '0')?.errors, {
    merchant_rate_card: ['Please assign a rate card to the merchant.'],
  })
})
