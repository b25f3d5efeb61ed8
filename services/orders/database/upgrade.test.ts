import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '@courier/shared/postgres/migrate.ts'
import pg from 'pg'
import t, { type Test } from 'tap'
import { cloneDatabase } from '../../../dev/test-database.ts'
import type { TenantFile } from '../provisioning/tenant-file.ts'
import { build } from '../test/build.ts'
import { tenantFile } from '../test/tenant.ts'

const folder = join(import.meta.dirname, './migrations')

/** A database as it was before zones had ids and merchants could be deactivated, and `upgrade`. */
const openEarlier = async (t: Test) => {
  const { url, ownerUrl } = await cloneDatabase(t, 'orders')
  const owner = new pg.Client({ connectionString: ownerUrl })
  await owner.connect()
  t.teardown(() => owner.end())
  const earlier = await mkdtemp(join(tmpdir(), 'courier-migrations-'))
  t.teardown(() => rm(earlier, { recursive: true }))
  await cp(folder, earlier, { recursive: true, filter: source => !/00(1[1-9]|[2-9]\d)-/.test(source) })
  await owner.query('drop schema public cascade; create schema public')
  const role = new URL(url).username
  await migrate(ownerUrl, earlier, role)
  return { owner, upgrade: () => migrate(ownerUrl, folder, role) }
}

t.test('zones that are there when the migration runs get ids, from 1 in each tenant', async t => {
  const { owner, upgrade } = await openEarlier(t)
  const read = async () => (await owner.query('select rate_card, zone, zone_id from zones order by zone_id')).rows
  for (const tenant of ['one', 'two']) {
    await owner.query(`select set_config('app.tenant', $1, false)`, [tenant])
    await owner.query(`insert into tenants values ($1, 'T', 'LKR', 'LK', 'Asia/Colombo', 'auto', 'E####', false)`, [
      tenant,
    ])
    await owner.query(`insert into rate_cards values ($1, 'a'), ($1, 'b')`, [tenant])
    await owner.query(`insert into zones values ($1, 'b', 'x', true), ($1, 'a', 'y', true), ($1, 'a', 'x', false)`, [
      tenant,
    ])
  }
  t.ok((await upgrade()).length > 0)
  for (const tenant of ['one', 'two']) {
    await owner.query(`select set_config('app.tenant', $1, false)`, [tenant])
    t.strictSame(await read(), [
      { rate_card: 'a', zone: 'x', zone_id: 1 },
      { rate_card: 'a', zone: 'y', zone_id: 2 },
      { rate_card: 'b', zone: 'x', zone_id: 3 },
    ])
  }
})

t.test('tokens of earlier logins count as such, and merchants are active', async t => {
  const { owner, upgrade } = await openEarlier(t)
  await owner.query(`select set_config('app.tenant', 'one', false)`)
  await owner.query(`insert into tenants values ('one', 'T', 'LKR', 'LK', 'Asia/Colombo', 'auto', 'E####', false)`)
  await owner.query(`insert into merchants (tenant_id, email, name, password_hash) values ('one', 'a@b', 'A', 'x')`)
  await owner.query(`insert into tokens (tenant_id, token_id, hash, merchant_id)
    select 'one', id, sha256(id::bytea), merchant_id from merchants, unnest(array['tok_login', 'tok_made']) as id`)
  await owner.query(`insert into audit (tenant_id, actor_kind, actor, action, object_id)
    values ('one', 'merchant', '1', 'merchant.logged_in', 'tok_login'), ('one', 'operator', 'x', 'token.created', 'tok_made')`)
  await upgrade()
  const { rows } = await owner.query(`select token_id, from_login, is_active
    from tokens join merchants using (tenant_id, merchant_id) order by token_id`)
  t.strictSame(rows, [
    { token_id: 'tok_login', from_login: true, is_active: true },
    { token_id: 'tok_made', from_login: false, is_active: true },
  ])
})

t.test('a zone keeps its id while others come and go', async t => {
  const file = tenantFile()
  const [card] = file.rate_cards as [TenantFile['rate_cards'][number]]
  const { apply, rows } = await build(t, { file })
  const ids = async () =>
    Object.fromEntries(
      (await rows('select rate_card, zone, zone_id from zones')).map(row => [
        `${row.rate_card} ${row.zone}`,
        row.zone_id,
      ]),
    )
  const before = await ids()
  t.strictSame(before, { 'standard metro': 1, 'standard north': 2, 'standard outstation': 3 })
  const { north: _north, ...zones } = card.zones
  await apply({
    ...file,
    rate_cards: [
      { ...card, zones: { suburb: [3000], ...zones } },
      { ...card, name: 'other' },
    ],
  })
  t.strictSame(await ids(), {
    'standard metro': 1,
    'standard outstation': 3,
    'standard suburb': 4,
    'other metro': 5,
    'other north': 6,
    'other outstation': 7,
  })
})
