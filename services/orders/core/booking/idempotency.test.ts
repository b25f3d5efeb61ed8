import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { connectTo } from '../../../../dev/test-database.ts'
import { createOrders } from '../../app.ts'
import { build } from '../../test/build.ts'
import { refusal } from '../../test/orders-fixture.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'

const file = tenantFile()
for (const merchant of file.merchants) merchant.rate_card = 'standard'
const { apply, bulk, database, rows, createToken } = await build(t, { file })

const keyed = (key: string, options: { token?: string; tenant?: string } = {}) => ({
  ...options,
  headers: { 'idempotency-key': key },
})
const otherBody = {
  ...refusal({
    'idempotency-key': ['This Idempotency-Key came with another body before. Use a new key for a new batch.'],
  }),
  code: 'idempotency_key_reused',
}
const named = (order_no: string) => batch([order({ order_no }), order({ order_no })])
const countOrders = async (order_no: string): Promise<number> =>
  (await rows('select count(*)::int from orders where order_no = $1', [order_no]))[0].count

t.test('a repeated request gets the first response again and creates no second batch', async t => {
  const first = await bulk(named('repeated'), keyed('repeated'))
  t.equal(first.status, 200)
  t.equal(first.headers['idempotency-replayed'], undefined)
  for (let repeat = 0; repeat < 2; repeat++) {
    const again = await bulk(named('repeated'), keyed('repeated'))
    t.equal(again.status, 200)
    t.equal(again.headers['idempotency-replayed'], 'true')
    t.strictSame(again.body, first.body)
  }
  t.equal(await countOrders('repeated'), 2)
})

t.test('a request without a key is never a repetition', async t => {
  const responses = [await bulk(named('free')), await bulk(named('free'))]
  t.strictSame(
    responses.map(({ headers }) => headers['idempotency-replayed']),
    [undefined, undefined],
  )
  t.equal(await countOrders('free'), 4)
})

t.test('refuses a key that came with another body, even if only the white space differs', async t => {
  await bulk(named('body'), keyed('body'))
  for (const body of [batch(), JSON.stringify(named('body'), null, 1)]) {
    const response = await bulk(body, keyed('body'))
    t.equal(response.status, 422)
    t.strictSame(response.body, otherBody)
  }
  t.equal(await countOrders('body'), 2)
})

t.test('the response stays the same after the numbers have run out and the prices are gone', async t => {
  const short = tenantFile({ id: 'short', waybills: { mode: 'auto', format: 'Z#' } })
  await apply(short)
  const options = keyed('K', { tenant: 'short', token: await createToken('shop@example.com', 'short') })
  const body = batch(Array.from({ length: 9 }, () => order()))
  const first = await bulk(body, options)
  t.equal(first.status, 200)
  t.strictSame((await bulk(body, options)).body, first.body)
  for (const card of short.rate_cards) card.rates = []
  await apply(short)
  t.strictSame((await bulk(body, options)).body, first.body)
})

t.test('a refused batch leaves its key free', async t => {
  const refusals = [
    batch([order({ customer_name: '' })]),
    batch([order({ destination_city_id: 9 })]),
    batch([order({ waybill_number: 'nonsense' })]),
  ]
  for (const body of refusals) t.equal((await bulk(body, keyed('fixed'))).status, 422)
  const fixed = await bulk(named('fixed'), keyed('fixed'))
  t.equal(fixed.status, 200)
  t.equal(fixed.headers['idempotency-replayed'], undefined)
  t.equal(await countOrders('fixed'), 2)
})

t.test('a key belongs to one merchant of one tenant', async t => {
  await apply({ ...file, tenant: { ...file.tenant, id: 'other' } })
  const books = await createToken('books@example.com')
  const abroad = { tenant: 'other', token: await createToken('shop@example.com', 'other') }
  const ofBooks = batch([order({ order_no: 'scope' })], { merchant_business_id: 7300 })
  const ofShop = batch([order({ order_no: 'scope' })])
  const requests = [
    await bulk(ofShop, keyed('scope')),
    await bulk(ofBooks, keyed('scope', { token: books })),
    await bulk(ofShop, keyed('scope', abroad)),
  ]
  t.strictSame(
    requests.map(({ status, headers }) => [status, headers['idempotency-replayed']]),
    [1, 2, 3].map(() => [200, undefined]),
  )
  const again = await bulk(ofShop, keyed('scope', { token: await createToken('shop@example.com') }))
  t.equal(again.headers['idempotency-replayed'], 'true')
  t.equal(await countOrders('scope'), 3)
})

const sentence = 'The Idempotency-Key header must be 1 to 255 printable ASCII characters.'
t.test('a key is 1 to 255 printable ASCII characters', async t => {
  for (const key of ['k'.repeat(255), 'a', '!~ {}"\\']) t.equal((await bulk(batch(), keyed(key))).status, 200)
  for (const key of ['k'.repeat(256), '', 'é', 'a\tb']) {
    const response = await bulk(named('bad key'), keyed(key))
    t.equal(response.status, 422)
    t.strictSame(Object.values(response.body.errors), [[sentence]], JSON.stringify(key))
  }
  t.equal(await countOrders('bad key'), 0)
})

