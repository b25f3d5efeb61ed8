// Leaves capabilities out of a company that uses them, and loads them again.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { findLeftOutProblem } from '@courier/shared/postgres/held-rows.ts'
import t, { type Test } from 'tap'
import { runCommand } from '../../dev/run-command.ts'
import { launch } from '../../dev/service-process.ts'
import { makeFolder } from '../../dev/test-database.ts'
import { createOrders } from './app.ts'
import { decideLate } from './capabilities/failures/instruct.ts'
import { checkLedger, listFindings } from './capabilities/money/ledger/check-ledger.ts'
import { capabilities } from './capabilities.ts'
import type { Capability } from './capability.ts'
import type { Tx } from './core/database/tables.ts'
import { serviceToken } from './test/build.ts'
import { ordersFixture } from './test/orders-fixture.ts'
import { tenantFile } from './test/tenant.ts'

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
/** Is the key of the test applications, and one that replaces it. */
const keys = { old: `test:${key(5)}`, both: `next:${key(6)},test:${key(5)}` }

/** Returns a setting that leaves out these capabilities, and those that need them. */
const without = (...names: string[]): string => {
  const rest = Object.entries(capabilities).filter(([name, row]) => {
    const needs: readonly string[] = 'needs' in row ? row.needs : []
    return !names.includes(name) && !needs.some(needed => names.includes(needed))
  })
  return rest.map(([name]) => name).join() || 'none'
}

/** Builds a company with everything, and ways to run it with less. */
const build = async (t: Test) => {
  const fixture = await ordersFixture(t)
  const { database, ordersOptions, staffToken } = fixture
  const environment = {
    ...{ ORDERS_DATABASE_URL: database.url, ORDERS_MIGRATE_DATABASE_URL: database.ownerUrl, ORDERS_PORT: '0' },
    ...{ SERVICE_TOKEN: serviceToken, NOTIFIER_URL: 'http://127.0.0.1:1', WEBHOOK_KEYS: keys.old },
  }
  /** Starts the service with this setting: resolves to `listens`, or to the last line of its log once it has ended. */
  const start = async (setting: string) => {
    const { ended, listening, lines } = launch(t, 'services/orders/main.ts', {
      ...environment,
      ORDERS_CAPABILITIES: setting,
    })
    const status = await Promise.race([
      ended,
      listening()
        .then(() => 'listens')
        .catch(() => ended),
    ])
    return status === 'listens' ? { status } : { status, ...JSON.parse(lines.at(-1) ?? '{}') }
  }
  /** Runs an operator's command, with all capabilities left out. */
  const operate = (words: string[], more: Record<string, string> = {}) =>
    runCommand(join(import.meta.dirname, 'admin.ts'), { ...environment, ORDERS_CAPABILITIES: 'none', ...more }, words)
  /** Sends a request of staff to another process of the service, with this setting. */
  const runWith = async (setting: string) => {
    const { app, clients } = await createOrders({
      ...ordersOptions,
      capabilities: await loadCapabilities<Capability>(capabilities, setting),
    })
    t.teardown(async () => {
      await app.close()
      for (const client of clients) await client.close()
    })
    return async (path: string, payload: object) => {
      const headers = { authorization: `Bearer ${staffToken}`, 'x-tenant': 'demo' }
      const { statusCode, body } = await app.inject({ method: 'POST', url: `/api/staff${path}`, headers, payload })
      return { status: statusCode, body: JSON.parse(body) }
    }
  }
  const post = async (path: string, body: object, token = staffToken) =>
    fixture.request('POST', `/api/staff${path}`, body, { token })
  const deliver = async (waybill: string) => {
    await fixture.make([waybill], { initial_status_key: 'key_2', cod: 5000, weight: 1 })
    await fixture.moveAlong(waybill, [9, 10, 11, 12])
    const { status } = await fixture.move([waybill], 'key_13', { collected_by: 'Nimal' })
    t.equal(status, 200)
  }
  const fail = async (waybill: string) => {
    await fixture.make([waybill], { initial_status_key: 'key_2' })
    await fixture.moveAlong(waybill, [9, 10, 11, 12, 15])
  }
  /** Finds out why the service would not start with this setting. */
  const findProblem = async (setting: string) => {
    const chosen = await loadCapabilities<Capability>(capabilities, setting)
    return findLeftOutProblem(fixture.pool, 'ORDERS_CAPABILITIES', capabilities, chosen)
  }
  return { ...fixture, start, findProblem, operate, runWith, post, deliver, fail }
}

