import { createPool } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { build } from '../../test/build.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'
import { hashPassword, isPassword } from '../access/passwords.ts'
import { applyTenant } from './apply.ts'
import { checkFile } from './check-file.ts'
import type { TenantFile } from './tenant-file.ts'

/** Returns the small tenant with other values at some paths; undefined removes the value there. */
const fileWith = (values: Record<string, unknown>): TenantFile => {
  const file = tenantFile()
  for (const [path, value] of Object.entries(values)) {
    const names = path.split('.')
    const last = names.pop() ?? ''
    // biome-ignore lint/suspicious/noExplicitAny: the path may lead anywhere
    const parent = names.reduce((node: any, name) => node[name], file)
    if (value !== undefined) parent[last] = value
    else if (Array.isArray(parent)) parent.splice(Number(last), 1)
    else delete parent[last]
  }
  return file
}

const validationErrors = (file: unknown) => {
  const checked = checkFile(file)
  return checked.kind === 'refused' ? checked.errors : 'accepted'
}

const id = 'must be an integer from 1 to 2147483647.'
const price = 'must be an amount from 0 to 9999999999.99.'
const format = 'must be at most 50 printable ASCII characters without blanks, at least one of them #, @ or *.'

/** Lists the path of each invalid value, the value, the sentence, and the path of the sentence if it differs. */
const mistakes: [string, unknown, string, string?][] = [
  ['merchants', undefined, 'The merchants field is required.'],
  ['states', 'all', 'The states field must be an array.'],
  ['extra', 1, 'The extra field is not known.'],
  ['tenant.logo', '', 'The logo field is not known.'],
  ['merchants.1.businesses.0.phone', { home: '077' }, 'The phone field is not known.'],
  ['tenant.id', 'Demo', 'The id field must be 1 to 63 of a-z, 0-9, _ and -.'],
  ['tenant.currency', 'rupee', 'The currency field must be a currency code such as LKR.'],
  ['tenant.country', 'Lanka', 'The country field must be a country code such as LK.'],
  ['tenant.time_zone', 'Mars/Base', 'There is no time zone Mars/Base.'],
  ['tenant.time_zone', '+05:30', 'There is no time zone +05:30.'],
  ['tenant.waybills.mode', 'both', 'The mode field must be auto or manual.'],
  ['tenant.waybills.format', 'DM', `The format field ${format}`],
  ['tenant.waybills.format', 'DM ##', `The format field ${format}`],
  ['tenant.secondary_phone', 'yes', 'The secondary phone field must be a boolean.'],
  ['states.0.id', '1', `The id field ${id}`],
  ['states.1.cities.0.id', 2147483648, `The id field ${id}`],
  ['states.0.name', 'x'.repeat(256), 'The name field must be a text of 1 to 255 characters.'],
  ['states.0.cities.1.name', ' ', 'The name field is required.'],
  ['states.0.cities.1.postal_code', '1'.repeat(21), 'The postal code field must not be greater than 20 characters.'],
  ['states.1.id', 1, 'The state id 1 appears twice.'],
  ['states.1.name', ' COLOMBO', 'The state name colombo appears twice.'],
  ['states.1.cities.0.id', 1500, 'The city id 1500 appears twice.'],
  ['states.0.cities.1.name', 'kotte ', 'The city name kotte appears twice.'],
  ['states.0.cities.1.aliases', ['DEHIWALA'], 'The city name dehiwala appears twice.', 'states.0.cities.1.aliases.0'],
  ['states.0.cities.1.aliases', ['Kotte'], 'The city name kotte appears twice.', 'states.0.cities.1.aliases.0'],
  ['states.0.cities.1.aliases', ['Hill', ' hill'], 'The city name hill appears twice.', 'states.0.cities.1.aliases.1'],
  [
    'states.0.cities.1.aliases',
    [''],
    'The states.0.cities.1.aliases.0 field is required.',
    'states.0.cities.1.aliases.0',
  ],
  [
    'states.0.cities.1.aliases',
    Array.from('abcdefghijklmnopqrstu'),
    'The aliases field must not have more than 20 items.',
  ],
  ['rate_cards.1', tenantFile().rate_cards[0], 'The rate card standard appears twice.', 'rate_cards.1.name'],
  ['rate_cards.0.zones.north.1', 9, 'There is no city 9 in this file.'],
  ['rate_cards.0.zones.north.1', 1500, 'The city 1500 appears twice.'],
  ['rate_cards.0.zones.rest', '*', 'The zone of all other cities * appears twice.'],
  ['rate_cards.0.rates.0.from', 'moon', 'The card has no zone moon.'],
  ['rate_cards.0.rates.0.to', 'toString', 'The card has no zone toString.'],
  ['rate_cards.0.rates.1.to', 'metro', 'The pair of zones metro to metro appears twice.', 'rate_cards.0.rates.1'],
  ['rate_cards.0.rates.1.first_kg', 90.125, 'The amount 90.125 has too many decimals: LKR has 2.'],
  ['rate_cards.0.rates.1.first_kg', '450', `The first kg field ${price}`],
  ['rate_cards.0.rates.1.each_extra_kg', -1, `The each extra kg field ${price}`],
  ['merchants.0.email', 'shop', 'The email field must be an e-mail address.'],
  ['merchants.1.email', 'SHOP@example.com', 'The e-mail address shop@example.com appears twice.'],
  ['merchants.0.password', 'short', 'The password field must be 8 to 255 characters long.'],
  ['merchants.1.rate_card', 'gold', 'There is no rate card gold in this file.'],
  ['merchants.1.businesses.0.id', 7290, 'The business id 7290 appears twice.'],
  ['merchants.0.businesses.1.default', true, 'A merchant has one default business at most.', 'merchants.0.businesses'],
]

