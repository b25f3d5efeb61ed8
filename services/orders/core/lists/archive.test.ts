import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { archive as archiveKinds } from '@courier/shared/cli/archive.ts'
import { createPool } from '@courier/shared/postgres/database.ts'
import { takeAudit } from '@courier/shared/postgres/old-rows.ts'
import t, { type Test } from 'tap'
import { runCommand } from '../../../../dev/run-command.ts'
import { makeFolder } from '../../../../dev/test-database.ts'
import { ordersFixture } from '../../test/orders-fixture.ts'
import { takeTimelines } from './archive.ts'

const admin = join(import.meta.dirname, '../../admin.ts')

const built = await ordersFixture(t)
const owner = createPool({ url: built.database.ownerUrl, name: 'test owner', connections: 2 })
t.teardown(() => owner.end())

/** Deletes all orders. Provides `make`, which creates an order of a chosen age, and `archive` with its own folder. */
const fixture = async (t: Test) => {
  await built.rows('truncate orders, order_events, order_edits')
  const folder = makeFolder(t)
  const { url, ownerUrl } = built.database
  const env = { ORDERS_DATABASE_URL: url, ORDERS_MIGRATE_DATABASE_URL: ownerUrl }
  const archiveAs = (environment: Record<string, string>, ...words: string[]) =>
    runCommand(admin, environment, ['archive', ...words])
  const archive = (dryRun = false, kinds = [takeTimelines, takeAudit]) =>
    archiveKinds(owner, kinds, { days: 400, folder, dryRun })
  const make = async (waybill: string, status: string, days: number) => {
    await built.make([waybill], { order_no: waybill })
    const age = `now() - make_interval(days => $2)`
    await built.rows(`update orders set status_key = $1, created_at = ${age} where waybill_number = $3`, [
      status,
      days,
      waybill,
    ])
    await built.rows(
      `update order_events set happened_at = now() - make_interval(days => $1) where waybill_number = $2`,
      [days, waybill],
    )
  }
  /** Reads the rows from all files of a table. */
  const archived = (table: string): Record<string, unknown>[] =>
    readdirSync(join(folder, 'demo'))
      .filter(name => name.startsWith(`${table}-`))
      .flatMap(name =>
        gunzipSync(readFileSync(join(folder, 'demo', name)))
          .toString()
          .trimEnd()
          .split('\n'),
      )
      .map(line => JSON.parse(line))
  const waybillsLeft = async () =>
    (await built.rows('select waybill_number from order_events order by waybill_number')).map(row => row.waybill_number)
  return { ...built, folder, env, archive, archiveAs, make, archived, waybillsLeft }
}

t.test('old timelines of finished orders and old audit rows move to files; orders stay', async t => {
  const { make, archive, archived, waybillsLeft, folder, rows, get, staffGet, request } = await fixture(t)
  await make('DM00000001', 'key_13', 401)
  await make('DM00000002', 'key_13', 399)
  await make('DM00000003', 'key_12', 401)
  await make('DM00000004', 'key_13', 401)
  await rows(`insert into order_events (tenant_id, waybill_number, status_key) values ('demo', 'DM00000004', 'key_13')`)
  await rows(`insert into order_edits (tenant_id, waybill_number, fields, edited_at, reason)
    values ('demo', 'DM00000001', '{cod}', now(), 'by phone'), ('demo', 'DM00000002', '{cod}', now(), null)`)
  const [event] = await rows(`select * from order_events where waybill_number = 'DM00000001'`)
  await rows(`update audit set happened_at = now() - interval '401 days' where action = 'token.created'`)
  const [{ tokens }] = await rows(`select count(*)::int as tokens from audit where action = 'token.created'`)

  const counted = [
    { tenant: 'demo', table: 'order_events', rows: 1, files: 1 },
    { tenant: 'demo', table: 'order_edits', rows: 1, files: 1 },
    { tenant: 'demo', table: 'audit', rows: tokens, files: 1 },
  ]
  t.strictSame(await archive(true), counted)
  t.strictSame([readdirSync(folder), (await waybillsLeft()).length], [[], 5], 'a dry run changes nothing')

  t.strictSame(await archive(), counted)
  t.strictSame(await waybillsLeft(), ['DM00000002', 'DM00000003', 'DM00000004', 'DM00000004'])
  const [line] = archived('order_events')
  t.match(line, { waybill_number: 'DM00000001', status_key: event.status_key, event_id: Number(event.event_id) })
  t.equal(new Date(String(line?.happened_at)).getTime(), event.happened_at.getTime())
  t.match(archived('order_edits'), [{ waybill_number: 'DM00000001', fields: ['cod'], reason: 'by phone' }])
  t.equal(archived('audit').length, tokens)
  const files = readdirSync(join(folder, 'demo'))
  t.strictSame(
    files.map(name => statSync(join(folder, 'demo', name)).mode & 0o777),
    [0o600, 0o600, 0o600],
  )
  t.equal(statSync(join(folder, 'demo')).mode & 0o777, 0o700)
  const written = await rows(
    `select actor_kind, object_id from audit where action = 'archive.written' order by object_id`,
  )
  t.strictSame(
    written,
    files.toSorted().map(object_id => ({ actor_kind: 'operator', object_id })),
  )
  t.strictSame(await archive(), [], 'a second run finds nothing')

  const status = { key: 'key_13', name: 'DELIVERED', color: 'success' }
  for (const from of [get, staffGet])
    t.match((await from('/order/DM00000001')).body.data, { waybill_number: 'DM00000001', status, timeline: [] })
  t.match(await get('/order/DM00000001/status'), { status: 200, body: { data: { status } } })
  t.match(await get('/order/tracking-info?waybill_number=DM00000001'), { status: 200 })
  const anyone = { token: '' }
  t.equal(
    (await request('POST', '/api/public/order/tracking-info', { waybill_number: 'DM00000001' }, anyone)).status,
    200,
  )
})

