import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import t from 'tap'
import { createFixture } from '../../test/webhooks-fixture.ts'
import type { Tx } from '../database/tables.ts'
import type { Failed, Refused } from '../messaging-api/responses.ts'
import { findTemplates, holdTemplate } from './queries.ts'
import { syncTemplates } from './sync.ts'

const listed = (name: string, fields: Record<string, unknown> = {}) => ({
  id: '1387372356726668',
  name,
  language: 'en_US',
  status: 'APPROVED',
  category: 'UTILITY',
  parameter_format: 'POSITIONAL',
  components: [{ type: 'BODY', text: 'Hi {{1}}' }],
  ...fields,
})

/** Returns a list in the API's form. */
const listing = (templates: unknown[]) => async () => ({
  ...{ kind: 'received' as const, value: templates, servedVersion: null },
})
const refusal = (code: number | null): Refused => ({
  ...{ kind: 'refused', status: 400, code, subcode: null, details: 'no', isTransient: false },
  ...{ retryAfterSeconds: null, servedVersion: null },
})
const sync = (pool: pg.Pool, templates: unknown[]) => syncTemplates(pool, 'demo', 'waba-demo', listing(templates))
const hold = (pool: pg.Pool, name: string, language = 'en_US') =>
  inTenant(pool, 'demo', async (tx: Tx) => {
    const held = await holdTemplate(tx, { tenant: 'demo', phoneNumberId: '101' }, { name, language, code: 132015 })
    return held.numAffectedRows === 1n
  })
const find = (pool: pg.Pool, names: string[], tenant = 'demo') =>
  inTenant(pool, tenant, (tx: Tx) => findTemplates(tx, tenant, 'waba-demo', names))

t.test('a sync replaces the catalogue with the account’s list and returns the changes', async t => {
  const { pool, rows } = await createFixture(t)
  const first = [listed('a'), listed('b'), listed('b', { language: 'si' }), listed('c'), { name: 'no template' }]
  t.same(await sync(pool, first), { kind: 'synced', templates: 4, added: 4, changed: 0, removed: 0, skipped: 1 })
  t.same(await sync(pool, first), { kind: 'synced', templates: 4, added: 0, changed: 0, removed: 0, skipped: 1 })
  const second = [listed('a', { status: 'PAUSED' }), listed('b'), listed('d'), listed('d', { category: 'MARKETING' })]
  t.same(await sync(pool, second), { kind: 'synced', templates: 3, added: 1, changed: 1, removed: 2, skipped: 1 })
  t.same(await rows('select name, language, status, category from templates order by name'), [
    { name: 'a', language: 'en_US', status: 'PAUSED', category: 'UTILITY' },
    { name: 'b', language: 'en_US', status: 'APPROVED', category: 'UTILITY' },
    { name: 'd', language: 'en_US', status: 'APPROVED', category: 'MARKETING' },
  ])
})

t.test('an account without templates empties the catalogue of that account only', async t => {
  const { pool, rows } = await createFixture(t)
  await sync(pool, [listed('a')])
  await syncTemplates(pool, 'rival', 'waba-demo', listing([listed('a')]))
  await syncTemplates(pool, 'demo', 'waba-other', listing([listed('a')]))
  t.match(await sync(pool, []), { kind: 'synced', templates: 0, removed: 1 })
  t.same(await rows('select tenant_id, waba_id from templates order by 1'), [
    { tenant_id: 'demo', waba_id: 'waba-other' },
    { tenant_id: 'rival', waba_id: 'waba-demo' },
  ])
})

t.test('stores texts without the characters that Postgres refuses', async t => {
  const { pool } = await createFixture(t)
  const text = 'a\0b \ud800 \\u0000 😀 "'
  await sync(pool, [listed('a', { components: [{ type: 'BODY', text }] })])
  t.match(await find(pool, ['a']), [{ components: [{ text: 'a\ufffdb \ufffd \\u0000 😀 "' }] }])
})

t.test('a list that breaks off changes nothing', async t => {
  const { pool, rows } = await createFixture(t)
  await sync(pool, [listed('a')])
  const read = (failed: Failed) => syncTemplates(pool, 'demo', 'waba-demo', async () => failed)
  t.match(await read(refusal(200)), { kind: 'refused', reason: /200, .* whatsapp_business_management/ })
  t.match(await read(refusal(null)), { kind: 'failed', reason: /HTTP 400/ })
  t.match(await read({ kind: 'no_response', reason: 'no response' }), { kind: 'failed', reason: /no response/ })
  t.same(await rows('select name from templates'), [{ name: 'a' }])
})

t.test('a cursor that became invalid restarts the list, once', async t => {
  const { pool } = await createFixture(t)
  const badCursor = refusal(131059)
  let lists = 0
  const second = async () => (++lists === 1 ? badCursor : listing([listed('a'), listed('b')])())
  t.match(await syncTemplates(pool, 'demo', 'waba-demo', second), { kind: 'synced', templates: 2 })
  lists = 0
  const never = async () => {
    lists++
    return badCursor
  }
  t.match(await syncTemplates(pool, 'demo', 'waba-demo', never), { kind: 'refused' })
  t.equal(lists, 2)
})

t.test('a sync that shows a template as approved ends its hold', async t => {
  const { pool } = await createFixture(t)
  await sync(pool, [listed('a'), listed('b')])
  t.equal(await hold(pool, 'a'), true)
  t.equal(await hold(pool, 'b'), true)
  t.equal(await hold(pool, 'b', 'si'), false)
  t.match(await find(pool, ['a']), [{ heldAt: Date, heldCode: 132015 }])
  t.match(await sync(pool, [listed('a'), listed('b', { status: 'PAUSED' })]), { changed: 2 })
  t.match(await find(pool, ['a']), [{ heldAt: null, heldCode: null }])
  t.match(await find(pool, ['b']), [{ heldAt: Date, heldCode: 132015 }])
})

