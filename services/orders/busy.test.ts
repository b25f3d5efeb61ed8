import t from 'tap'
import { build } from './test/build.ts'
import { batch } from './test/tenant.ts'

/** Builds a tenant whose version is an SQL expression, so that it keeps changing. */
const buildChangingTenant = async (t: Parameters<typeof build>[0], version: string) => {
  const built = await build(t)
  const [{ columns }] = await built.rows(
    `select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
      where table_name = 'tenants' and column_name <> 'version'`,
  )
  await built.rows(`alter table tenants rename to stable_tenants; create view tenants as select ${columns},
    ${version} as version from stable_tenants;
    grant select on tenants to public`)
  const restore = () => built.rows('drop view tenants; alter table stable_tenants rename to tenants')
  return { ...built, restore }
}

const busy = {
  status: 503,
  headers: { 'retry-after': '1' },
  body: { code: 'unavailable', message: /Nothing was changed; repeat the request\.$/ },
}

t.test('a write whose catalogue changes before every attempt ends in 503, and nothing is written', async t => {
  const { bulk, request, rows, restore } = await buildChangingTenant(t, 'pg_current_xact_id()::text::bigint')
  t.match(await bulk(batch()), busy)
  t.equal(
    (await bulk(batch(), { query: '?dry_run=true' })).status,
    200,
    'a dry run reads one version and writes nothing',
  )
  t.equal((await request('/city')).status, 200)
  await restore()
  t.strictSame(await rows('select from orders'), [])
  t.match(await bulk(batch()), { status: 200, body: { data: ['DM00000001'] } })
})

t.test('a catalogue that changes at each read ends a write in 503; reads show one version', async t => {
  const { bulk, request, rows, restore } = await buildChangingTenant(
    t,
    '(extract(epoch from clock_timestamp()) * 1000000)::bigint',
  )
  for (const path of ['/city', '/state']) t.equal((await request(path)).status, 200, path)
  t.match(await bulk(batch()), busy)
  t.equal((await bulk(batch(), { query: '?dry_run=true' })).status, 200)
  await restore()
  t.strictSame(await rows('select from orders'), [])
  t.equal((await bulk(batch())).status, 200)
})
