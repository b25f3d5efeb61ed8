import { revokeTokenById } from '@courier/shared/cli/token-commands.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { createTokenFor } from './core/access/token-commands.ts'
import type { Tx } from './core/database/tables.ts'
import { applyTenant } from './core/provisioning/apply.ts'
import { build } from './test/build.ts'
import { batch, order, tenantFile } from './test/tenant.ts'

const by = { kind: 'operator', name: 'kamala' } as const

t.test('audits logins and the commands of operators', async t => {
  const { request, pool, rows } = await build(t)
  await rows('truncate audit')
  const file = tenantFile()
  file.tenant.name = 'Demo & Sons'
  await applyTenant(pool, file, true, { by })
  await applyTenant(pool, file, false, { by })
  await applyTenant(pool, file, false, { by })
  const { id } = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' }, by)
  await revokeTokenById(pool, id, by)
  const login = await request('/login', { email: 'shop@example.com', password: 'lanka-shoes-demo' }, { token: '' })
  await request('/login', { email: 'shop@example.com', password: 'wrong' }, { token: '' })
  const kept = await rows('select * from audit order by audit_id')
  const operators = { tenant_id: 'demo', actor_kind: 'operator', actor: 'kamala', token_id: null, request_id: null }
  t.match(kept, [
    { ...operators, action: 'tenant.applied', object_id: 'demo' },
    { ...operators, action: 'token.created', object_id: id },
    { ...operators, action: 'token.revoked', object_id: id },
    { tenant_id: 'demo', actor_kind: 'merchant', actor: '1', action: 'merchant.logged_in' },
  ])
  t.equal(kept.length, 4, 'a dry run, a file that changes nothing and a wrong password leave no trace')
  t.strictSame([kept[3].request_id, kept[3].token_id], [login.headers['x-request-id'], kept[3].object_id])
  t.notMatch(JSON.stringify(kept), /lanka-shoes-demo|courier_|shop@example/)
})

t.test('moves by staff are audited once for each order', async t => {
  const { app, bulk, pool, rows } = await build(t)
  const confirmed = order({ initial_status_key: 'key_2' })
  const { data: waybills } = (await bulk(batch([confirmed, confirmed]))).body
  const { id, token } = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' }, by)
  await rows('truncate audit')
  const move = (status_key: string) =>
    app.inject({
      method: 'POST',
      url: '/api/staff/order/status',
      headers: { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'idempotency-key': status_key },
      payload: { waybill_numbers: waybills, status_key },
    })
  t.equal((await move('key_nowhere')).statusCode, 422)
  const moved = await move('key_5')
  t.equal(moved.statusCode, 200)
  t.equal((await move('key_5')).statusCode, 200, 'the request is repeated')
  const kept = await rows('select object_id, actor, token_id, request_id, action from audit order by audit_id')
  t.strictSame(
    kept,
    waybills.map((object_id: string) => ({
      object_id,
      actor: 'Ruwan',
      token_id: id,
      request_id: moved.headers['x-request-id'],
      action: 'order.status_changed',
    })),
  )
})

t.test('an action that is rolled back leaves no trace', async t => {
  const { pool, rows } = await build(t)
  await rows('truncate audit')
  const failing = inTenant(pool, 'demo', async (tx: Tx) => {
    await audit(tx, 'demo', by, 'order.status_changed', ['DM00000001', 'DM00000002'])
    throw new Error('afterwards')
  })
  await t.rejects(failing, /afterwards/)
  t.strictSame(await rows('select * from audit'), [])
  await inTenant(pool, 'demo', (tx: Tx) => audit(tx, 'demo', by, 'order.status_changed', ['DM00000001', 'DM00000002']))
  t.match(await rows('select object_id from audit order by audit_id'), [
    { object_id: 'DM00000001' },
    { object_id: 'DM00000002' },
  ])
})

t.test('the service can only add to the audit and read it', async t => {
  const { pool } = await build(t)
  const attempt = (tenant: string, statement: string) =>
    inTenant(pool, tenant, async (tx: Tx) => (await tx.client.query(statement)).rowCount)
  t.ok(await attempt('demo', 'select from audit'))
  t.equal(await attempt('rival', 'select from audit'), 0, 'a tenant sees only its own rows')
  for (const statement of [
    "update audit set actor = 'nobody'",
    'delete from audit',
    'truncate audit',
    'drop table audit',
  ])
    await t.rejects(attempt('demo', statement), { code: '42501' }, statement)
  const foreign = `insert into audit (tenant_id, actor_kind, actor, action)
    values ('rival', 'staff', 'x', 'token.created')`
  await t.rejects(attempt('demo', foreign), { code: '42501' })
})
