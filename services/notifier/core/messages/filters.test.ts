import { setTimeout as delay } from 'node:timers/promises'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { messageTo, phoneNumberId, until } from '../../test/fixture.ts'
import { build } from '../../test/portal.ts'
import type { Tx } from '../database/tables.ts'
import type { MessageFilter } from './queries.ts'
import { listMessages } from './queries.ts'

const { call, pool, rows } = await build(t)
const get = (path: string) => call('GET', path)
const idOf = async (to: string, more = {}): Promise<string> =>
  (await call('POST', '/api/messages', messageTo(to, more))).body.data.id
const first = await idOf('0770000101', { waybill_number: 'DM00000001' })
const second = await idOf('0770000102')
await call('POST', `/api/messages/${second}/cancel`)

const refusal = async (path: string): Promise<Record<string, string[]>> => {
  const { status, body } = await get(path)
  return status === 422 ? body.errors : { status: [String(status)] }
}

t.test('a page by a filter without an index ends after reading its maximum of messages', async t => {
  const ids = (await rows('select message_id as id from messages order by message_id desc')).map(({ id }) => id)
  const read = (wanted: MessageFilter, after?: string, limit = 50) =>
    inTenant(pool, 'demo', async (tx: Tx) => {
      const page = await listMessages(tx, 'demo', wanted, { after, limit, lookedAt: 1 })
      return [page.rows.map(row => row.id), page.next]
    })
  t.strictSame(await read({ template: 'order_created' }), [[second], second])
  t.strictSame(await read({ template: 'order_created' }, second), [[first], first])
  t.strictSame(await read({ template: 'order_created' }, first), [[], null])
  t.strictSame(await read({ channel: '1' }), [[], second], 'an empty page has a cursor')
  t.strictSame(await read({ channel: phoneNumberId }, undefined, 1), [[second], second])
  t.strictSame(await read({ waybill_number: 'DM00000001' }), [[first], null], 'an index reaches all messages')
  t.strictSame(ids, [second, first])
})

t.test('a page that ends with the last match has no cursor', async t => {
  for (const query of ['to=0770000101', 'waybill_number=DM00000001', 'to=0770000102&status=cancelled'])
    t.match((await get(`/api/messages?limit=1&${query}`)).body, { data: [{}], next_cursor: null }, query)
  const page = (await get('/api/messages?limit=1')).body
  t.match(page.data, [{ id: second }])
  t.match((await get(`/api/messages?cursor=${page.next_cursor}`)).body, { data: [{ id: first }], next_cursor: null })
})

