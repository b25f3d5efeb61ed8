import { hash } from 'node:crypto'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { build } from '../../test/build.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'
import type { Tx } from '../database/tables.ts'
import { listTrackingKeys, revokeTrackingKey, rotateTrackingKey } from './tracking-keys.ts'

const file = tenantFile()
const { apply, bulk, pool, rows, send } = await build(t)

const shows = async (waybill_number: string, tracking_code: string): Promise<boolean> => {
  const body = { waybill_number, tracking_code }
  return (await send('POST', '/api/public/order/tracking-info', body, { token: '' })).body.data.order.cod === 4500
}

/** Returns the code that the newest key signs. */
const sign = async (waybill: string, tenant = 'demo') => {
  const text = 'select secret from tracking_keys where tenant_id = $1 order by key_no desc limit 1'
  const [key] = await rows(text, [tenant])
  return hash('sha256', key.secret + waybill, 'base64url').slice(0, 11)
}

t.test('a new key signs new links; those of an earlier key are valid until it is revoked', async t => {
  const [waybill = ''] = (await bulk(batch([order({ cod: 4500, initial_status_key: 'key_2' })]))).body.data
  const first = await sign(waybill)
  await t.rejects(revokeTrackingKey(pool, 'demo', 1), /signs new links: rotate the keys first/)
  t.equal(await rotateTrackingKey(pool, 'demo'), 2)
  const second = await sign(waybill)
  t.not(second, first)
  t.strictSame([await shows(waybill, first), await shows(waybill, second)], [true, true])
  await revokeTrackingKey(pool, 'demo', 1)
  t.strictSame([await shows(waybill, first), await shows(waybill, second)], [false, true])
  await t.rejects(revokeTrackingKey(pool, 'demo', 1), /was revoked at/)
  await t.rejects(revokeTrackingKey(pool, 'demo', 9), /has no tracking key 9/)
  await t.rejects(rotateTrackingKey(pool, 'nobody'), /there is no tenant nobody/)
  t.match(await listTrackingKeys(pool, 'demo'), [
    { key: 2, revoked_at: null },
    { key: 1, revoked_at: Date },
  ])
  t.match(await rows(`select action, object_id from audit where action like 'tracking_key.%' order by happened_at`), [
    { action: 'tracking_key.rotated', object_id: '2' },
    { action: 'tracking_key.revoked', object_id: '1' },
  ])
})

t.test('only the own sessions of a company read its keys, and no key lies in the table of companies', async t => {
  await apply(tenantFile({ id: 'rival' }))
  const readKeys = async (tenant: string) =>
    (await inTenant(pool, tenant, (tx: Tx) => tx.rows('select tenant_id from tracking_keys'))).map(row => row.tenant_id)
  t.strictSame(new Set(await readKeys('demo')), new Set(['demo']))
  t.strictSame(await readKeys('rival'), ['rival'])
  t.strictSame((await pool.query('select from tracking_keys')).rows, [])
  t.strictSame(await rows('select from tenants join tracking_keys using (tenant_id) where secret = link_key'), [])
})

t.test('a company that a process of 0.2.0 added keeps the links that it signed', async t => {
  const [waybill = ''] = (await bulk(batch([order({ cod: 4500, initial_status_key: 'key_2' })]))).body.data
  await rows(`delete from tracking_keys where tenant_id = 'demo'`)
  const [{ link_key }] = await rows(
    `update tenants set version = version + 1 where tenant_id = 'demo' returning link_key`,
  )
  const code = hash('sha256', link_key + waybill, 'base64url').slice(0, 11)
  t.equal(await shows(waybill, code), true)
  await apply(file)
  t.equal(await sign(waybill), code)
  await rotateTrackingKey(pool, 'demo')
  t.equal(await shows(waybill, code), true)
})
