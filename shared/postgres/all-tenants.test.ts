import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { cloneDatabase } from '../../dev/test-database.ts'
import type { Tx } from '../../services/notifier/core/database/tables.ts'
import { addTenant } from '../../services/notifier/test/fixture.ts'
import { inAllTenants } from './all-tenants.ts'
import { createPool, inTenant, readInTenant } from './database.ts'

/** Lists the files that may see the rows of all tenants, with the reasons. */
const allowed: Readonly<Record<string, string>> = {
  'services/notifier/core/sending/': 'the queue and its metrics: it is fair between the numbers of all tenants',
  'services/notifier/capabilities/customer-actions/deliver-actions.ts': 'the actions of customers, for all tenants',
  'services/notifier/metrics.ts': 'the counts of waiting work, for all tenants',
  'services/notifier/core/platform-webhooks/': 'a webhook names a number; its signature says whose it is',
  'services/notifier/core/channels/check-keys.ts': 'the keys open the credentials of all tenants, or nothing is sent',
  'services/notifier/capabilities/account-limits/': 'the numbers of a portfolio share its limit, in whichever tenant',
  'services/notifier/core/channels/prove.ts': 'a number belongs to the one tenant that proved it',
  'services/orders/capabilities/feed/watch.ts': 'one poll for the waiting requests of all merchants',
  'services/orders/capabilities/feed/': 'the sender and its metrics: which endpoints have events waiting',
  'services/orders/capabilities/shops/auto-book.ts': 'one poll for the new orders of all shops',
  'services/orders/core/relay/': 'the relay and its metrics: which tenants have events waiting',
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const productFiles = globSync(['services/**/*.ts', 'shared/**/*.ts'], {
  cwd: root,
  exclude: path => /(^|\/)(node_modules|test)$|\.test\.ts$/.test(path),
})
const readText = (file: string): string => readFileSync(`${root}/${file}`, 'utf8')

t.test('only the listed files import inAllTenants, and all of them do', async t => {
  const importers = productFiles.filter(file => /from '[^']*\/all-tenants\.ts'/.test(readText(file)))
  const isIn = (file: string, place: string) => (place.endsWith('/') ? file.startsWith(place) : file === place)
  const places = Object.keys(allowed)
  t.same(
    importers.filter(file => !places.some(place => isIn(file, place))),
    [],
  )
  t.same(
    places.filter(place => !importers.some(file => isIn(file, place))),
    [],
  )
})

t.test('only files of shared/postgres open a transaction or set what it may see', async t => {
  const findNaming = (words: RegExp) => productFiles.filter(file => words.test(readText(file))).sort()
  t.same(findNaming(/\binTransaction\b/), ['shared/postgres/all-tenants.ts', 'shared/postgres/database.ts'])
  t.same(findNaming(/app\.all_tenants/), ['shared/postgres/all-tenants.ts'])
  t.same(findNaming(/'app\.tenant'|set local app\.tenant/), [
    'shared/postgres/database.ts',
    'shared/postgres/history.ts',
  ])
})

const select = 'select tenant_id from channels order by tenant_id'
const insert = `insert into recipients (tenant_id, phone_number_id, recipient, next_send_at)
  values ('demo', '100', '1', now())`
const read = async (tx: Tx) => (await tx.client.query(select)).rows.map(row => row.tenant_id)

const buildTwo = async (t: Test) => {
  const { url } = await cloneDatabase(t, 'notifier')
  const pool = createPool({ url, name: 'all tenants', connections: 1 })
  t.teardown(() => pool.end())
  await addTenant(pool, 'demo', '100', {})
  await addTenant(pool, 'rival', '200', {})
  return pool
}

t.test('inAllTenants sees every tenant, and its connection afterwards shows none', async t => {
  const pool = await buildTwo(t)
  t.same(await inAllTenants(pool, read), ['demo', 'rival'])
  t.same(await inTenant(pool, 'demo', read), ['demo'])
  t.same(await inTenant(pool, 'nowhere', read), [])
  t.same((await pool.query(select)).rows, [])
})

t.test("a tenant called '*', 'on' or '' sees and adds no row", async t => {
  const pool = await buildTwo(t)
  for (const tenant of ['*', 'on', '']) {
    t.same(await inTenant(pool, tenant, read), [], tenant)
    t.same(await readInTenant(pool, tenant, { text: select }), [], tenant)
    await t.rejects(
      inTenant(pool, tenant, (tx: Tx) => tx.client.query(insert)),
      { code: '42501' },
      tenant,
    )
  }
})