t.test('a hold that begins while the list is read stays', async t => {
  const { pool } = await createFixture(t)
  await sync(pool, [listed('a')])
  await syncTemplates(pool, 'demo', 'waba-demo', async () => {
    await hold(pool, 'a')
    return listing([listed('a')])()
  })
  t.match(await find(pool, ['a']), [{ heldAt: Date }])
})

t.test('finds templates by name in all languages; returns undefined for a catalogue that was never synced', async t => {
  const { pool } = await createFixture(t)
  t.equal(await find(pool, ['a']), undefined)
  await sync(pool, [listed('a'), listed('a', { language: 'si' }), listed('b'), listed('c')])
  t.same((await find(pool, ['a', 'c', 'x']))?.map(template => `${template.name} ${template.language}`).sort(), [
    'a en_US',
    'a si',
    'c en_US',
  ])
  t.same(await find(pool, ['x']), [])
  t.equal(await find(pool, ['a'], 'rival'), undefined)
})

t.test('several concurrent syncs succeed', async t => {
  const { pool } = await createFixture(t)
  const all = Array.from({ length: 200 }, (_, index) => listed(`t_${index}`))
  const lists = [all, all.toReversed(), all.slice(0, 100), all.slice(100).toReversed()]
  const results = await Promise.all([...lists, ...lists].map(list => sync(pool, list)))
  t.ok(results.every(result => result.kind === 'synced'))
})

t.test('staff list the templates, in pages and with filters', async t => {
  const { pool, get } = await createFixture(t)
  const all = ['a', 'b', 'c', 'd', 'e'].map(name => listed(name))
  await sync(pool, [...all, listed('e', { language: 'si', status: 'PAUSED' })])
  await hold(pool, 'a')
  const names: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: { data: { name: string }[]; next_cursor: string | null } = (
      await get(`/api/templates?limit=4&cursor=${cursor}`)
    ).json()
    names.push(...page.data.map(template => template.name))
    cursor = page.next_cursor
  }
  t.same(names, ['a', 'b', 'c', 'd', 'e', 'e'])
  const found = async (query: string) =>
    (await get(`/api/templates?${query}`))
      .json()
      .data.map((row: Record<string, string>) => `${row.name} ${row.language}`)
  t.same(await found('status=paused'), ['e si'])
  t.same(await found('name=e&language=en-US'), ['e en_US'])
  t.same(await found('name=nothing'), [])
  const [first] = (await get('/api/templates')).json().data
  t.match(first, {
    waba_id: 'waba-demo',
    category: 'UTILITY',
    components: [{ type: 'BODY', text: 'Hi {{1}}' }],
    held: { at: String, code: 132015 },
  })
  t.same((await get('/api/templates', 'rival')).json(), { data: [], next_cursor: null })
})

t.test('refuses an invalid limit and a made-up cursor', async t => {
  const { get } = await createFixture(t)
  for (const limit of ['0', '201', 'x', '-1', '1e2']) {
    const response = await get(`/api/templates?limit=${limit}`)
    t.equal(response.statusCode, 422)
    t.same(response.json().errors, { limit: ['The limit field must be a whole number, 1 to 200.'] })
  }
  t.match((await get('/api/templates?cursor=eA')).json().errors, { cursor: [/next_cursor/] })
})

t.test('refuses a filter that Postgres cannot store', async t => {
  const { get } = await createFixture(t)
  for (const field of ['name', 'status', 'language'])
    for (const text of ['%00', 'a%00b', 'a'.repeat(513)]) {
      const response = await get(`/api/templates?${field}=${text}`)
      t.equal(response.statusCode, 422, `${field}=${text.slice(0, 10)}`)
      t.match(response.json().errors[field], [/must be a text of at most \d+ characters/])
    }
})

t.test('staff start a sync and read its result', async t => {
  const requested: unknown[] = []
  const responses = [
    { kind: 'synced', templates: 3, added: 1, changed: 1, removed: 0, skipped: 0 },
    { kind: 'refused', reason: '200, no access' },
    { kind: 'failed', reason: 'no response' },
    { kind: 'refused', reason: 'The selected channel is invalid.' },
  ] as const
  const syncChannel = async (...words: unknown[]) => {
    requested.push(words)
    return responses[requested.length - 1] ?? responses[3]
  }
  const { app } = await createFixture(t, { syncChannel })
  const post = (payload?: Record<string, unknown>) =>
    app.inject({
      method: 'POST',
      url: '/api/templates/sync',
      headers: { 'x-tenant': 'demo' },
      ...(payload && { payload }),
    })
  const first = await post()
  t.equal(first.statusCode, 200)
  t.match(first.json(), { data: { templates: 3, added: 1, changed: 1, removed: 0, skipped: 0 } })
  const refused = await post({ channel: '101' })
  t.equal(refused.statusCode, 422)
  t.match(refused.json().errors, { channel: [/200, no access/] })
  const failed = await post({ channel: null })
  t.equal(failed.statusCode, 503)
  t.equal(failed.headers['retry-after'], '5')
  t.match((await post({ channel: 'x' })).json().errors, { channel: ['The selected channel is invalid.'] })
  t.equal((await post({ channel: 7 })).statusCode, 422)
  const by = { kind: 'staff', name: 'Ruwan' }
  t.same(requested, [
    ['demo', undefined, by],
    ['demo', '101', by],
    ['demo', undefined, by],
    ['demo', 'x', by],
  ])
})
