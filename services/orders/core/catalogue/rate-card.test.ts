import t from 'tap'
import { charge, RateCard, toAmount } from './rate-card.ts'

const charges: [weightKg: number, units: number][] = [
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
for (const [weightKg, units] of charges)
  t.test(`a parcel of ${weightKg} kg costs the first kilogram and each further kilogram begun`, async t => {
    t.equal(charge({ firstKg: 45_000, eachExtraKg: 9_050 }, weightKg), units)
  })

type Rows = ConstructorParameters<typeof RateCard>[0]
type Pair = [from: string, to: string]

/**
 * Creates a card in which the first kilogram between a pair of zones costs as much as the pair's position in the list.
 */
const createCard = (
  zones: readonly string[],
  cities: Record<number, string>,
  pairs: readonly Pair[],
  elsewhere?: string,
) => {
  const rows: Rows = {
    name: 'standard',
    zones: zones.map((zone, id) => [id, zone, zone === elsewhere]),
    cities: Object.entries(cities).map(([id, zone]) => [Number(id), zone]),
    rates: pairs.map(([from, to], position) => [from, to, position, 1]),
  }
  return new RateCard(rows)
}
const findPosition = (card: RateCard, from: number, to: number): number | undefined => {
  const rate = card.find(from, to)
  return rate && toAmount(rate.firstKg)
}

t.test('a card finds the rate from the zone of one city to the zone of another', async t => {
  const pairs: Pair[] = [
    ['metro', 'metro'],
    ['metro', 'elsewhere'],
    ['elsewhere', 'metro'],
  ]
  const card = createCard(['elsewhere', 'metro', 'north'], { 2: 'north', 1: 'metro' }, pairs, 'elsewhere')
  const found: [from: number, to: number, position: number | undefined][] = [
    [1, 1, 0],
    [1, 77, 1],
    [77, 1, 2],
    [1, 2, undefined],
    [2, 1, undefined],
    [77, 78, undefined],
  ]
  for (const [from, to, position] of found) t.equal(findPosition(card, from, to), position, `${from} to ${to}`)
})

t.test('a card without the zone "*" has no rate for a city that no zone names', async t => {
  const card = createCard(['metro'], { 1: 'metro' }, [['metro', 'metro']])
  t.strictSame(card.find(1, 1), { firstKg: 0, eachExtraKg: 10_000 })
  t.equal(card.find(1, 2), undefined)
  t.equal(card.find(2, 1), undefined)
})

t.test('finds the zones of cities, and the zone of all other cities', async t => {
  const card = createCard(['metro', 'rest'], { 7: 'metro' }, [], 'rest')
  t.equal(card.name, 'standard')
  t.strictSame(
    [card.findZone(7), card.findZone(8)],
    [
      { id: 0, name: 'metro' },
      { id: 1, name: 'rest' },
    ],
  )
  t.equal(createCard(['metro'], { 7: 'metro' }, []).findZone(8), undefined)
})

t.test('finds each of many cities and rates, and only those', async t => {
  const names = Array.from({ length: 40 }, (_, index) => `zone ${index}`)
  const all = names.flatMap((from, one) => names.map((to, two) => ({ one, two, pair: [from, to] satisfies Pair })))
  const priced = all.filter(({ one, two }) => (one + two) % 3 > 0)
  const cities = Object.fromEntries(names.map((zone, index) => [1_000 * index, zone]))
  const card = createCard(
    names,
    cities,
    priced.map(({ pair }) => pair),
  )
  const positions = new Map(priced.map((each, position) => [each, position]))
  t.strictSame(
    all.map(({ one, two }) => findPosition(card, 1_000 * one, 1_000 * two)),
    all.map(each => positions.get(each)),
  )
  for (const cityId of [-1, 1, 999, 40_000]) t.equal(card.find(cityId, 0), undefined)
})

t.test('a city without a zone has no rate, whatever the numbers of the zones', async t => {
  const zones = ['a', 'b', 'c']
  const pairs = zones.flatMap(from => zones.map((to): Pair => [from, to]))
  const card = createCard(zones, { ...zones }, pairs)
  for (const id of zones.keys()) t.strictSame([card.find(id, 9), card.find(9, id)], [undefined, undefined])
})

t.test('an empty card has no rate; the size of a card counts its cities and rates', async t => {
  const empty = createCard([], {}, [])
  t.equal(empty.find(0, 0), undefined)
  t.equal(empty.size, 0)
  t.equal(createCard(['metro'], { 1: 'metro', 2: 'metro', 3: 'metro' }, [['metro', 'metro']]).size, 4)
})

t.test('a card has prices in ten-thousandths, one object for equal prices and a zone for other cities', async t => {
  const card = new RateCard({
    name: 'standard',
    zones: [
      [1, 'metro', false],
      [2, 'far', true],
    ],
    cities: [[1500, 'metro']],
    rates: [
      ['metro', 'metro', 450.293, 90.5],
      ['far', 'metro', 450.293, 90.5],
    ],
  })
  const near = card.find(1500, 1500)
  t.strictSame(near, { firstKg: 4_502_930, eachExtraKg: 905_000 })
  t.equal(card.find(77, 1500), near)
})