t.test('six lists of a tenant whose filter has no index are read one at a time', async t => {
  const owner = await pool.connect()
  t.teardown(() => owner.release(true))
  await owner.query('begin; lock table messages')
  const lists = Array.from({ length: 6 }, () => get('/api/messages?template=order_created'))
  const waiting = () =>
    rows(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
  await until('one list waits for the table', async () => (await waiting()).length > 0)
  await delay(100)
  t.equal((await waiting()).length, 1)
  await owner.query('rollback')
  for (const { status, body } of await Promise.all(lists)) t.match([status, body.data.length], [200, 2])
})

t.test('filters messages by their fields, written as x or as filter[x]', async t => {
  const today = new Date().toISOString()
  const { data } = (await get('/api/messages')).body
  const madeAt = data[1].created_at
  const table: [query: string, ids: string[]][] = [
    [`id=${first}`, [first]],
    ['status=cancelled', [second]],
    ['status=CANCELLED', [second]],
    ['to=077 000 0101', [first]],
    ['waybill_number=DM00000001', [first]],
    [`channel=${phoneNumberId}`, [second, first]],
    ['channel=1', []],
    ['template=order_created', [second, first]],
    ['template=nothing', []],
    [`created_from=${today.slice(0, 10)}`, [second, first]],
    ['created_to=2020-01-01', []],
    ['created_from=2999-01-01', []],
    [`created_from=${madeAt}&created_to=${madeAt}&id=${first}`, [first]],
    ['status=&to=&created_from=', [second, first]],
  ]
  for (const [query, ids] of table)
    for (const spelling of [query, query.replace(/(^|&)(\w+)=/g, '$1filter[$2]=')]) {
      const { status, body } = await get(`/api/messages?${spelling}`)
      t.same([status, body.data?.map((row: { id: string }) => row.id)], [200, ids], spelling)
    }
})

t.test('lists a recipient’s messages newest first, whatever their statuses, in pages', async t => {
  const statuses = ['queued', 'read', 'held', 'unknown', 'sending', 'cancelled', 'accepted']
  const made: string[] = []
  for (const status of statuses) {
    const id = await idOf('0770000103')
    await rows(`update messages set status = $1, due_at = 'infinity' where message_id = $2`, [status, id])
    made.unshift(id)
  }
  const listed: string[] = []
  for (let cursor = ''; ; ) {
    const { data, next_cursor } = (await get(`/api/messages?to=0770000103&limit=3${cursor}`)).body
    listed.push(...data.map((row: { id: string }) => row.id))
    if (next_cursor === null) break
    cursor = `&cursor=${next_cursor}`
  }
  t.strictSame(listed, made)
  for (const [index, status] of statuses.toReversed().entries()) {
    const { data } = (await get(`/api/messages?to=0770000103&status=${status}`)).body
    t.strictSame(
      data.map((row: { id: string }) => row.id),
      [made[index]],
      status,
    )
  }
})

t.test('filters channels and templates too', async t => {
  const channel = (await get('/api/channels')).body.data[0]
  const table: [query: string, count: number][] = [
    [`phone_number_id=${phoneNumberId}`, 1],
    ['phone_number_id=1', 0],
    [`filter[name]=${encodeURIComponent(channel.name.slice(1).toUpperCase())}`, 1],
    [`plan=${channel.plan}`, 1],
    [`filter[plan]=${channel.plan === 'paid' ? 'free' : 'paid'}`, 0],
    [`state=${channel.state}&default=${channel.default}`, 1],
    [`default=${!channel.default}`, 0],
  ]
  for (const [query, count] of table) {
    const { status, body } = await get(`/api/channels?${query}`)
    t.same([status, body.data?.length], [200, count], query)
  }
  await pool.query(`begin; select set_config('app.tenant', 'demo', true);
    insert into templates (tenant_id, waba_id, name, language, status, category, parameter_format, components)
    values ('demo', '1', 'a', 'en_US', 'APPROVED', 'UTILITY', 'POSITIONAL', '[]'),
      ('demo', '2', 'b', 'en_US', 'NEW_ONE', 'MARKETING', 'POSITIONAL', '[]'); commit`)
  const ofTemplates: [query: string, names: string[]][] = [
    ['filter[category]=utility', ['a']],
    ['waba_id=2', ['b']],
    ['status=approved&filter[language]=en-US', ['a']],
    ['status=PAUSED', []],
    ['status=NEW_ONE', ['b']],
    ['filter[name]=b', ['b']],
  ]
  for (const [query, names] of ofTemplates) {
    const { status, body } = await get(`/api/templates?${query}`)
    t.same([status, body.data?.map((row: { name: string }) => row.name)], [200, names], query)
  }
})

t.test('refuses unsupported filters', async t => {
  const table: [path: string, field: string, sentence: string | RegExp][] = [
    ['messages?to=abc', 'to', 'The to field must be a phone number.'],
    ['messages?filter[to]=1', 'filter[to]', 'The to field must be a phone number.'],
    ['messages?status=lost', 'status', /^The status field must be one of queued, held, /],
    ['messages?created_from=2026-02-04&created_to=2026-02-03', 'created_to', /after or equal to created from/],
    ['messages?created_from=noon', 'created_from', /must be a date such as/],
    ['messages?id=1', 'id', 'The id field must be the id of a message.'],
    [
      'messages?filter[colour]=red',
      'filter[colour]',
      /^There is no filter\[colour\]\. The filters are id, status, to, /,
    ],
    ['messages?sttus=sent', 'sttus', 'The sttus field is not known. Did you mean status?'],
    [`messages/${first}?x=1`, 'x', 'The x field is not known.'],
    ['templates?status=lost', 'status', /^The selected status is invalid\. The statuses are APPROVED, PENDING, /],
    ['templates?filter[nmae]=a', 'filter[nmae]', /^There is no filter\[nmae\]/],
    ['channels?plan=gold', 'plan', 'The plan field must be one of free, paid.'],
    ['channels?limit=5', 'limit', /^The limit field is not known/],
    ['conversations/0770000101?chanel=1', 'chanel', 'The chanel field is not known. Did you mean channel?'],
  ]
  for (const [path, field, sentence] of table) t.match(await refusal(`/api/${path}`), { [field]: [sentence] }, path)
})