t.test('a process without money takes back no move of a company whose money is booked', async t => {
  const { deliver, runWith, post, pool, rows, readFacts } = await build(t)
  await deliver('DM70000001')
  const { today, shop } = await readFacts()
  const other = await runWith(without('money'))
  const refused = await other('/order/DM70000001/take-back', { reason: 'Wrong parcel' })
  t.match(refused, { status: 503, body: { code: 'unavailable', message: /without money/ } })
  await post('/cash/handover', { collected_by: 'Nimal', declared: 5000, counted: 5000 })
  t.match((await post('/order/DM70000001/take-back', { reason: 'Wrong parcel' })).status, 422)
  t.match(await rows(`select status_key from orders where waybill_number = 'DM70000001'`), [{ status_key: 'key_13' }])
  t.match((await post('/invoice', { merchant_id: shop, until: today })).body.data, [{ kind: 'made' }])
  t.same(listFindings(await checkLedger(pool, 'demo')), [])
})

t.test('a process without money makes no move that the books of the company would lack', async t => {
  const { deliver, make, moveAlong, runWith, move } = await build(t)
  const other = await runWith(without('money'))
  const confirmed = { initial_status_key: 'key_2', cod: 5000, weight: 1 }
  await make(['DM70000011', 'DM70000012'], confirmed)
  await moveAlong(['DM70000011', 'DM70000012'], [9, 10, 11, 12])
  const isBefore = await other('/order/status', { waybill_numbers: ['DM70000011'], status_key: 'key_13' })
  t.equal(isBefore.status, 200, 'nothing is booked yet')
  await deliver('DM70000013')
  const refused = await other('/order/status', { waybill_numbers: ['DM70000012'], status_key: 'key_13' })
  t.match(refused, { status: 503, body: { code: 'unavailable' } })
  t.equal((await move(['DM70000012'], 'key_13', { collected_by: 'Nimal' })).status, 200)
})

t.test('apply keeps the currency of booked money and former terms, whatever the setting', async t => {
  const { deliver, operate, rows } = await build(t)
  await deliver('DM70000021')
  const path = join(makeFolder(t), 'company.json')
  const apply = (change: Record<string, string>, fee: number) => {
    const file = tenantFile(change)
    for (const merchant of file.merchants) merchant.rate_card = 'standard'
    Object.assign(file.rate_cards[0] ?? {}, { return_fee: fee })
    writeFileSync(path, JSON.stringify(file))
    return operate(['apply', path])
  }
  t.match(await apply({ currency: 'USD' }, 0), { status: 1, stderr: /tenant.currency: Money is booked in LKR/ })
  t.match(await apply({ color: '#0a5c8f' }, 200), { status: 0, stderr: '' })
  t.match(await rows('select color, return_fee from tenants join rate_cards using (tenant_id)'), [
    { color: '#0a5c8f', return_fee: '200.00' },
  ])
  t.match(await rows('select return_fee from former_terms'), [{ return_fee: '0' }, { return_fee: '0' }])
})

t.test('keys rotate seals what every capability sealed, whatever the setting', async t => {
  const { post, readFacts, operate, rows } = await build(t)
  const { shop } = await readFacts()
  const account = { bank: 'Bank of Ceylon', holder: 'Lanka Shoes', number: '0071234567' }
  t.equal((await post(`/merchant/${shop}/bank-account`, account)).status, 200)
  const rotated = await operate(['keys', 'rotate'], { WEBHOOK_KEYS: keys.both })
  t.match(rotated, { status: 0, stdout: /^The newest key seals 1 more bank accounts/ })
  t.same(await rows('select key_id from bank_accounts'), [{ key_id: 'next' }])
})

