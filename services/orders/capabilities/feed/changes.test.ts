import { setTimeout as delay } from 'node:timers/promises'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { createOrders } from '../../app.ts'
import type { Tx } from '../../core/database/tables.ts'
import { deleteOldChanges } from '../../core/log/retention.ts'
import { ordersFixture } from '../../test/orders-fixture.ts'
import { numberUnread } from './housekeeping.ts'

interface Item {
  id: string
  type: string
  waybill_number: string
  status: { key: string; name: string }
  by: string
}

const { pool, token, ordersOptions, rows, make, makeOfBooks, move, cancel, get, booksToken, bulk } =
  await ordersFixture(t)

const read = async (query: Record<string, string | number> = {}, token?: string) =>
  get(`/order/changes?${new URLSearchParams(query as Record<string, string>)}`, token === undefined ? {} : { token })
const nowCursor = async (token?: string): Promise<string> => (await read({ cursor: 'now' }, token)).body.next_cursor

/** Reads everything after a cursor, in pages of `limit` changes. */
const readAll = async (cursor: string, limit: number): Promise<Item[]> => {
  const items: Item[] = []
  for (;;) {
    const { body } = await read({ cursor, limit })
    items.push(...body.data)
    cursor = body.next_cursor
    if (!body.has_more) return items
  }
}
const toText = ({ waybill_number, type, status, by }: Item) => `${waybill_number} ${type} ${status.key} ${by}`

t.test('bookings and moves are listed once, oldest first, whatever the page size', async t => {
  const start = await nowCursor()
  await make(['DM10000001', 'DM10000002', 'DM10000003'], { initial_status_key: 'key_2', order_no: 'LS-1' })
  await make(['DM10000004'], { initial_status_key: 'key_2' })
  await move(['DM10000003', 'DM10000001'], 'key_5')
  await cancel(['DM10000002'])
  const expected = [
    ...['DM10000001 order.created key_2 merchant', 'DM10000002 order.created key_2 merchant'],
    ...['DM10000003 order.created key_2 merchant', 'DM10000004 order.created key_2 merchant'],
    ...['DM10000001 order.status_changed key_5 staff', 'DM10000003 order.status_changed key_5 staff'],
    'DM10000002 order.status_changed key_3 merchant',
  ]
  for (const limit of [1, 2, 3, 4, 100]) t.strictSame((await readAll(start, limit)).map(toText), expected, `${limit}`)
  const [first] = (await read({ cursor: start, limit: 1 })).body.data
  t.match(first, { order_no: 'LS-1', status: { name: 'CONFIRMED' }, happened_at: /^\d{4}-.*Z$/, fields: null })
  t.equal((await read({ cursor: first.id, limit: 1 })).body.data[0].waybill_number, 'DM10000002', 'an id is a cursor')
})

t.test('each order of a batch keeps the status that it began with', async t => {
  const start = await nowCursor()
  const { body } = await bulk({
    ...{ general_data: { merchant_business_id: 7290, origin_city_id: 1500 } },
    order_data: ['key_2', 'key_1', 'key_2'].map((initial_status_key, n) => ({
      ...{ initial_status_key, waybill_number: `DM2000000${3 - n}`, customer_name: 'A', customer_address: 'B', cod: 0 },
      ...{ customer_phone: '0770000101', destination_city_id: 1500, weight: 1 },
    })),
  })
  t.strictSame(body.data, ['DM20000003', 'DM20000002', 'DM20000001'])
  const keys = (await readAll(start, 10)).map(({ waybill_number, status }) => `${waybill_number} ${status.key}`)
  t.strictSame(keys, ['DM20000001 key_2', 'DM20000002 key_1', 'DM20000003 key_2'])
})

t.test('a merchant reads only its own changes, from the first that is kept', async t => {
  await makeOfBooks(['DM30000001'])
  await make(['DM30000002'])
  const { body } = await read({}, booksToken)
  t.strictSame(body.data.map(toText), ['DM30000001 order.created key_1 merchant'])
  const own = await readAll((await read({ limit: 1 })).body.next_cursor, 500)
  t.notOk(own.some(({ waybill_number }) => waybill_number === 'DM30000001'))
  t.match(await read({ cursor: await nowCursor() }, booksToken), { status: 410 }, 'a cursor belongs to one merchant')
})

t.test('a transaction that commits late is not skipped', async t => {
  const start = await nowCursor()
  const written = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const late = inTenant(pool, 'demo', async (tx: Tx) => {
    await tx.client.query(`insert into log (tenant_id, merchant_id, type, fields, waybill_numbers, status_keys, actor)
      select tenant_id, merchant_id, 'order.edited', '{cod}', array[waybill_number], '{key_2}', 'merchant'
      from orders where tenant_id = 'demo' and waybill_number = 'DM10000001' returning tenant_id`)
    written.resolve()
    await release.promise
  })
  await written.promise
  await make(['DM40000001'])
  const before = await read({ cursor: start })
  t.strictSame(before.body.data.map(toText), ['DM40000001 order.created key_1 merchant'])
  release.resolve()
  await late
  const after = await read({ cursor: before.body.next_cursor })
  t.strictSame(after.body.data.map(toText), ['DM10000001 order.edited key_2 merchant'])
  t.strictSame(after.body.data[0].fields, ['cod'])
})

