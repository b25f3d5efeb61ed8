import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import t from 'tap'
import { plainCatalogue } from '../../test/plain-catalogue.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { WaybillFormat } from '../catalogue/waybill-format.ts'
import { checkBatch } from './check-batch.ts'
import type { Batch, Order } from './read-batch.ts'

const toOrder = (more: Partial<Order> = {}): Order => ({
  waybill: undefined,
  statusKey: 'key_1',
  orderNo: undefined,
  customerName: 'Nimali Perera',
  customerAddress: '12 Temple Road',
  customerPhone: '0770000101',
  customerSecondaryPhone: '0770000102',
  customerEmail: undefined,
  destination: { cityId: '2100' },
  cod: 4500,
  weightKg: 1.2,
  description: undefined,
  remark: undefined,
  ...more,
})
const toBatch = (orders: readonly Order[], more: Partial<Batch> = {}): Batch => ({
  businessId: '7290',
  origin: { cityId: '1500' },
  orders,
  ...more,
})
const validate = (batch: Batch, catalogue: Catalogue = plainCatalogue(), merchant = 'shoes') => {
  const verdict = checkBatch(batch, catalogue, merchant)
  return verdict.kind === 'refused' ? verdict.errors.errors : verdict.kind
}
const manual: Partial<Catalogue> = { waybills: { mode: 'manual', format: new WaybillFormat('DM##') } }

t.test('an accepted batch has its cities and the charge of each order', async t => {
  const orders = [toOrder({ waybill: 'DM01' }), toOrder({ destination: { cityId: '1500' }, weightKg: 3 })]
  const phone = { key: '+94770000101', number: '94770000101', holdsMore: false }
  t.strictSame(checkBatch(toBatch(orders), plainCatalogue(), 'shoes'), {
    kind: 'accepted',
    batch: {
      businessId: '7290',
      origin: { id: 1500, name: 'Kotte', postalCode: '10100', state: { id: 1, name: 'Colombo' } },
      country: 'LK',
      orders: [
        {
          order: orders[0],
          destination: { id: 2100, name: 'Galle', postalCode: null, state: { id: 2, name: 'Galle' } },
          phone,
          charge: 5_405_000,
        },
        {
          order: orders[1],
          destination: { id: 1500, name: 'Kotte', postalCode: '10100', state: { id: 1, name: 'Colombo' } },
          phone,
          charge: 4_000_000,
        },
      ],
    },
  })
})

t.test('a second phone is dropped where the tenant wants none', async t => {
  const verdict = checkBatch(toBatch([toOrder()]), plainCatalogue({ secondaryPhone: false }), 'shoes')
  t.strictSame(
    verdict.kind === 'accepted' && verdict.batch.orders[0]?.order,
    toOrder({ customerSecondaryPhone: undefined }),
  )
})

t.test("a batch may name only its merchant's own businesses", async t => {
  for (const businessId of ['7300', '9', ''])
    t.strictSame(validate(toBatch([toOrder()], { businessId })), {
      'general_data.merchant_business_id': ['The selected merchant business id is invalid.'],
    })
  t.equal(validate(toBatch([toOrder()], { businessId: '7291' })), 'accepted')
})

t.test('refuses a merchant without a rate card, and an unknown city', async t => {
  t.strictSame(validate(toBatch([toOrder()], { businessId: '7300' }), plainCatalogue(), 'books'), {
    merchant_rate_card: ['Please assign a rate card to the merchant.'],
  })
  t.strictSame(validate(toBatch([toOrder(), toOrder({ destination: { cityId: '9' } })], { origin: { cityId: '8' } })), {
    'general_data.origin_city_id': ['The selected origin city id is invalid.'],
    'order_data.1.destination_city_id': ['The selected destination city id is invalid.'],
  })
})

t.test('waybills are optional or, in manual mode, required; they fit the mask and are unique in a batch', async t => {
  const given = (waybill: string | undefined) => toOrder({ waybill })
  t.equal(validate(toBatch([given(undefined), given(undefined)])), 'accepted')
  t.equal(validate(toBatch([given('DM01')]), plainCatalogue(manual)), 'accepted')
  t.strictSame(validate(toBatch([given('DM01'), given(undefined)]), plainCatalogue(manual)), {
    'order_data.1.waybill_number': ['The waybill number field is required.'],
  })
  t.strictSame(validate(toBatch([given('DM01'), given('DM02'), given('DM01'), given('X')])), {
    'order_data.2.waybill_number': ['The waybill number field has a duplicate value.'],
    errors: [
      'The waybill X does not match the requested format. Waybills look like DM##, where # is a digit. It is in order_data.3.',
    ],
  })
})

t.test('checks the readable parts of a batch whose shape has errors', async t => {
  const errors = new ErrorList()
  errors.add('order_data.0.cod', 'The cod field is required.')
  const rest = {
    origin: { cityId: '1500' },
    orders: [undefined, toOrder({ waybill: 'X', destination: { cityId: '3000' } })],
  }
  const refusal = checkBatch(rest, plainCatalogue(), 'shoes', errors)
  if (refusal.kind !== 'refused') return t.fail(refusal.kind)
  t.match(refusal.errors.errors, {
    'order_data.0.cod': ['The cod field is required.'],
    'rate_card.destination_city_id': [/Kotte to Jaffna.* for order_data\.1\.$/],
    errors: [/^The waybill X does not match/],
  })
  t.equal(refusal.errors.count, 3)
  t.match(refusal.missingRates, [{ destination: { id: 3000 }, parcels: 1 }])
})