t.test('a key is free again after 24 hours', async t => {
  const age = (interval: string) =>
    rows(`update idempotency_keys set created_at = now() - $1::interval where idempotency_key = 'old'`, [interval])
  await bulk(named('old'), keyed('old'))
  await age('23 hours 59 minutes')
  t.equal((await bulk(named('old'), keyed('old'))).headers['idempotency-replayed'], 'true')
  await age('24 hours 1 second')
  const later = await bulk(named('older'), keyed('old'))
  t.equal(later.status, 200)
  t.equal(later.headers['idempotency-replayed'], undefined)
  t.strictSame((await bulk(named('old'), keyed('old'))).body, otherBody)
  t.strictSame([await countOrders('old'), await countOrders('older')], [2, 2])
})

/** Makes a request wait in the middle: an uncommitted row holds its waybill until `release`. */
const hold = async (t: Test, waybill: string) => {
  const holder = await connectTo(t, database.superuserUrl)
  await holder.query('begin')
  await holder.query(
    `insert into orders values ('demo', $1, 1, 1, null, 'key_1', '', '', '', null, null, 1, 1, 1, 1, null, null, 1)`,
    [waybill],
  )
  const blocked = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const waiting = async () => {
    // pg_stat_activity shows a transaction one snapshot until the transaction clears it.
    while ((await holder.query(`select pg_stat_clear_snapshot() ${blocked}`)).rowCount === 0) await delay(10)
  }
  const kill = () => holder.query(`select pg_terminate_backend(pid) ${blocked}`)
  return { waiting, kill, release: () => holder.query('rollback') }
}

t.test('a request whose key is in use gets 409 with Retry-After, then the response', async t => {
  const { waiting, release } = await hold(t, 'DM00900000')
  const body = batch([order({ waybill_number: 'DM00900000', cod: 9_000 })])
  const first = bulk(body, keyed('held'))
  await waiting()
  for (const same of [body, batch()]) {
    const response = await bulk(same, keyed('held'))
    t.equal(response.status, 409)
    t.equal(String(response.headers['retry-after']), '1')
    t.strictSame(response.body, {
      message: 'A request with this Idempotency-Key is running. Repeat this one for its response.',
      code: 'idempotency_key_running',
    })
  }
  t.equal((await bulk(named('elsewhere'), keyed('not held'))).status, 200)
  await release()
  const created = { message: 'Orders Created Successfully', data: ['DM00900000'] }
  t.strictSame((await first).body, created)
  const again = await bulk(body, keyed('held'))
  t.strictSame([again.headers['idempotency-replayed'], again.body], ['true', created])
})

t.test('20 requests at once with one key create one batch', async t => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => bulk(named('at once'), keyed('at once'))))
  const successes = responses.filter(({ status }) => status === 200)
  t.ok(successes.length > 0)
  t.equal(successes.length + responses.filter(({ status }) => status === 409).length, 20)
  t.equal(successes.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, 1)
  t.equal(new Set(successes.map(({ body }) => JSON.stringify(body))).size, 1)
  t.equal(await countOrders('at once'), 2)
})

t.test('a request that dies halfway leaves neither orders nor its key', async t => {
  const { waiting, kill, release } = await hold(t, 'DM00900001')
  const body = batch([order({ order_no: 'died' }), order({ order_no: 'died', waybill_number: 'DM00900001' })])
  const first = bulk(body, keyed('died'))
  await waiting()
  await kill()
  t.equal((await first).status, 503)
  await release()
  t.equal(await countOrders('died'), 0)
  const again = await bulk(body, keyed('died'))
  t.equal(again.status, 200)
  t.equal(again.headers['idempotency-replayed'], undefined)
  t.equal(await countOrders('died'), 2)
})

t.test('keys are looked up by index, even by a plan made on an empty table', async t => {
  const { database, ordersOptions, token } = await build(t)
  const pool = createPool({ url: database.url, name: 'plans', connections: 1 })
  t.teardown(() => pool.end())
  let writing = ''
  pool.on('connect', client => {
    const query = client.query.bind(client)
    client.query = ((config: { text: string }, ...rest: []) => {
      if (/insert into orders/.test(config.text)) writing = config.text
      return query(config as never, ...rest)
    }) as unknown as typeof client.query
  })
  const { app } = await createOrders({ ...ordersOptions, pool })
  t.teardown(() => app.close())
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'idempotency-key': 'plan' }
  await app.inject({ method: 'POST', url: '/api/public/merchant/order/bulk', headers, payload: batch() })
  const { rows } = await pool.query(`explain (generic_plan) ${writing}`)
  const plan = rows.map(row => row['QUERY PLAN']).join('\n')
  t.match(plan, /using idempotency_keys_pkey/)
  t.notMatch(plan, /Scan on idempotency_keys/)
})
