import { hash } from 'node:crypto'
import t from 'tap'
import { revokeTrackingKey, rotateTrackingKey } from './core/tracking/tracking-keys.ts'
import { build } from './test/build.ts'
import { batch, order } from './test/tenant.ts'

const { app, bulk, pool, rows, token } = await build(t)
const open = async (url: string) => (await app.inject({ url })).body
const shows = async (link: string) => (await open(link)).includes('LKR 4,500')

/** Returns the link that the newest key signs. */
const sign = async (waybill: string, tenant = 'demo') => {
  const text = 'select secret from tracking_keys where tenant_id = $1 order by key_no desc limit 1'
  const [key] = await rows(text, [tenant])
  return `/t/${tenant}/${waybill}/${hash('sha256', key.secret + waybill, 'base64url').slice(0, 11)}`
}

t.test('labels and the tracking page follow the keys: a new key signs new links, and a revoked one none', async t => {
  const [waybill = ''] = (await bulk(batch([order({ cod: 4500, initial_status_key: 'key_2' })]))).body.data
  const first = await sign(waybill)
  t.equal(await rotateTrackingKey(pool, 'demo'), 2)
  const second = await sign(waybill)
  t.not(second, first)
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
  const { body } = await app.inject({ url: `/api/public/merchant/order/${waybill}/label?format=zpl`, headers })
  t.ok(body.replaceAll('_5f', '_').includes(second), 'a label has the link of the newest key')
  t.strictSame([await shows(first), await shows(second)], [true, true])
  await revokeTrackingKey(pool, 'demo', 1)
  t.strictSame([await shows(first), await shows(second)], [false, true])
})