t.test('a parcel that a process without failures delivered waits for no instruction', async t => {
  const { fail, runWith, pool, rows, get, move, moveAlong, request } = await build(t)
  await fail('DM70000031')
  await fail('DM70000032')
  const other = await runWith(without('failures'))
  for (const status_key of ['key_16', 'key_12', 'key_13'])
    t.equal((await other('/order/status', { waybill_numbers: ['DM70000031'], status_key })).status, 200)
  for (const status_key of ['key_16', 'key_12'])
    t.equal((await other('/order/status', { waybill_numbers: ['DM70000032'], status_key })).status, 200)
  t.same((await get('/order/failed-deliveries')).body.data, [])
  t.match((await get('/order/DM70000031')).body.data, { awaits_instruction: false, failed_attempts: 1 })
  const instruct = (waybill: string) =>
    request('POST', `/api/public/merchant/order/${waybill}/instruction`, { action: 'return' })
  t.match(await instruct('DM70000031'), { status: 422 })
  await rows(`update attempts set due_at = now() - interval '1 hour'`)
  t.equal(await inTenant(pool, 'demo', (tx: Tx) => decideLate(tx, 'demo')), 0)
  t.same(await rows('select from instructions'), [])

  t.equal((await move(['DM70000032'], 'key_15')).status, 200)
  t.match((await get('/order/failed-deliveries')).body.data, [{ waybill_number: 'DM70000032', attempt: 2 }])
  t.equal((await instruct('DM70000032')).status, 200)
  await moveAlong('DM70000032', [16, 12])
  t.same(await rows('select from attempts where waybill_number = $1 and is_open', ['DM70000032']), [])
})

