import { inTenant } from '@courier/shared/postgres/database.ts'
import fc from 'fast-check'
import { sql } from 'kysely'
import { pino } from 'pino'
import t from 'tap'
import { findPhoneCountry } from '../../core/conversations/phone-number.ts'
import type { Tx } from '../../core/database/tables.ts'
import { checkFile } from '../../core/provisioning/check-file.ts'
import { createNotifierHousekeeping } from '../../housekeeping.ts'
import { demoFile } from '../../test/rules-of-demo.ts'
import { change, createFixture, envelope, minutesAgo, seconds, status } from '../../test/webhooks-fixture.ts'
import { applyTariffs } from './apply.ts'
import { costs } from './capability.ts'
import { costsPart, listTariffs } from './file-part.ts'
import { anyCountry, chooseTariff, findDay, findPrice, type Tariff, type TenantTariffs } from './price.ts'
import { findCosts, findTariffs, tariffJoin } from './queries.ts'
import { type CostGroup, reportCosts } from './report.ts'
import { costRoutes } from './routes.ts'

const tariff = (category: string, country: string, from: string, price: string): Tariff => ({
  category,
  country,
  from,
  price,
})
const pricing = (more: object = {}) => ({
  billable: true,
  pricing_model: 'PMP',
  type: 'regular',
  category: 'utility',
  ...more,
})
const delivered = (id: string, more: object = {}) =>
  status({ id, status: 'delivered', timestamp: minutesAgo(5), pricing: pricing(), ...more })

const noticed: string[] = []
const logger = pino({ level: 'warn' }, { write: line => void noticed.push(JSON.parse(line).msg) })
const { app, pool, rows, addMessages, call, get } = await createFixture(t, { logger })
await app.register(async staff => {
  staff.addHook('onRequest', async request => {
    const actor = { kind: 'staff' as const, name: 'Ruwan' }
    request.staff = { tenant: String(request.headers['x-tenant']), name: '', roles: ['admin'], tokenId: '', actor }
  })
  await staff.register(costRoutes, { pool })
})

let last = 0
const prepare = async (tariffs: Tariff[] = [tariff('utility', 'LK', '2026-01-01', '0.0165')]) => {
  await rows(`truncate message_prices; delete from message_events; delete from messages`)
  await rows(`update tenants set currency = 'USD', time_zone = 'Asia/Colombo' where tenant_id = 'demo'`)
  await inTenant(pool, 'demo', (tx: Tx) => applyTariffs(tx, 'demo', tariffs))
  const id = `m${++last}`
  await addMessages([{ id, providerMessageId: `wamid.${id}` }])
  return { id, wamid: `wamid.${id}` }
}
const costOf = async (id: string) => (await inTenant(pool, 'demo', (tx: Tx) => findCosts(tx, 'demo', [id]))).get(id)
const prices = () => rows('select provider_message_id, category, country, is_free, type, template from message_prices')

t.test('prices a delivered message once, however often and in whatever order webhooks report it', async t => {
  const { id, wamid } = await prepare()
  const post = (...statuses: object[]) => call(envelope({ statuses }))
  await post(status({ id: wamid, timestamp: minutesAgo(6), pricing: pricing() }))
  t.strictSame(await prices(), [], 'a sent message costs nothing until it is delivered')
  await post(status({ id: wamid, status: 'read', timestamp: minutesAgo(4) }))
  t.strictSame(await prices(), [])
  await post(delivered(wamid), delivered(wamid), delivered(wamid, { timestamp: minutesAgo(3) }))
  await post(delivered(wamid))
  t.strictSame(await prices(), [
    {
      provider_message_id: wamid,
      category: 'utility',
      country: 'LK',
      is_free: false,
      type: 'regular',
      template: 'hello',
    },
  ])
  t.strictSame(await costOf(id), { amount: '0.0165', currency: 'USD', category: 'utility', is_free: false })
})

