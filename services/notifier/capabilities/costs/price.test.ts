import t from 'tap'
import { normaliseCategory } from '../../core/messaging-api/read-json.ts'
import { chooseTariff, findDay, findPrice, type PricedMessage, pricedCategories, type Tariff } from './price.ts'

const tariff = (category: string, country: string, from: string, price: string): Tariff => ({
  ...{ category, country, from, price },
})
const tariffs = [
  tariff('utility', 'LK', '2026-01-01', '0.0165'),
  tariff('utility', 'LK', '2026-03-01', '0.0200'),
  tariff('utility', 'LK', '2026-02-01', '0.0180'),
  tariff('utility', '*', '2026-02-15', '0.05'),
  tariff('marketing_lite', '*', '2026-01-01', '0.1'),
]
const known = { currency: 'USD', timeZone: 'Asia/Colombo', tariffs }
const price = (more: Partial<PricedMessage> = {}, tenant: typeof known = known) =>
  findPrice(tenant, {
    category: 'utility',
    country: 'LK',
    at: new Date('2026-02-19T08:00:00Z'),
    isWindowOpen: false,
    ...more,
  })

t.test('a message costs what the tariff of its day says', async t => {
  t.strictSame(price(), { amount: '0.0180', currency: 'USD', category: 'utility', is_free: false, reason: 'tariff' })
  t.match(price({ at: new Date('2026-02-28T18:29:59Z') }), { amount: '0.0180' }, 'it is still February in Colombo')
  t.match(price({ at: new Date('2026-02-28T18:30:00Z') }), { amount: '0.0200' })
  t.match(price({ category: 'MARKETING-LITE' }), { amount: '0.1', category: 'marketing_lite' })
})

t.test('without a tariff or a category the price is unknown, never 0', async t => {
  const nothing = { amount: null, currency: 'USD', is_free: false }
  t.strictSame(price({ category: 'marketing' }), { ...nothing, category: 'marketing', reason: 'no_tariff' })
  for (const category of [undefined, null, ''])
    t.strictSame(price({ category }), { ...nothing, category: null, reason: 'no_category' })
})

t.test('a utility message in an open window is free, others are not', async t => {
  t.strictSame(price({ isWindowOpen: true, category: 'UTILITY' }), {
    ...{ amount: '0', currency: 'USD', category: 'utility', is_free: true, reason: 'open_window' },
  })
  t.match(price({ isWindowOpen: true, category: 'marketing_lite' }), {
    amount: '0.1',
    is_free: false,
    reason: 'tariff',
  })
})

t.test(
  'since October 2026 an open window makes nothing free, and a reply costs what a utility message does',
  async t => {
    const since = new Date('2026-09-30T18:30:00Z')
    const before = new Date('2026-09-30T18:29:59Z')
    t.match(price({ at: before, isWindowOpen: true }), { amount: '0', reason: 'open_window' })
    t.match(price({ at: since, isWindowOpen: true }), { amount: '0.0200', is_free: false, reason: 'tariff' })
    const reply = { category: 'service', isWindowOpen: true }
    t.match(price({ ...reply, at: before, serviceMessages: 5000 }), {
      amount: '0',
      is_free: true,
      reason: 'open_window',
    })
    t.match(price({ ...reply, at: since, serviceMessages: 999 }), { amount: '0', is_free: true, reason: 'free_quota' })
    t.match(price({ ...reply, at: since, serviceMessages: 1000 }), {
      amount: '0.0200',
      category: 'service',
      is_free: false,
    })
    const own = { ...known, tariffs: [...tariffs, tariff('service', '*', '2026-10-01', '0.001')] }
    t.match(price({ ...reply, at: since, serviceMessages: 1000 }, own), { amount: '0.001' })
  },
)

t.test('a tariff for the country takes precedence over one for every country, however old it is', async t => {
  const chosen = (country: string | undefined, day: string) => chooseTariff(tariffs, 'utility', country, day)?.price
  t.equal(chosen('LK', '2026-02-20'), '0.0180')
  t.equal(chosen('IN', '2026-02-20'), '0.05')
  t.equal(chosen(undefined, '2026-02-20'), '0.05')
  t.equal(chosen('IN', '2026-02-14'), undefined)
  t.equal(chosen('LK', '2026-01-01'), '0.0165')
  t.equal(chosen('LK', '2025-12-31'), undefined)
  t.equal(chosen('LK', '2027-01-01'), '0.0200')
})

t.test('the later of two tariffs of one day counts', async t => {
  const two = [tariff('utility', '*', '2026-01-01', '1'), tariff('utility', '*', '2026-01-01', '2')]
  t.equal(chooseTariff(two, 'utility', 'LK', '2026-01-01')?.price, '2')
})

t.test('normalises the spelling of categories, and a day depends on its time zone', async t => {
  t.strictSame(['UTILITY', 'Authentication-International', 'a-b-c'].map(normaliseCategory), [
    'utility',
    'authentication_international',
    'a_b_c',
  ])
  const at = new Date('2025-12-31T18:30:00Z')
  t.strictSame(
    ['Asia/Colombo', 'UTC', 'Asia/Colombo'].map(timeZone => findDay(at, timeZone)),
    ['2026-01-01', '2025-12-31', '2026-01-01'],
  )
  t.throws(() => findDay(at, 'Asia/Nowhere'), RangeError)
})

t.test('a tariff may price any one of six categories, from marketing to service', async t => {
  const all = ['marketing', 'utility', 'authentication', 'authentication_international', 'marketing_lite', 'service']
  t.strictSame(pricedCategories, all)
})