t.test(
  'while others write, a reader gets every change exactly once, and the changes of each order in sequence',
  async t => {
    const start = await nowCursor()
    let isWriting = true
    const seen: Item[] = []
    const reader = (async () => {
      for (let cursor = start; ; ) {
        const isLast = !isWriting
        const { body } = await read({ cursor, limit: 7 })
        seen.push(...body.data)
        cursor = body.next_cursor
        if (isLast && !body.has_more) return
      }
    })()
    const steps = ['key_5', 'key_6', 'key_8', 'key_9']
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let n = 0; n < 5; n++) {
        const waybills = [1, 2, 3].map(k => `DM50000${writer}${n}${k}`)
        await make(waybills, { initial_status_key: 'key_2' })
        for (const step of steps) t.equal((await move(waybills.toReversed(), step)).status, 200)
      }
    })
    await Promise.all(writers)
    isWriting = false
    await reader
    t.equal(new Set(seen.map(({ id }) => id)).size, seen.length)
    t.equal(seen.length, 6 * 5 * 3 * 5)
    const ofOrders = Map.groupBy(seen, ({ waybill_number }) => waybill_number)
    t.ok([...ofOrders.values()].every(items => `${items.map(({ status }) => status.key)}` === `key_2,${steps}`))
  },
)

t.test('a waiting request gets changes made in this process and in another', async t => {
  const cursor = await nowCursor()
  const waiting = read({ cursor, wait: 20 })
  await delay(100)
  const booked = performance.now()
  await make(['DM60000001'])
  t.strictSame((await waiting).body.data.map(toText), ['DM60000001 order.created key_1 merchant'])
  t.ok(performance.now() - booked < 15_000, 'well before the end of its wait')
  const other = await createOrders(ordersOptions)
  const elsewhere = read({ cursor: await nowCursor(), wait: 20 })
  await delay(100)
  await other.app.inject({
    ...{ method: 'POST', url: '/api/public/merchant/order/cancel', payload: { waybill_numbers: ['DM10000004'] } },
    headers: { authorization: `Bearer ${token}`, 'x-tenant': 'demo' },
  })
  t.strictSame((await elsewhere).body.data.map(toText), ['DM10000004 order.status_changed key_3 merchant'])
  await other.app.close()
})

t.test('a wait ends after its time or with the service, and at most 20 requests may wait', async t => {
  const cursor = await nowCursor()
  t.match(await read({ cursor, wait: 1 }), { status: 200, body: { data: [], next_cursor: cursor, has_more: false } })
  const { app } = await createOrders(ordersOptions)
  const url = `/api/public/merchant/order/changes?wait=20&cursor=${cursor}`
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
  const waiting = Array.from({ length: 21 }, async () => (await app.inject({ url, headers })).statusCode)
  t.equal(await Promise.race(waiting), 429)
  await app.close()
  t.strictSame((await Promise.all(waiting)).sort(), [...Array(20).fill(200), 429])
})

t.test('`now` skips all earlier changes, however many are unread', async t => {
  await rows(`
    insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor)
    select tenant_id, merchant_id, 'order.edited', array['DM10000001'], array['key_2'], 'merchant'
    from orders, generate_series(1, 2500) where waybill_number = 'DM10000001'`)
  const cursor = await nowCursor()
  await make(['DM70000009'])
  t.strictSame((await read({ cursor })).body.data.map(toText), ['DM70000009 order.created key_1 merchant'])
})

t.test('changes are gone after thirty days, and an older cursor gets 410', async t => {
  await make(['DM70000001'])
  const first = (await read({ limit: 1 })).body.next_cursor
  const last = await nowCursor()
  await make(['DM70000002'])
  await rows(`update log set is_relayed = true,
    happened_at = now() - interval '31 days' where position is null or 'DM70000002' <> all(waybill_numbers)`)
  await inTenant(pool, 'demo', (tx: Tx) => numberUnread(tx, 'demo'))
  await inTenant(pool, 'demo', (tx: Tx) => deleteOldChanges(tx, 'demo'))
  t.match(await read({ cursor: first }), { status: 410, body: { code: 'cursor_expired', message: /without a cursor/ } })
  t.match(await read({ cursor: last }), { status: 410 }, 'unread changes are gone, too')
  await make(['DM70000003'])
  t.strictSame((await read()).body.data.map(toText), ['DM70000003 order.created key_1 merchant'])
})

t.test('changes that were not numbered in thirty days, as without the feed, are not skipped silently', async t => {
  await make(['DM70000004'])
  const { body } = await read({})
  await make(['DM70000005', 'DM70000006'])
  await rows(`update log set is_relayed = true, happened_at = now() - interval '31 days' where position is null`)
  await inTenant(pool, 'demo', (tx: Tx) => deleteOldChanges(tx, 'demo'))
  t.same(await rows('select from log where position is null'), [])
  t.match(await read({ cursor: body.next_cursor }), { status: 410, body: { code: 'cursor_expired' } })
  await make(['DM70000007'])
  t.strictSame((await read()).body.data.map(toText), ['DM70000007 order.created key_1 merchant'])
})

t.test('refuses a malformed cursor, limit or wait', async t => {
  for (const [query, field] of [
    [{ cursor: 'DM1' }, 'cursor'],
    [{ limit: 501 }, 'limit'],
    [{ limit: 0 }, 'limit'],
    [{ wait: 21 }, 'wait'],
    [{ since: 1 }, 'since'],
  ] as const)
    t.match(await read(query), { status: 422, body: { errors: { [field]: [/./] } } }, JSON.stringify(query))
  const beyond = (await nowCursor()).replace(/\d+$/, '999999')
  t.equal((await read({ cursor: beyond })).status, 410)
})