t.test('webhooks without pricing, or with unknown pricing, still move messages', async t => {
  const odd = [undefined, null, 7, 'x', [], {}, { category: '\u0000' }, { category: 'x'.repeat(50) }]
  for (const pricing of odd) {
    const { id, wamid } = await prepare()
    t.equal((await call(envelope({ statuses: [delivered(wamid, { pricing })] }))).statusCode, 200)
    t.equal((await rows('select status from messages where message_id = $1', [id]))[0].status, 'delivered')
    t.strictSame(await prices(), [])
    t.equal(await costOf(id), undefined)
  }
})

t.test('messages that the platform does not bill are free, and categories follow its bill', async t => {
  const cases: [object, string | null, boolean, string][] = [
    [{ billable: false, type: 'free_customer_service' }, '0', true, 'utility'],
    [{ billable: false, type: 'free_entry_point', category: 'referral_conversion' }, '0', true, 'referral_conversion'],
    [{ category: 'marketing' }, null, false, 'marketing'],
    [{ category: 'authentication-international' }, null, false, 'authentication_international'],
    [{ billable: false, type: undefined, pricing_model: 'CBP' }, '0', true, 'utility'],
    [{ billable: true, type: undefined, pricing_model: 'CBP' }, '0.0165', false, 'utility'],
  ]
  for (const [more, amount, is_free, category] of cases) {
    const { id, wamid } = await prepare()
    await call(envelope({ statuses: [delivered(wamid, { pricing: pricing(more) })] }))
    t.strictSame(await costOf(id), { amount, currency: 'USD', category, is_free })
  }
})

t.test('a message that was sent again costs twice if both sends were delivered', async t => {
  const { id, wamid } = await prepare()
  await rows(`update messages set former_ids = '{wamid.former}' where message_id = $1`, [id])
  const former = delivered('wamid.former', { biz_opaque_callback_data: id })
  await call(envelope({ statuses: [former, delivered(wamid), former] }))
  t.equal((await prices()).length, 2)
  t.match(await costOf(id), { amount: '0.033', is_free: false })
})

t.test('a change of category is first announced and then made, and the template shows both', async t => {
  await rows(`insert into templates (tenant_id, waba_id, name, language, status, category, parameter_format, components)
    values ('demo', 'waba-demo', 'order_created', 'en_US', 'APPROVED', 'UTILITY', 'POSITIONAL', '[]')`)
  const named = {
    message_template_id: 278077987957091,
    message_template_name: 'order_created',
    message_template_language: 'en-US',
  }
  const post = async (value: object, at: number) => {
    const entry = [change({ ...named, ...value }, 'template_category_update', 'waba-demo', at)]
    t.equal((await call({ object: 'whatsapp_business_account', entry })).statusCode, 200)
  }
  const shown = async () => {
    const { category, category_change } = (await get('/api/templates?name=order_created')).json().data[0]
    return [category, category_change]
  }
  const now = seconds(new Date())
  const iso = (at: number) => new Date(at * 1000).toISOString()
  t.strictSame(await shown(), ['UTILITY', null])
  await post(
    { correct_category: 'MARKETING', new_category: 'UTILITY', category_update_timestamp: now + 86_400 },
    now - 60,
  )
  const coming = ['UTILITY', { from: 'UTILITY', to: 'MARKETING', at: iso(now + 86_400) }]
  t.strictSame(await shown(), coming)
  for (const odd of [
    {},
    { new_category: 7 },
    { new_category: 'x y' },
    { new_category: 'MARKETING', message_template_name: null },
  ])
    await post(odd, now - 30)
  t.strictSame(await shown(), coming)
  await post({ previous_category: 'UTILITY', new_category: 'MARKETING' }, now - 20)
  const changed = ['MARKETING', { from: 'UTILITY', to: 'MARKETING', at: iso(now - 20) }]
  t.strictSame(await shown(), changed)
  await post(
    { correct_category: 'MARKETING', new_category: 'UTILITY', category_update_timestamp: now + 86_400 },
    now - 60,
  )
  t.strictSame(await shown(), changed, 'an older report changes nothing')
  t.strictSame(noticed, ['template.category_announced', 'template.category_changed'])
})

