import t from 'tap'
import { createOrders } from '../../app.ts'
import { build } from '../../test/build.ts'
import { batch, tenantFile } from '../../test/tenant.ts'
import type { TenantFile } from './tenant-file.ts'

t.test('the later of two concurrent first applies sees the rows of the other', async t => {
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

t.test('a session may read all tenants but change only its own row', async t => {
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

t.test('every process shows new names at its next read, and keeps the name of a deactivated city', async t => {
  const { apply, app, bulk, ordersOptions, token } = await build(t)
  const other = await createOrders(ordersOptions)
  t.teardown(() => other.app.close())
  const [waybill] = (await bulk(batch())).body.data
  const read = async (by: typeof app) => {
    const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
    const order = (await by.inject({ url: `/api/public/merchant/order/${waybill}`, headers })).json().data
    const { merchant, merchant_business_name, origin_city_name, destination_city_name, destination_state_name } = order
    return [merchant.name, merchant_business_name, origin_city_name, destination_city_name, destination_state_name]
  }
  const before = ['Lanka Shoes', 'Lanka Shoes Online', 'Kotte', 'Galle', 'Galle']
  t.strictSame(await Promise.all([read(app), read(other.app)]), [before, before])
  const text = JSON.stringify(tenantFile())
    .replace('Lanka Shoes Online', 'Shoes')
    .replace('Kotte', 'Sri Jayawardenepura')
  const renamed: TenantFile = JSON.parse(text)
  renamed.states[1]?.cities.shift()
  t.equal((await apply(renamed)).kind, 'applied')
  const after = ['Lanka Shoes', 'Shoes', 'Sri Jayawardenepura', 'Galle', 'Galle']
  t.strictSame(await Promise.all([read(app), read(other.app)]), [after, after])
})
