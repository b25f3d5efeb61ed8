import t from 'tap'
import { charge, type Rate, RateCard, readRateCards } from './rate-card.ts'

const charges: [weightKg: number, hundredths: number][] = [
  [0.001, 45_000],
  [1, 45_000],
  [1.0001, 54_050],
  [1.2, 54_050],
  [2, 54_050],
  [2.000001, 63_100],
  [10, 126_450],
  [999.5, 9_085_950],
  [1000, 9_085_950],
]
for (const [weightKg, hundredths] of charges)
  t.test(`a parcel of ${weightKg} kg costs the first kilogram and each one after it that is started`, async t => {
    t.equal(charge({ firstKg: 45_000, eachExtraKg: 9_050 }, weightKg), hundredths)
  })

t.test('a card finds the rate of the zones of two cities, in that direction', async t => {
  const [near, far, back] = [1, 2, 3].map(firstKg => ({ firstKg, eachExtraKg: 0 })) as [Rate, Rate, Rate]
  const card = new RateCard({
    name: 'standard',
    zones: ['elsewhere', 'metro', 'north'].map((name, id) => ({ id, name })),
    elsewhere: 'elsewhere',
    cities: [
      { cityId: 2, zone: 'north' },
      { cityId: 1, zone: 'metro' },
    ],
    rates: [
      { from: 'metro', to: 'metro', ...near },
      { from: 'metro', to: 'elsewhere', ...far },
      { from: 'elsewhere', to: 'metro', ...back },
    ],
  })
  const found: [from: number, to: number, rate: Rate | undefined][] = [
    [1, 1, near],
    [1, 77, far],
    [77, 1, back],
    [1, 2, undefined],
    [2, 1, undefined],
    [77, 78, undefined],
  ]
  for (const [from, to, rate] of found) t.strictSame(card.find(from, to), rate, `${from} to ${to}`)
})

t.test('a card without the zone "*" has no rate for a city that no zone names', async t => {
  const card = new RateCard({
    name: 'standard',
    zones: [{ id: 1, name: 'metro' }],
    cities: [{ cityId: 1, zone: 'metro' }],
    rates: [{ from: 'metro', to: 'metro', firstKg: 1, eachExtraKg: 1 }],
  })
  t.strictSame(card.find(1, 1), { firstKg: 1, eachExtraKg: 1 })
  t.equal(card.find(1, 2), undefined)
  t.equal(card.find(2, 1), undefined)
})

t.test('finds the zones of cities, and the zone of all other cities', async t => {
  const zones = ['metro', 'rest'].map((name, id) => ({ id, name }))
  const parts = { name: 'standard', zones, cities: [{ cityId: 7, zone: 'metro' }], rates: [] }
  const card = new RateCard({ ...parts, elsewhere: 'rest' })
  t.equal(card.name, 'standard')
  t.strictSame([card.findZone(7), card.findZone(8)], zones)
  t.equal(new RateCard(parts).findZone(8), undefined)
})

t.test('finds each of many cities and rates, and only those', async t => {
  const names = Array.from({ length: 40 }, (_, index) => `zone ${index}`)
  const rates = names.flatMap((from, one) =>
    names
      .filter((_, two) => (one + two) % 3 > 0)
      .map(to => ({ from, to, firstKg: one, eachExtraKg: names.indexOf(to) })),
  )
  const card = new RateCard({
    name: 'large',
    zones: names.map((name, id) => ({ id, name })),
    cities: names.map((zone, index) => ({ cityId: 1_000 * index, zone })),
    rates,
  })
  const pairs = names.flatMap((_from, one) => names.map((_to, two) => ({ one, two })))
  t.strictSame(
    pairs.map(({ one, two }) => card.find(1_000 * one, 1_000 * two)),
    pairs.map(({ one, two }) => ((one + two) % 3 > 0 ? { firstKg: one, eachExtraKg: two } : undefined)),
  )
  for (const cityId of [-1, 1, 999, 40_000]) t.equal(card.find(cityId, 0), undefined)
})

t.test('a city without a zone has no rate, whatever the numbers of the zones', async t => {
  const zones = ['a', 'b', 'c'].map((name, id) => ({ id, name }))
  const cities = zones.map(({ id, name }) => ({ cityId: id, zone: name }))
  const rates = zones.flatMap(from => zones.map(to => ({ from: from.name, to: to.name, firstKg: 1, eachExtraKg: 1 })))
  const card = new RateCard({ name: 'whole', zones, cities, rates })
  for (const { id } of zones) t.strictSame([card.find(id, 9), card.find(9, id)], [undefined, undefined])
})

t.test('an empty card has no rate; the size of a card counts its cities and rates', async t => {
  const empty = new RateCard({ name: '', zones: [], cities: [], rates: [] })
  t.equal(empty.find(0, 0), undefined)
  t.equal(empty.size, 0)
  const zones = [{ id: 1, name: 'metro' }]
  const cities = [1, 2, 3].map(cityId => ({ cityId, zone: 'metro' }))
  const rates = [{ from: 'metro', to: 'metro', firstKg: 1, eachExtraKg: 1 }]
  t.equal(new RateCard({ name: '', zones, cities, rates }).size, 4)
})

t.test(
  'reads cards of a catalogue: prices in hundredths, one object for equal ones, a zone for the other cities',
  async t => {
    const cards = readRateCards({
      cards: ['standard', 'empty'],
      zones: [
        ['standard', 1, 'metro', false],
        ['standard', 2, 'far', true],
      ],
      zone_cities: [['standard', 1500, 'metro']],
      rates: [
        ['standard', 'metro', 'metro', 450.29, 90.5],
        ['standard', 'far', 'metro', 450.29, 90.5],
      ],
    })
    const near = cards.get('standard')?.find(1500, 1500)
    t.strictSame(near, { firstKg: 45_029, eachExtraKg: 9_050 })
    t.equal(cards.get('standard')?.find(77, 1500), near)
    t.equal(cards.get('empty')?.find(1500, 1500), undefined)
  },
)