t.test('an error in a file is reported under its path', async t => {
  for (const [path, value, sentence, reportedAt = path] of mistakes)
    t.strictSame(
      validationErrors(fileWith({ [path]: value })),
      { [reportedAt]: [sentence] },
      `${path} ${JSON.stringify(value)}`,
    )
})

t.test('one check reports every error of a file', async t => {
  const cities = { 'states.1.id': 1, 'states.1.cities.0.id': 1500 }
  const errors = validationErrors(
    fileWith({ 'tenant.time_zone': 'Mars/Base', ...cities, 'merchants.1.rate_card': 'gold' }),
  )
  t.strictSame(Object.keys(errors), ['tenant.time_zone', ...Object.keys(cities), 'merchants.1.rate_card'])
})

t.test('a file without errors is accepted, even with one city name in two states or with empty lists', async t => {
  t.equal(validationErrors(tenantFile()), 'accepted')
  t.equal(validationErrors(fileWith({ 'states.1.cities.0.name': 'Kotte' })), 'accepted')
  t.equal(validationErrors(fileWith({ states: [], rate_cards: [], merchants: [] })), 'accepted')
})

t.test('a zone has a name, and lists cities or is "*"', async t => {
  const zones: [string, unknown][] = [
    ['metro', 'x'],
    ['metro', ['1500']],
    ['metro', { city: 1500 }],
    ['', [2100]],
    ['x'.repeat(256), [2100]],
    ['two\nlines', 'x'],
  ]
  for (const [zone, members] of zones) {
    const sentences = JSON.stringify(validationErrors(fileWith({ [`rate_cards.0.zones.${zone}`]: members })))
    t.match(sentences, /^\{"rate_cards\.0\.zones/, JSON.stringify([zone, members]).slice(0, 40))
    t.notMatch(sentences, /undefined|more than/)
  }
})

t.test('pairs of zones differ even if their names read alike', async t => {
  const price = { first_kg: 1, each_extra_kg: 1 }
  const zones = { a: [1500], 'b to c': [1501], 'a to b': [2100], c: '*' }
  const rates = [
    { from: 'a', to: 'b to c', ...price },
    { from: 'a to b', to: 'c', ...price },
  ]
  t.strictSame(validationErrors(fileWith({ 'rate_cards.0': { name: 'standard', zones, rates } })), 'accepted')
})

t.test('text that Postgres cannot store is an error of the file', async t => {
  const sentence = 'The name field must not contain a null character or half of a surrogate pair.'
  for (const name of ['Kot\u0000te', 'Kot\ud800te'])
    t.strictSame(validationErrors(fileWith({ 'states.0.cities.0.name': name })), {
      'states.0.cities.0.name': [sentence],
    })
})

t.test('refuses a file that is not an object', async t => {
  for (const value of [null, [], 'tenant', 7])
    t.strictSame(validationErrors(value), { '': ['The data must be an object.'] }, JSON.stringify(value))
})

const tables = [
  'statuses',
  'status_moves',
  'tenants',
  'states',
  'cities',
  'city_aliases',
  'rate_cards',
  'zones',
  'zone_cities',
  'rates',
  'merchants',
  'businesses',
]

/** Applies the small tenant to a database; `apply` returns the changes as lines. */
const open = async (t: Test) => {
  const { database, bulk, rows } = await build(t)
  // Resembles the command's own pool: its statements may take long.
  const pool = createPool({ url: database.url, name: 'test operator', connections: 2, statementSeconds: 600 })
  t.teardown(() => pool.end())
  const apply = async (file: TenantFile, dryRun = false): Promise<unknown> => {
    const checked = checkFile(file)
    if (checked.kind === 'refused') throw new Error(JSON.stringify(checked.errors))
    const result = await applyTenant(pool, checked.file, dryRun)
    return result.kind === 'applied'
      ? result.changes.map(({ kind, id, change }) => `${kind} ${id} ${change}`)
      : result.errors
  }
  const everything = () =>
    Promise.all(tables.map(table => rows(`select * from ${table} as row order by row::text collate "C"`)))
  const version = async () => (await rows(`select version from tenants where tenant_id = 'demo'`))[0].version
  return { apply, everything, version, bulk, rows }
}

t.test('applying a file again changes nothing', async t => {
  const { apply, everything, version } = await open(t)
  const before = await everything()
  t.equal(await version(), '2')
  t.strictSame(await apply(tenantFile()), [])
  t.strictSame(await everything(), before)
})

t.test('every change is reported, raises the version and can be reverted', async t => {
  const { apply, version } = await open(t)
  const table: [Record<string, unknown>, string[]][] = [
    [{ 'tenant.name': 'Demo' }, ['tenant demo changed']],
    [{ 'states.2.name': 'North' }, ['state 3 changed']],
    [{ 'states.1.cities.0.postal_code': '80000' }, ['city 2100 changed']],
    [
      { 'states.0.cities.1.aliases': ['Mount', 'දෙහිවල'] },
      ['alias of city 1501 / Mount added', 'alias of city 1501 / දෙහිවල added'],
    ],
    [{ 'rate_cards.0.rates.1.first_kg': 450.01 }, ['rate standard / metro / outstation changed']],
    [
      {
        'rate_cards.0.zones.north': '*',
        'rate_cards.0.zones.outstation': undefined,
        'rate_cards.0.rates.1.to': 'north',
      },
      [
        'zone standard / north changed',
        'zone standard / outstation removed',
        'zone of city standard / 3000 removed',
        'rate standard / metro / north added',
        'rate standard / metro / outstation removed',
      ],
    ],
    [{ 'merchants.1.rate_card': 'standard' }, ['merchant books@example.com changed']],
    [{ 'merchants.0.businesses.1.name': 'Outlet' }, ['business 7291 changed']],
  ]
  for (const [index, [values, changes]] of table.entries()) {
    t.strictSame(await apply(fileWith(values)), changes, changes[0] ?? '')
    t.equal(await version(), String(3 + 2 * index))
    await apply(tenantFile())
  }
})

t.test('a dry run reports the same changes and writes nothing', async t => {
  const { apply, everything } = await open(t)
  const files = [
    fileWith({ 'tenant.id': 'fresh' }),
    fileWith({ 'states.1.cities.1': undefined, 'rate_cards.0.zones.north': [2100], 'merchants.1.name': 'Books' }),
  ]
  for (const file of files) {
    const before = await everything()
    const changes = await apply(file, true)
    t.strictSame(await everything(), before)
    t.strictSame(await apply(file), changes)
    t.notSame(changes, [])
    await apply(tenantFile())
  }
})

t.test('a city left out of the file cannot be chosen until it is back', async t => {
  const { apply, rows, bulk } = await open(t)
  const toHikkaduwa = batch([order({ destination_city_id: 2101 })])
  const isActive = `select is_active from cities where tenant_id = 'demo' and city_id = 2101`
  t.equal((await bulk(toHikkaduwa)).status, 200)
  t.strictSame(await apply(fileWith({ 'states.1.cities.1': undefined })), ['city 2101 deactivated'])
  t.strictSame(await rows(isActive), [{ is_active: false }])
  t.equal((await bulk(toHikkaduwa)).status, 422)
  t.strictSame(await apply(fileWith({ 'states.1.cities.1': undefined })), [], 'the city is deactivated once')
  t.strictSame(await apply(tenantFile()), ['city 2101 changed'])
  t.equal((await bulk(toHikkaduwa)).status, 200)
})

t.test('a state left out of the file is deactivated with its cities', async t => {
  const { apply } = await open(t)
  const file = fileWith({ 'states.2': undefined, 'rate_cards.0.zones.north': [] })
  const changes = ['state 3 deactivated', 'city 3000 deactivated', 'zone of city standard / 3000 removed']
  t.strictSame(await apply(file), changes)
})

t.test('a zone and a rate left out are removed', async t => {
  const { apply, rows } = await open(t)
  const changes = await apply(fileWith({ 'rate_cards.0.zones.north': undefined, 'rate_cards.0.rates.0': undefined }))
  t.strictSame(changes, [
    'zone standard / north removed',
    'zone of city standard / 3000 removed',
    'rate standard / metro / metro removed',
  ])
  t.strictSame(await rows('select zone from zones order by zone'), [{ zone: 'metro' }, { zone: 'outstation' }])
  t.strictSame(await rows('select to_zone, first_kg from rates'), [{ to_zone: 'outstation', first_kg: '450.00' }])
})

t.test('merchants and cards that a file does not name stay', async t => {
  const { apply, everything } = await open(t)
  const before = await everything()
  t.strictSame(await apply(fileWith({ 'merchants.0': undefined })), [])
  t.strictSame(await apply(fileWith({ merchants: [], rate_cards: [] })), [])
  t.strictSame(await everything(), before)
})

t.test('refuses the whole file for a business of a merchant that the file does not name', async t => {
  const { apply, everything } = await open(t)
  const before = await everything()
  const file = fileWith({ 'merchants.0': undefined, 'merchants.0.businesses.0.id': 7290, 'tenant.name': 'Other' })
  t.strictSame(await apply(file), {
    'merchants.0.businesses.0.id': ['Business 7290 belongs to a merchant that this file does not name.'],
  })
  t.strictSame(await everything(), before)
})

t.test('a business can move to another merchant of the file, and be left out', async t => {
  const { apply, rows } = await open(t)
  const moved = fileWith({
    'merchants.0.businesses.1': undefined,
    'merchants.1.businesses.1': { id: 7291, name: 'Outlet' },
  })
  t.strictSame(await apply(moved), ['business 7291 changed'])
  const owner = `select email, businesses.is_active from businesses join merchants using (tenant_id, merchant_id)
    where business_id = 7291`
  t.strictSame(await rows(owner), [{ email: 'books@example.com', is_active: true }])
  t.strictSame(await apply(fileWith({ 'merchants.0.businesses.1': undefined })), ['business 7291 deactivated'])
  t.strictSame(await rows(owner), [{ email: 'books@example.com', is_active: false }])
})

t.test('a password is hashed anew only when it changes', async t => {
  const { apply, rows } = await open(t)
  const hash = async () =>
    (await rows(`select password_hash from merchants where email = 'shop@example.com'`))[0].password_hash
  const before = await hash()
  t.strictSame(await apply(fileWith({ 'merchants.0.email': 'Shop@Example.com' })), [])
  t.equal(await hash(), before)
  t.strictSame(await apply(fileWith({ 'merchants.0.password': 'another-password' })), [
    'merchant shop@example.com changed',
  ])
  t.equal(await isPassword('another-password', await hash()), true)
  t.equal(await isPassword('lanka-shoes-demo', await hash()), false)
})

t.test('passwords are hashed before the transaction, which they do not keep waiting', async t => {
  const { pool, rows } = await build(t)
  const open = `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`
  const found: number[] = []
  const hash = async (password: string) => {
    found.push((await rows(open)).length)
    return hashPassword(password)
  }
  const isCorrect: typeof isPassword = async (password, stored) => {
    found.push((await rows(open)).length)
    return isPassword(password, stored)
  }
  const [shop, books] = tenantFile().merchants
  const merchants = [
    shop,
    { ...books, password: 'another-password' },
    { ...shop, email: 'new@example.com', businesses: [] },
  ]
  const changed = { ...tenantFile(), merchants } as TenantFile
  t.match(await applyTenant(pool, changed, false, { passwords: { hash, isCorrect } }), { kind: 'applied' })
  // Two passwords are compared; one of them and that of the new merchant are hashed.
  t.strictSame(found, [0, 0, 0, 0])
})

t.test('two operators applying a new tenant at once both succeed', async t => {
  const { apply, rows } = await open(t)
  const file = fileWith({ 'tenant.id': 'fresh' })
  await Promise.all([apply(file), apply(file)])
  t.strictSame(await rows(`select count(*)::integer as cities from cities where tenant_id = 'fresh'`), [{ cities: 5 }])
  t.strictSame(await apply(file), [])
})

t.test('a zone keeps its id while others come and go', async t => {
  const file = tenantFile()
  const [card] = file.rate_cards as [TenantFile['rate_cards'][number]]
  const { apply, rows } = await build(t, { file })
  const ids = async () =>
    Object.fromEntries(
      (await rows('select rate_card, zone, zone_id from zones')).map(row => [
        `${row.rate_card} ${row.zone}`,
        row.zone_id,
      ]),
    )
  const before = await ids()
  t.strictSame(before, { 'standard metro': 1, 'standard north': 2, 'standard outstation': 3 })
  const { north: _north, ...zones } = card.zones
  await apply({
    ...file,
    rate_cards: [
      { ...card, zones: { suburb: [3000], ...zones } },
      { ...card, name: 'other' },
    ],
  })
  t.strictSame(await ids(), {
    'standard metro': 1,
    'standard outstation': 3,
    'standard suburb': 4,
    'other metro': 5,
    'other north': 6,
    'other outstation': 7,
  })
})

/** Returns a file with 2,000 cities in 25 states and a card of `zoneCount` zones with a rate from each zone to each. */
const largeFile = (zoneCount: number): TenantFile => {
  const zones = Array.from({ length: zoneCount }, (_, zone) => `zone ${zone}`)
  const cityIds = Array.from({ length: 2000 }, (_, index) => index + 1)
  const states = Array.from({ length: 25 }, (_, state) => ({
    id: state + 1,
    name: `State ${state}`,
    cities: cityIds.filter(id => id % 25 === state).map(id => ({ id, name: `City ${id}` })),
  }))
  const listCities = (zone: number) => cityIds.filter(id => id % zoneCount === zone)
  const card = {
    name: 'large',
    zones: Object.fromEntries(zones.map((name, zone) => [name, listCities(zone)])),
    rates: zones.flatMap((from, f) =>
      zones.map((to, index) => ({ from, to, first_kg: f + index, each_extra_kg: 9.5 })),
    ),
  }
  return { ...fileWith({ 'tenant.id': 'large' }), states, rate_cards: [card], merchants: [] }
}

t.test('2,000 cities and a card of 200 zones are applied, applied again and cut down in seconds', async t => {
  const { apply, rows } = await open(t)
  const timed = async (what: string, file: TenantFile): Promise<number> => {
    const started = performance.now()
    const changes = await apply(file)
    const seconds = (performance.now() - started) / 1000
    t.comment(`${what}: ${seconds.toFixed(2)} s`)
    t.ok(seconds < 20, `${what} took ${seconds} s`)
    return (changes as string[]).length
  }
  t.equal(await timed('new', largeFile(200)), 1 + 21 + 26 + 25 + 2000 + 1 + 200 + 2000 + 40_000)
  t.strictSame(await rows(`select count(*)::integer as rates from rates where rate_card = 'large'`), [
    { rates: 40_000 },
  ])
  t.equal(await timed('again', largeFile(200)), 0)
  t.equal(await timed('cut down to 2 zones', largeFile(2)), 198 + 1980 + 40_000 - 4)
})
