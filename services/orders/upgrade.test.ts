import { cp } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import { migrate } from '@courier/shared/postgres/migrate.ts'
import t, { type Test } from 'tap'
import { cloneDatabase, connectTo, makeFolder } from '../../dev/test-database.ts'
import { openFeed } from './capabilities/feed/numbering.ts'
import { readChanges } from './capabilities/feed/read-changes.ts'
import type { Tx } from './core/database/tables.ts'
import { readOldest } from './core/relay/queries.ts'
import { startRelayFixture } from './test/relay-fixture.ts'

const folder = join(import.meta.dirname, 'core/database/migrations')

/** Opens a database with the migrations before `first`; `upgrade` applies the others. */
const openEarlier = async (t: Test, first: string) => {
  const { url, ownerUrl } = await cloneDatabase(t, 'orders')
  const owner = await connectTo(t, ownerUrl)
  const earlier = makeFolder(t)
  const isEarlier = (source: string) => !source.endsWith('.sql') || basename(source) < first
  await cp(folder, earlier, { recursive: true, filter: isEarlier })
  await owner.query('drop schema public cascade; create schema public')
  const role = new URL(url).username
  await migrate(ownerUrl, earlier, role)
  return { owner, url, upgrade: () => migrate(ownerUrl, folder, role) }
}

/** Creates a pool of the service's role. */
const openPool = (t: Test, url: string) => {
  const pool = createPool({ url, name: 'upgraded', connections: 2 })
  t.teardown(() => pool.end())
  return pool
}

t.test(
  'changes that wait for the notifier or for a position survive the migration to the log, and cursors stay valid',
  async t => {
    const { owner, url, upgrade } = await openEarlier(t, '0035')
    await owner.query(`select set_config('app.tenant', 'one', false)`)
    await owner.query(`insert into outbox (tenant_id, type, waybill_numbers, status_keys, note)
    values ('one', 'order.created', '{A,B}', '{key_1,key_2}', null),
      ('one', 'call_me.accepted', '{A}', '{key_1}', 'at 5')`)
    await owner.query(
      `insert into feeds (tenant_id, merchant_id, last_position, deleted_position) values ('one', 7, 5, 2)`,
    )
    await owner.query(`insert into changes (tenant_id, merchant_id, position, type, waybill_numbers, status_keys, actor,
      happened_at)
    values ('one', 7, 3, 'order.created', '{A,B}', '{key_1}', 'merchant', now()),
      ('one', 7, 5, 'order.status_changed', '{B}', '{key_2}', 'staff', now())`)
    await owner.query(`insert into new_changes (tenant_id, merchant_id, type, waybill_numbers, status_keys, fields,
      actor)
    values ('one', 7, 'order.edited', '{A}', '{key_1}', '{cod}', 'staff'),
      ('one', 7, 'order.status_changed', '{A,B}', '{key_3}', null, 'staff')`)
    const before = (await owner.query('select outbox_id, row_key from outbox order by outbox_id')).rows
    const [{ epoch }] = (await owner.query('select epoch from feeds')).rows
    await upgrade()

    const pool = openPool(t, url)
    const waiting = await inTenant(pool, 'one', (tx: Tx) => readOldest(tx, 'one', 500))
    t.strictSame(
      waiting.map(({ id, key }) => ({ outbox_id: id, row_key: key })),
      before,
    )
    t.match(waiting, [
      { type: 'order.created', waybills: ['A', 'B'], statusKeys: ['key_1', 'key_2'] },
      { type: 'call_me.accepted', note: 'at 5' },
    ])
    const feed = await openFeed(pool, { tenant: 'one', merchantId: '7' })
    t.strictSame(feed, { epoch, lastPosition: 8, deletedPosition: 2, isBehind: false })
    const changes = await readChanges(pool, 'one', '7', 2, 100)
    t.strictSame(
      changes.map(
        ({ position, type, waybill_number, status }) => `${position} ${type} ${waybill_number} ${status?.key}`,
      ),
      [
        '3 order.created A key_1',
        '4 order.created B key_1',
        '5 order.status_changed B key_2',
        '6 order.edited A key_1',
        '7 order.status_changed A key_3',
        '8 order.status_changed B key_3',
      ],
    )
  },
)

