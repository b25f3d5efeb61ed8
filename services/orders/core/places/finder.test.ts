import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../../../../dev/settings.ts'
import type { TenantFile } from '../provisioning/tenant-file.ts'
import { CityIndex } from './cities.ts'
import type { City } from './city.ts'
import { type Confidence, resolvePlace, SuggestionBudget, suggestCities, type WrittenPlace } from './resolve-place.ts'

const { states }: TenantFile = JSON.parse(readFileSync(join(root, 'examples/demo-tenant.json'), 'utf8'))
const all = states.flatMap(({ id, name, cities }) =>
  cities.map((city): City => ({ ...city, postalCode: city.postal_code ?? null, state: { id, name } })),
)

/** Names the suburbs and towns that a courier company serves, besides Colombo and the district capitals. */
const suburbs =
  'Kotte, Dehiwala, Mount Lavinia, Nugegoda, Rajagiriya, Battaramulla, Maharagama, Piliyandala, Moratuwa, Negombo, ' +
  'Kelaniya, Kiribathgoda, Kadawatha, Ja-Ela, Panadura, Peradeniya, Katugastota, Hikkaduwa, Ambalangoda, Weligama, ' +
  'Tangalle, Bandarawela, Ella, Chilaw, Embilipitiya, Hatton, Dambulla, Karapitiya, Galigamuwa'
const isServed = (city: City): boolean =>
  city.name === city.state.name || /^Colombo/.test(city.name) || suburbs.split(', ').includes(city.name)
const company = new CityIndex(states, all.filter(isServed))
const provinces = new CityIndex(
  [{ id: 1, name: 'Island' }],
  all.filter(isServed).map(city => ({ ...city, state: { id: 1, name: 'Island' } })),
)

const find = (place: Partial<WrittenPlace>, cities = company) =>
  resolvePlace({ text: '', ...place }, cities, new SuggestionBudget())
const isSure = (confidence: Confidence): boolean => !['ambiguous', 'none'].includes(confidence)

/** Pairs addresses with the city that is meant and served; null where no single served city is meant. */
const places: readonly (readonly [text: string | Partial<WrittenPlace>, city: string | null])[] = [
  ['Kottawa', null],
  ['කොට්ටාව', null],
  ['No 41, High Level Road, Kottawa', null],
  ['Kottawa, Pannipitiya', null],
  ['Kalpitiya', null],
  ['කල්පිටිය', null],
  ['Kalpitiya, Puttalam', null],
  ['Ambalantota', null],
  ['අම්බලන්තොට', null],
  ['12 Tissa Road, Ambalantota', null],
  ['Ambalantota, Hambantota', null],
  ['Welimada, Badulla', null],
  ['Welimada Badulla', null],
  ['No 3, Nuwara Eliya Road, Welimada, Badulla', null],
  ['Welimada 90200, Badulla', null],
  ['වැලිමඩ, බදුල්ල', null],
  ['Welimada, Badulla District', null],
  ['Passara, Badulla', null],
  ['Mahiyanganaya, Badulla.', null],
  ['Dehiwala-Mount Lavinia', null],
  ['Dehiwala / Mount Lavinia Municipal Council', null],
  ['Galgamuwa, Kurunegala', null],
  ['Attanagalla', null],
  ['Wellawaya', null],
  ['Wellawaya, Monaragala', null],
  ['Kahawatta', null],
  ['Kahawatta, Ratnapura', null],
  ['Kosgoda, Galle', null],
  ['Baddegama, Galle', null],
  ['Kolonnawa', null],
  ['Kolonna', null],
  ['Kotahena, Kandy', null],
  ['Karawanella', null],
  ['Hali Ela', null],
  ['Hali Ella, Badulla', null],
  ['Kandana', null],
  ['Kandapola', null],
  ['Galnewa', null],
  ['Galewela, Matale', null],
  ['Mathugama', null],
  ['Medagama, Monaragala', null],
  ['Mirigama', null],
  ['Kegalle, Galle', null],
  ['Bambalapitiya, Galle', null],
  ['Nugegoda, Kandy', null],
  ['Ella, Kandy District', null],
  [{ text: 'Kandy', stateName: 'Galle' }, null],
  [{ text: 'Hikkaduwa', stateName: 'Matara District' }, null],
  [{ text: 'Nugegoda', postalCode: '20000' }, null],
  ['Galle Face', 'Colombo 03'],
  ['Galle Lighthouse', null],
  ['Kandy Lake Club', null],
  ['Colombo', null],
  ['Gampola', null],
  ['Nawalapitiya, Kandy', null],
  ['Dikwella, Matara', null],
  ['Point Pedro, Jaffna', null],
  ['வெலிமடை, பதுளை', null],
  ['No 12, Temple Road, Badulla', 'Badulla'],
  ['12/A Passara Road, Badulla', 'Badulla'],
  ['Nimal Perera, 45 Lower Street, Badulla 90000', 'Badulla'],
  ['Near the hospital, Badulla', 'Badulla'],
  ['Badulla Town', 'Badulla'],
  ['බදුල්ල', 'Badulla'],
  ['Ella, Badulla', 'Ella'],
  ['Bandarawella, Badulla', 'Bandarawela'],
  ['Katugasthota, Kandy', 'Katugastota'],
  ['Fort, Galle', 'Galle'],
  ['Hikkaduwa, Galle District', 'Hikkaduwa'],
  ['Rose Villa, Temple Lane, Nugegodha', 'Nugegoda'],
  ['41 Kottawa Road, Maharagama', 'Maharagama'],
  ['No 7, Galle Road, Dehiwala', 'Dehiwala'],
  ['Galle Road, Mt Lavinia', 'Mount Lavinia'],
  ['Kelaniya, Colombo', 'Kelaniya'],
  ['15 Ward Place, Colombo 7', 'Colombo 07'],
  ['කොල්ලුපිටිය', 'Colombo 03'],
  ['කොටුව', 'Colombo 01'],
  ['நீர்கொழும்பு', 'Negombo'],
  ['Kollupitya', 'Colombo 03'],
  ['Ambalangode', 'Ambalangoda'],
  ['Panadhura', 'Panadura'],
  ['Karapitiya Hospital, Galle', 'Karapitiya'],
  [{ postalCode: '90000' }, 'Badulla'],
  [{ postalCode: '99999' }, null],
]