t.test('the report sums by day, template, merchant and category, and names missing tariffs', async t => {
  await prepare([
    tariff('utility', 'LK', '2026-01-01', '0.01'),
    tariff('utility', 'LK', '2026-02-10', '0.02'),
    tariff('marketing', anyCountry, '2026-01-01', '0.5'),
  ])
  const insert = (at: string, category: string, country: string, merchant: string | null, more: object = {}) =>
    rows(
      `insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, country, is_free,
        template, merchant)
       values ($1, gen_random_uuid(), '', $2, $3, $4, $5, $6, $7)`,
      [
        'demo',
        at,
        category,
        country,
        Object.hasOwn(more, 'free'),
        category === 'marketing' ? 'offer' : 'order_created',
        merchant,
      ],
    )
  // In Colombo it is half past five in the morning when a day begins in UTC.
  await insert('2026-02-09T18:29:59Z', 'utility', 'LK', 'Lanka Shoes')
  await insert('2026-02-09T18:30:00Z', 'utility', 'LK', 'Lanka Shoes')
  await insert('2026-02-10T10:00:00Z', 'utility', 'LK', null, { free: true })
  await insert('2026-02-10T10:00:00Z', 'utility', 'IN', null)
  await insert('2026-02-11T10:00:00Z', 'marketing', 'IN', 'Saree House')
  await insert('2026-03-01T10:00:00Z', 'utility', 'LK', 'Lanka Shoes')
  const read = async (group: string) => {
    const response = await get(`/api/costs?from=2026-02-01&to=2026-02-28&group=${group}`)
    t.equal(response.statusCode, 200)
    return response.json()
  }
  const sums = (
    group: string | null,
    messages: number,
    paid: number,
    free: number,
    unknown: number,
    amount: string,
  ) => ({
    group,
    messages,
    paid,
    free,
    unknown,
    amount,
  })
  const byDay = await read('day')
  t.strictSame(byDay.data, [
    sums('2026-02-09', 1, 1, 0, 0, '0.01'),
    sums('2026-02-10', 3, 1, 1, 1, '0.02'),
    sums('2026-02-11', 1, 1, 0, 0, '0.5'),
  ])
  const total = { messages: 5, paid: 3, free: 1, unknown: 1, amount: '0.53' }
  t.match(byDay, {
    from: '2026-02-01',
    to: '2026-02-28',
    time_zone: 'Asia/Colombo',
    currency: 'USD',
    total,
    budget: null,
  })
  t.strictSame(byDay.without_tariff, [{ category: 'utility', country: 'IN', messages: 1 }])
  t.strictSame((await read('merchant')).data, [
    sums('Lanka Shoes', 2, 2, 0, 0, '0.03'),
    sums(null, 2, 0, 1, 1, '0'),
    sums('Saree House', 1, 1, 0, 0, '0.5'),
  ])
  t.strictSame((await read('template')).data, [
    sums('order_created', 4, 2, 1, 1, '0.03'),
    sums('offer', 1, 1, 0, 0, '0.5'),
  ])
  t.strictSame((await read('category')).data.length, 2)
  for (const group of ['day', 'category']) t.strictSame((await read(group)).total, total)
  t.equal((await get('/api/costs', 'rival')).json().total.messages, 0, 'another tenant sees none of these costs')
})

t.test('the report accepts at most 366 days, and only dates that exist', async t => {
  const codes = async (query: string) => (await get(`/api/costs?${query}`)).statusCode
  t.equal(await codes('from=2027-01-01&to=2028-01-01'), 200)
  const wrong = [
    'from=2026-01-01&to=2027-01-02',
    'from=2026-02-30',
    'to=2026-2-3',
    'from=2026-02-02&to=2026-02-01',
    'group=week',
    'to=%00',
  ]
  for (const query of wrong) t.equal(await codes(query), 422, query)
})

const word = (...of: string[]) => fc.constantFrom(...of)
const day = word('2026-01-01', '2026-01-31', '2026-02-01', '2026-12-31')
const tariffs = fc.uniqueArray(
  fc.record({
    category: word('utility', 'marketing'),
    country: word('LK', 'IN', anyCountry),
    from: day,
    price: word('0', '0.1', '12.345678'),
  }),
  { selector: ({ category, country, from }) => `${category} ${country} ${from}`, maxLength: 12 },
)

