import { nameKey } from '@courier/shared/name-key.ts'
import t from 'tap'
import { CityIndex } from './cities.ts'
import { SuggestionBudget, suggestCities } from './resolve-place.ts'

const western = { id: 1, name: 'Western', state: 'Western' }
const syllables = ['ka', 'ma', 'na', 'ra', 'la', 'wa', 'ga']
const cities = Array.from({ length: 2000 }, (_, id) => ({
  id,
  name: `Ka${[...id.toString(7)].map(digit => syllables[Number(digit)]).join('')}gama`,
  postalCode: null,
  state: western,
}))
const index = new CityIndex([western], cities)

const hostile = (count: number, text: string) => Array.from({ length: count }, (_, index) => `${text}${index}`)

for (const [name, text] of Object.entries({
  'of about 60 characters': 'y'.repeat(60),
  'like existing ones': 'Kamalagama nawaragama kala',
  'that normalize to eighteen times their length': '\ufdfa'.repeat(250),
  'of about 250 characters': 'x'.repeat(250),
}))
  for (const count of [50, 1000])
    t.test(`${count} names ${name} cost no more than the budget`, async t => {
      const budget = new SuggestionBudget(1_000_000)
      for (const cityName of hostile(count, text)) suggestCities({ cityName, stateName: 'Western' }, index, budget)
      t.ok(budget.spent <= 1_000_000, `${budget.spent}`)
    })

t.test('a name whose sound is too short or too long is not compared, and has no suggestions', async t => {
  const budget = new SuggestionBudget()
  for (const cityName of ['x'.repeat(65), '\ufdfa'.repeat(4)])
    t.strictSame(suggestCities({ cityName, stateName: 'Western' }, index, budget), [])
  t.equal(budget.spent, 0)
})

t.test('names of very different lengths are not compared', async t => {
  const few = new CityIndex([western], [{ id: 1, name: 'ka'.repeat(18), postalCode: null, state: western }])
  const budget = new SuggestionBudget()
  suggestCities({ cityName: 'kaka', stateName: 'Western' }, few, budget)
  t.equal(budget.spent, 1)
})

t.test('fifty common misspellings fit the budget', async t => {
  const budget = new SuggestionBudget()
  for (const { name } of cities.slice(-50)) {
    const cityName = name.replace('gama', 'gma')
    t.ok(suggestCities({ cityName, stateName: 'Western' }, index, budget).length > 0, cityName)
  }
  t.ok(budget.spent > 2000, String(budget.spent))
})

t.test('a name whose normalized form is too long is changed no further', async t => {
  t.equal(nameKey('\ufdfa'.repeat(255)).length, 18 * 255)
  t.equal(nameKey(' Ｇalle   FORT '), 'galle fort')
})