t.test(`${places.length} real addresses resolve to the city they mean, or to none`, async t => {
  for (const [written, city] of places) {
    const place = typeof written === 'string' ? { text: written } : written
    const found = find(place)
    t.strictSame(found.city?.name ?? null, city, `${JSON.stringify(written)} ${found.confidence}`)
  }
})

t.test('a district capital is recognized even where the states are not the districts', async t => {
  for (const text of ['Welimada, Badulla', 'Kosgoda, Galle', 'Kalpitiya Puttalam'])
    t.equal(find({ text }, provinces).confidence, 'ambiguous', text)
  t.equal(find({ text: 'Hikkaduwa, Galle' }, provinces).city?.name, 'Hikkaduwa')
})

/** Lists towns whose names differ from each other less than many misspellings do: only the state tells them apart. */
const twins = ['Galgamuwa', 'Galigamuwa', 'Puthukkudiyiruppu', 'Puthukudiyiruppu', 'Pinnawala']
const shapes: ((city: string, state: string) => string)[] = [
  city => city,
  (city, state) => `${city}, ${state}`,
  (city, state) => `No 5, Main Street, ${city} ${state}`,
]

t.test('no name of a city that the catalogue lacks leads to another city', async t => {
  const groups = Map.groupBy(all, ({ id }) => id % 40)
  for (const group of groups.values()) {
    const others = new CityIndex(
      states,
      all.filter(city => !group.includes(city)),
    )
    for (const { name, aliases = [], state } of group.filter(({ name }) => !twins.includes(name)))
      for (const text of [name, ...aliases].flatMap(alias => shapes.map(shape => shape(alias, state.name)))) {
        const { city, confidence } = find({ text }, others)
        if (isSure(confidence)) t.fail(`${text} is not ${city?.name}`)
      }
  }
})

t.test('finds most cities with a letter left out or two swapped, and hardly ever a wrong one', async t => {
  const cities = new CityIndex(states, all)
  const words = all.filter(({ name }) => /^[a-z]{6,}$/i.test(name) && !twins.includes(name))
  const counts = { right: 0, wrong: 0, all: 0 }
  for (const { name } of words)
    for (let at = 1; at < name.length - 1; at++)
      for (const rest of [name.slice(at + 1), `${name[at + 1]}${name[at]}${name.slice(at + 2)}`]) {
        const { city } = find({ text: name.slice(0, at) + rest }, cities)
        counts.all++
        if (city) counts[city.name === name ? 'right' : 'wrong']++
      }
  t.comment(counts)
  t.ok(counts.right > 0.8 * counts.all && counts.wrong < 0.005 * counts.all, JSON.stringify(counts))
})

t.test('booking suggests cities for misspelt names, and for short names only within one edit', async t => {
  const suggested = (cityName: string, stateName = '') =>
    suggestCities({ cityName, stateName }, company, new SuggestionBudget()).map(({ name }) => name)
  t.strictSame(suggested('Nugegodha'), ['Nugegoda'])
  t.strictSame(suggested('12 Temple Road, Hikaduwa'), ['Hikkaduwa'])
  t.strictSame(suggested('Gale'), ['Galle'])
  t.strictSame(suggested('Kadny'), ['Kandy'])
  for (const name of ['Gabe', 'Kardi', 'Mala', 'Eta', 'Haton']) t.notOk(suggested(name).includes('Galle'), name)
  t.strictSame(suggested('Kotta'), ['Kotte'])
  t.strictSame(suggested('Kitta'), [])
})
