import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { requireStopped } from '@courier/shared/cli/operator-commands.ts'
import { createPool } from '@courier/shared/postgres/database.ts'
import { migrate } from '@courier/shared/postgres/migrate.ts'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { cloneDatabase, makeFolder } from '../dev/test-database.ts'
import { testJourney } from './journey.ts'
import { startPgBouncer, whyNoPgBouncer } from './pgbouncer.ts'
import { applyDemo, startStack } from './stack.ts'

t.test(
  'both services and their migrations work behind PgBouncer in transaction mode',
  { skip: whyNoPgBouncer },
  async t => {
    const databases = { orders: await cloneDatabase(t, 'orders'), notifier: await cloneDatabase(t, 'notifier') }
    const reroute = await startPgBouncer(t, Object.values(databases))
    const stack = await startStack(t, {
      ordersDatabase: databases.orders,
      notifierDatabase: databases.notifier,
      orders: {
        ORDERS_DATABASE_URL: reroute(databases.orders.url),
        ORDERS_MIGRATE_DATABASE_URL: reroute(databases.orders.ownerUrl),
      },
      notifier: {
        NOTIFIER_DATABASE_URL: reroute(databases.notifier.url),
        NOTIFIER_MIGRATE_DATABASE_URL: reroute(databases.notifier.ownerUrl),
        RECIPIENT_PAUSE_SECONDS: '1',
      },
    })
    await testJourney(t, await applyDemo(stack))
  },
)

t.test('a migration that fails behind PgBouncer leaves no lock behind', { skip: whyNoPgBouncer }, async t => {
  const database = await cloneDatabase(t, 'orders')
  const reroute = await startPgBouncer(t, [database])
  const folder = makeFolder(t)
  await writeFile(join(folder, '0001-wrong.sql'), 'select 1 / 0;')
  const url = reroute(database.ownerUrl)
  await t.rejects(migrate(url, folder, 'nobody'))
  const migrations = join(root, 'services/orders/core/database/migrations')
  const { username } = new URL(database.url)
  t.strictSame(await Promise.all([1, 2, 3].map(() => migrate(url, migrations, username))), [[], [], []])
})

t.test('`restored` ignores what only PgBouncer holds, and names other clients', { skip: whyNoPgBouncer }, async t => {
  const database = await cloneDatabase(t, 'orders')
  const through = (await startPgBouncer(t, [database]))(database.url)
  const open = (url: string, name: string) => {
    const pool = createPool({ url, name, connections: 2 })
    t.teardown(() => pool.end().catch(() => {}))
    return pool
  }
  const [service, admin, direct] = [open(through, 'orders'), open(through, 'admin'), open(database.url, 'admin')]
  const work = () => Promise.all([1, 2].map(() => service.query('select pg_sleep(0.1)')))
  await work()
  await t.rejects(requireStopped(direct, 'orders'), {
    message: /^orders runs .+ \(a client at 127\.0\.0\.1 port \d+: idle/,
  })
  const working = setInterval(work, 500)
  await t.rejects(requireStopped(admin, 'orders'), {
    message: /^orders runs .+ \(the pooler at 127\.0\.0\.1 port \d+: /,
  })
  clearInterval(working)
  await work()
  await service.end()
  const held = `select from pg_stat_activity where application_name = 'orders' and datname = current_database()`
  t.ok((await direct.query(held)).rowCount, 'PgBouncer holds a connection of the service')
  await requireStopped(admin, 'orders')
})