t.test('the service does not start without a capability whose rows matter, and says what to do', async t => {
  const { deliver, fail, start, findProblem, request, rows, move, send, make, moveAlong, ...built } = await build(t)
  const token = built.staffToken
  t.match(await start('none'), { status: 'listens' }, 'there are no rows yet')

  await fail('DM70000041')
  await make(['DM70000042'], { initial_status_key: 'key_2' })
  await moveAlong('DM70000042', [5])
  const action = { id: 'a press', waybill_number: 'DM70000042', action: 'call_me' }
  const pressed = { tenant: 'demo', actions: [{ ...action, happened_at: '2026-02-19T19:06:23.000Z' }] }
  t.match((await send('POST', '/internal/customer-actions', pressed, { token: serviceToken })).body.data, [
    { outcome: 'requested' },
  ])
  const { body } = await request('POST', '/api/public/merchant/webhook', { url: 'http://127.0.0.1:1/' })
  await rows(`insert into merchant_people (tenant_id, merchant_id, email, name, role, password_hash)
    select tenant_id, merchant_id, 'kasun@example.com', 'Kasun', 'clerk', password_hash from merchants limit 1`)
  await rows(`insert into tenants select (jsonb_populate_record(tenants, '{"tenant_id": "a-tenant-without-orders"}')).*
    from tenants`)

  await rows(`insert into staff (tenant_id, email, name, role, password_hash)
    select tenant_id, 'nimal@courier.example', 'Nimal Rider', 'rider', '' from tenants where tenant_id = 'demo'`)
  const given = { waybill_numbers: ['DM70000042'], rider: 'Nimal Rider' }
  t.equal((await send('POST', '/api/staff/order/assign', given, { token })).status, 200)
  const shop = { kind: 'shopify', name: 'Shoes', merchant_business_id: 7290, origin_city_id: 1500 }
  const connected = (await request('POST', '/api/public/merchant/shop', shop)).body.data
  await rows(`update tenants set sign_in = '{"second_factor": "admin"}' where tenant_id = 'demo'`)
  const first = await start('none')
  t.match(first, { status: 1, level: 60 })
  const remedies = {
    people: /people log in.*before you leave it out, let merchants deactivate their people/,
    failures: /parcels whose delivery failed wait.*before you leave it out, move these parcels on/,
    'customer-actions': /requests of customers wait.*before you leave it out, let staff decide them/,
    riders: /riders have parcels.*before you leave it out, take the parcels from their riders/,
    feed: /webhooks of merchants expect.*before you leave it out, let merchants disable or delete them/,
    shops: /shops of merchants send their orders.*before you leave it out, let merchants remove their shops/,
    'sign-in': /says who may sign in.*before you leave it out, apply a company file without `sign_in`/,
  }
  for (const [name, sentence] of Object.entries(remedies)) {
    const msg = await findProblem(without(name))
    t.match(msg, new RegExp(`^ORDERS_CAPABILITIES must name (.*name )?${name}, because `))
    t.match(msg, sentence)
    t.match(msg, /\(tenant demo\)/)
    t.ok(first.msg.includes(`name ${name}, because`), 'one message names all')
  }
  t.match(first.msg, /^process.cannot_start: ORDERS_CAPABILITIES must name /)
  t.notMatch(first.msg, /money/)
  const promisesNothing = Object.entries(capabilities).flatMap(([name, row]) => ('holds' in row ? [] : [name]))
  const left = promisesNothing.filter(name => !['labels', 'editing'].includes(name))
  t.equal(await findProblem(without(...left)), undefined)

  t.equal((await move(['DM70000041'], 'key_16')).status, 200)
  t.equal((await move(['DM70000041'], 'key_12')).status, 200)
  const [{ request_id: id }] = await rows('select request_id from customer_actions')
  t.equal(
    (await send('POST', `/api/staff/order/requests/${id}/decision`, { decision: 'declined' }, { token })).status,
    200,
  )
  t.equal((await request('PATCH', `/api/public/merchant/webhook/${body.data.id}`, { state: 'disabled' })).status, 200)
  t.equal((await send('DELETE', `/api/public/merchant/shop/${connected.id}`)).status, 200)
  await rows('update tenants set sign_in = null')
  await rows('update merchant_people set is_active = false')
  t.equal((await send('POST', '/api/staff/order/unassign', { waybill_numbers: ['DM70000042'] }, { token })).status, 200)
  t.match(await start('none'), { status: 'listens' }, 'the ways out are the true ones')

  await deliver('DM70000043')
  t.equal(
    await findProblem('none'),
    'ORDERS_CAPABILITIES must name money, because money is booked, and moves that are made or taken back without it would not be (tenant demo); it cannot be left out any more',
  )
  t.equal(await findProblem(without('books')), undefined)
})

t.test('ledger check lists a booking whose move a process without money took back', async t => {
  const { deliver, operate, rows, post, pool } = await build(t)
  for (const waybill of ['DM70000051', 'DM70000052', 'DM70000053']) await deliver(waybill)
  t.equal((await post('/order/DM70000052/take-back', { reason: 'Wrong parcel' })).status, 200)
  t.same(listFindings(await checkLedger(pool, 'demo')), [], 'a reversed booking is right')
  // Does what an earlier version without money did.
  await rows(`update order_events set is_counted = false where waybill_number = 'DM70000053' and status_key = 'key_13'`)
  await rows(`insert into order_events (tenant_id, waybill_number, status_key, happened_at, is_counted)
    values ('demo', 'DM70000053', 'key_12', now(), false)`)
  await rows(`update orders set status_key = 'key_12' where waybill_number = 'DM70000053'`)
  t.same(listFindings(await checkLedger(pool, 'demo')), [['taken_back', 'DM70000053']])
  const { status, stdout } = await operate(['ledger', 'check', '--tenant', 'demo'])
  t.equal(status, 1)
  t.match(stdout, /^DM70000053: booked, but its move was taken back$/m)
  await rows(`delete from order_events where waybill_number = 'DM70000051'`)
  t.same(listFindings(await checkLedger(pool, 'demo')), [['taken_back', 'DM70000053']], 'the archive took a timeline')
})