t.test('an order that is being taken back keeps its timeline', async t => {
  const { make, archive, waybillsLeft } = await fixture(t)
  for (const waybill of ['DM00000001', 'DM00000002']) await make(waybill, 'key_13', 401)
  const client = await owner.connect()
  t.teardown(() => client.release(true))
  await client.query(`begin; set local app.tenant = 'demo'`)
  await client.query(`select from orders where waybill_number = 'DM00000001' for no key update`)
  await client.query(`update order_events set is_counted = false where waybill_number = 'DM00000001'`)
  const archiving = archive(false, [takeTimelines])
  // If the archive took no lock, it would wait for the event and then delete it.
  await Promise.race([archiving, delay(1_000)])
  await client.query(`update orders set status_key = 'key_12' where waybill_number = 'DM00000001'`)
  await client.query('commit')
  t.match(await archiving, [{ table: 'order_events', rows: 1 }])
  t.strictSame(await waybillsLeft(), ['DM00000001'])
})

t.test('rows are in a file before they are deleted: a failed commit leaves them in both places', async t => {
  const { make, archive, archived, waybillsLeft, rows } = await fixture(t)
  await make('DM00000001', 'key_13', 401)
  await rows(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create constraint trigger refuse after delete on order_events deferrable initially deferred
      for each row execute function refuse()`)
  await t.rejects(archive(), { message: 'refused' })
  t.strictSame([await waybillsLeft(), archived('order_events').length], [['DM00000001'], 1])
  await rows('drop trigger refuse on order_events')
  await archive()
  const [first, second] = archived('order_events')
  t.strictSame(await waybillsLeft(), [])
  t.strictSame(first, second, 'both copies have the same event_id')
})

t.test('deletes nothing with an unwritable folder, a role without ownership, or too short an age', async t => {
  const { make, archiveAs, waybillsLeft, folder, env } = await fixture(t)
  await make('DM00000001', 'key_13', 401)
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const refused = await archiveAs(env, '--older-than', '400', '--to', file)
  t.match(refused, { status: 1, stderr: /^orders: cannot write to .*file\/demo; all rows deleted so far/ })
  const unowned = await archiveAs(
    { ORDERS_DATABASE_URL: env.ORDERS_DATABASE_URL },
    '--older-than',
    '400',
    '--to',
    folder,
  )
  t.match(unowned, { status: 1, stderr: /permission denied.*: set ORDERS_MIGRATE_DATABASE_URL to the role that owns/ })
  t.match(await archiveAs(env, '--older-than', '30', '--to', folder), { status: 1, stderr: /--older-than must be/ })
  t.strictSame([await waybillsLeft(), readdirSync(folder)], [['DM00000001'], ['file']])
})

t.test('a large archive is written in parts, one file each', async t => {
  const { make, archive, archived, waybillsLeft, rows } = await fixture(t)
  await make('DM00000001', 'key_3', 500)
  await rows(`update audit set happened_at = now() - interval '500 days'`)
  const others = `insert into orders (tenant_id, waybill_number, merchant_id, business_id, status_key, customer_name,
      customer_address, customer_phone, origin_city_id, destination_city_id, cod, weight, delivery_charge, created_at)
    select tenant_id, 'X' || number, merchant_id, business_id, status_key, customer_name, customer_address,
      customer_phone,
      origin_city_id, destination_city_id, cod, weight, delivery_charge, created_at - number % 7 * interval '1 hour'
    from orders, generate_series(1, 9000) as number`
  await rows(others)
  await rows(`insert into order_events (tenant_id, waybill_number, status_key, happened_at)
    select tenant_id, waybill_number, status_key, created_at from orders, generate_series(1, 5)
      where waybill_number like 'X%'`)
  t.strictSame(await archive(false, [takeTimelines]), [
    { tenant: 'demo', table: 'order_events', rows: 45_001, files: 2 },
  ])
  t.equal(new Set(archived('order_events').map(row => row.event_id)).size, 45_001)
  t.strictSame(await waybillsLeft(), [])
})
