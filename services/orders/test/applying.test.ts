import t from 'tap'
import type { TenantFile } from '../provisioning/tenant-file.ts'
import { build } from './build.ts'
import { tenantFile } from './tenant.ts'

t.test('of two concurrent first applies the later one sees what the other created', async t => {
  const { apply, rows } = await build(t)
  const ofMerchant = (id: string, email: string): TenantFile => {
    const file = tenantFile({ id })
    const merchant = { name: email, email, password: 'long-enough', businesses: [{ id: 1, name: 'The one' }] }
    return { ...file, merchants: [merchant] }
  }
  for (const id of ['a', 'b', 'c', 'd']) {
    const results = await Promise.all([
      apply(ofMerchant(id, 'first@example.com')),
      apply(ofMerchant(id, 'second@example.com')),
    ])
    t.same(results.map(({ kind }) => kind).sort(), ['applied', 'refused'], id)
    t.same(await rows('select version from tenants where tenant_id = $1', [id]), [{ version: '2' }])
  }
})

t.test('a session may read the list of tenants and change its own row alone', async t => {
  const { apply, pool, rows } = await build(t)
  await apply(tenantFile({ id: 'other' }))
  const client = await pool.connect()
  t.teardown(() => client.release(true))
  await client.query(`select set_config('app.tenant', 'other', false)`)
  t.equal((await client.query('select 1 from tenants')).rowCount, 2)
  t.equal((await client.query(`update tenants set name = 'mine' where tenant_id = 'demo'`)).rowCount, 0)
  t.equal((await client.query(`update tenants set name = 'mine'`)).rowCount, 1)
  t.same(await rows(`select tenant_id from tenants where name = 'mine'`), [{ tenant_id: 'other' }])
})