/** Holds the statements with which processes of 0.2.0 write, deliver and number. */
const release = {
  move: `with moved as (
      update orders set status_key = $3 where tenant_id = $1 and waybill_number = any($2::text[])
        returning merchant_id, waybill_number
    ), changed as (
      insert into new_changes (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, happened_at)
      select $1, merchant_id, 'order.status_changed', array_agg(waybill_number order by waybill_number), array[$3],
        'staff', now()
      from moved group by merchant_id returning tenant_id
    )
    insert into outbox (tenant_id, type, waybill_numbers, status_keys, note, happened_at, traceparents)
    select $1, 'order.status_changed', $2::text[], array_fill($3::text, array[cardinality($2::text[])]), null, now(),
      null
    from tenants where tenants.tenant_id = $1 and messaging returning outbox.tenant_id`,
  read: `select outbox_id, row_key, type, waybill_numbers, status_keys, traceparents from outbox
    where tenant_id = $1 order by outbox_id limit 10`,
  deliver: 'delete from outbox where tenant_id = $1 and outbox_id = any($2::bigint[])',
  number: `with committed as (
      delete from new_changes where tenant_id = $1 and merchant_id = $2 and change_id = any(array(
        select change_id from new_changes where tenant_id = $1 and merchant_id = $2 order by change_id limit 1000
      )) returning *
    ), placed as (
      select *, sum(cardinality(waybill_numbers)) over (order by change_id)::bigint as through from committed
    ), numbered as (
      insert into changes (tenant_id, merchant_id, position, type, waybill_numbers, status_keys, fields, actor,
        happened_at)
      select placed.tenant_id, placed.merchant_id, last_position + through - cardinality(waybill_numbers) + 1, type,
        waybill_numbers, status_keys, fields, actor, happened_at
      from placed join feeds on feeds.tenant_id = $1 and feeds.merchant_id = $2 returning tenant_id
    )
    update feeds set last_position = last_position + coalesce((select max(through) from placed), 0)
    where tenant_id = $1 and merchant_id = $2 returning last_position::int as last`,
  deleteOld: `delete from changes where tenant_id = $1 and ctid = any(array(
      select ctid from changes where tenant_id = $1 and happened_at < now() order by happened_at limit 10000
    )) returning merchant_id`,
}

t.test(
  'a process of 0.2.0 that still runs writes, delivers and numbers, and nothing is lost or out of order',
  async t => {
    const { rows, book, database } = await startRelayFixture(t)
    const waybills = await book(2)
    const [first, second] = waybills
    const pool = openPool(t, database.url)
    const old = async (name: keyof typeof release, ...values: unknown[]) =>
      (await inTenant(pool, 'demo', (tx: Tx) => tx.client.query(release[name], ['demo', ...values]))).rows
    const [{ merchant_id: merchantId }] = await rows('select merchant_id from orders limit 1')
    const readFeed = async () => {
      const { lastPosition } = await openFeed(pool, { tenant: 'demo', merchantId })
      const changes = await readChanges(pool, 'demo', merchantId, 0, 100)
      t.equal(changes.length, lastPosition)
      return changes.map(({ position, waybill_number, status }) => `${position} ${waybill_number} ${status?.key}`)
    }
    await rows(`insert into feeds (tenant_id, merchant_id) values ('demo', $1)`, [merchantId])
    await old('move', waybills, 'key_2')
    t.match(await old('number', merchantId), [{ last: 0 }], 'the booking, which comes first, waits for the notifier')

    const waiting = await old('read')
    t.match(waiting, [
      { type: 'order.created', status_keys: ['key_1', 'key_1'] },
      { type: 'order.status_changed', status_keys: ['key_2', 'key_2'] },
    ])
    await old('deliver', [waiting[0]?.outbox_id])
    t.match(await old('read'), [{ type: 'order.status_changed' }], 'the rest waits')
    t.match(await old('number', merchantId), [{ last: 4 }])
    const numbered = [`1 ${first} key_1`, `2 ${second} key_1`, `3 ${first} key_2`, `4 ${second} key_2`]
    t.strictSame(await readFeed(), numbered)

    await old('move', [second], 'key_5')
    t.strictSame(await readFeed(), [...numbered, `5 ${second} key_5`], 'this version numbers what 0.2.0 wrote')
    t.match(await old('number', merchantId), [{ last: 5 }])
    t.strictSame(await old('deleteOld'), [], '0.2.0 leaves deletions to this version')
    t.equal((await old('read')).length, 2)
  },
)