t.test(
  'the latest tariff for the country applies, else the latest for every country, in SQL as in chooseTariff',
  async t => {
    await fc.assert(
      fc.asyncProperty(
        tariffs,
        word('utility', 'marketing'),
        word('LK', 'US', ''),
        day,
        async (all, category, country, on) => {
          const chosen = chooseTariff(all, category, country || undefined, on)
          const fitting = all.filter(one => one.category === category && one.from <= on)
          const own = fitting.filter(one => one.country === country)
          const candidates = own.length > 0 ? own : fitting.filter(one => one.country === anyCountry)
          t.equal(chosen, candidates.toSorted((a, b) => (a.from < b.from ? -1 : 1)).at(-1))
          const found = await inTenant(pool, 'demo', async (tx: Tx) => {
            await applyTariffs(tx, 'demo', all)
            const row = sql`(select 'demo' as tenant_id, ${category} as category, nullif(${country}, '') as country,
              false as is_free) p`
            const { rows } = await sql<{
              price: string
            }>`select tariff.price from ${row} ${tariffJoin('p', sql`${on}::date`)}`.execute(tx)
            return rows[0]?.price ?? undefined
          })
          t.equal(found, chosen?.price)
        },
      ),
      { numRuns: 40 },
    )
  },
)

t.test('a reply without a tariff of its own costs what a utility message does, since October 2026', async t => {
  await inTenant(pool, 'demo', (tx: Tx) => applyTariffs(tx, 'demo', [tariff('utility', 'LK', '2026-01-01', '0.0165')]))
  const insert = (at: string, more: object = {}) => {
    const columns = { tenant_id: 'demo', message_id: at, provider_message_id: '', priced_at: at, country: 'LK' }
    const row = { ...columns, category: 'service', is_free: false, template: '', phone_number_id: '100', ...more }
    return rows(`insert into message_prices select * from jsonb_populate_record(null::message_prices, $1::jsonb)`, [
      row,
    ])
  }
  await insert('2026-09-30T18:29:59Z')
  await insert('2026-09-30T18:30:00Z')
  await insert('2026-10-02T08:00:00Z')
  await insert('2026-10-03T08:00:00Z', { is_free: true })
  const report = await get('/api/costs?from=2026-09-30&to=2026-10-31&group=day')
  t.match(report.json(), {
    data: [
      { group: '2026-09-30', unknown: 1, amount: '0' },
      { group: '2026-10-01', paid: 1, amount: '0.0165' },
      { group: '2026-10-02', paid: 1, amount: '0.0165' },
      { group: '2026-10-03', free: 1, amount: '0' },
    ],
    total: { messages: 4, paid: 2, free: 1, unknown: 1, amount: '0.033' },
  })
})

t.test('estimates the price of a message before it is sent', async t => {
  await prepare()
  const known: TenantTariffs = await inTenant(pool, 'demo', (tx: Tx) => findTariffs(tx, 'demo'))
  const price = (more: object) =>
    findPrice(known, {
      category: 'UTILITY',
      country: 'LK',
      at: new Date('2026-02-19T08:00:00Z'),
      isWindowOpen: false,
      ...more,
    })
  t.strictSame(price({}), { amount: '0.0165', currency: 'USD', category: 'utility', is_free: false, reason: 'tariff' })
  t.match(price({ isWindowOpen: true }), { amount: '0', is_free: true, reason: 'open_window' })
  t.match(price({ isWindowOpen: true, category: 'MARKETING' }), { amount: null, is_free: false, reason: 'no_tariff' })
  t.match(price({ country: 'IN' }), { amount: null, reason: 'no_tariff' })
  t.match(price({ category: undefined }), { amount: null, reason: 'no_category' })
  t.match(price({ at: new Date('2025-12-31T18:29:59Z') }), { amount: null }, 'it is still last year in Colombo')
  t.match(price({ at: new Date('2025-12-31T18:30:00Z') }), { amount: '0.0165' })
  t.equal(findDay(new Date('2025-12-31T18:30:00Z'), 'Asia/Colombo'), '2026-01-01')
  const countries = {
    '94770000101': 'LK',
    '14165551234': 'CA',
    '16502530000': 'US',
    '77011234567': 'KZ',
    '5215512345678': 'MX',
  }
  for (const [digits, country] of Object.entries(countries)) t.equal(findPhoneCountry(digits), country)
  for (const digits of ['', '1', '999', '80012345678']) t.equal(findPhoneCountry(digits), undefined)
})

t.test('checks tariffs in the file', async t => {
  const secrets = { DEMO_ACCESS_TOKEN: 'demo-access-token', DEMO_APP_SECRET: 'demo-app-secret' }
  const errorsOf = (tariffs: unknown, tenant: object = {}) => {
    const file = demoFile([])
    const checked = checkFile({ ...file, tenant: { ...file.tenant, ...tenant }, tariffs }, secrets, [costsPart])
    return checked.kind === 'refused' ? Object.keys(checked.errors) : listTariffs(checked.file.given)
  }
  const one = { category: 'utility', country: 'LK', from: '2026-01-01', price: '0.0165' }
  const { country: _, ...anywhere } = one
  t.strictSame(errorsOf([one, anywhere]), [one, { ...one, country: anyCountry }])
  const wrong: [object[], string][] = [
    [[one, one], 'tariffs.1'],
    [[anywhere, { ...one, country: '*' }], 'tariffs.1'],
    [[one, { ...one, from: '2025-12-31' }], 'tariffs.1.from'],
    [[{ ...one, category: 'gossip' }], 'tariffs.0.category'],
    [[{ ...one, country: 'XX' }], 'tariffs.0.country'],
    [[{ ...one, from: '2026-02-30' }], 'tariffs.0.from'],
    [[{ ...one, price: 0.0165 }], 'tariffs.0.price'],
    [[{ ...one, price: '-1' }], 'tariffs.0.price'],
    [[{ ...one, price: '1e3' }], 'tariffs.0.price'],
    [[{ ...one, more: 1 }], 'tariffs.0.more'],
  ]
  for (const [tariffs, path] of wrong) t.strictSame(errorsOf(tariffs), [path])
  t.strictSame(errorsOf([], { budget: { monthly: 250 } }), ['tenant.budget.monthly'])
})

t.test('keeps prices for 25 months', async t => {
  await prepare()
  await rows(`insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, is_free,
    template)
    select 'demo', months::text, '', now() - make_interval(months => months), 'utility', false, 'x'
      from unnest(array[0, 24, 26, 60]) as months`)
  await createNotifierHousekeeping(pool, pino({ level: 'silent' }), costs.housekeeping).clean()
  t.strictSame(await rows('select message_id from message_prices order by 1'), [
    { message_id: '0' },
    { message_id: '24' },
  ])
})

t.test('a report lists at most 1,000 groups and 100 combinations without a tariff', async t => {
  await prepare()
  await rows(`insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, is_free,
    template, merchant)
    select 'demo', n::text, '', '2026-02-10', 'c' || n % 200, false, 'x', 'merchant ' || n
      from generate_series(1, 1500) n`)
  const read = (group: CostGroup) =>
    inTenant(pool, 'demo', (tx: Tx) =>
      reportCosts(tx, 'demo', { from: '2026-02-01', to: '2026-02-28', timeZone: 'UTC' }, group),
    )
  const { data, total, without_tariff } = await read('merchant')
  t.strictSame([data.length, total.messages, total.unknown, without_tariff.length], [1000, 1500, 1500, 100])
})

t.test('a report leaves the planner of its transaction as it was', async t => {
  await prepare()
  const read = (tx: Tx) => tx.rows<{ enable_sort: string }>('show enable_sort')
  const found = await inTenant(pool, 'demo', async (tx: Tx) => {
    await reportCosts(tx, 'demo', { from: '2026-02-01', to: '2026-02-28', timeZone: 'UTC' }, 'day')
    return read(tx)
  })
  t.same(found, [{ enable_sort: 'on' }])
})
