import { randomBytes } from 'node:crypto'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { rotateKeys } from './core/channels/rotate.ts'
import { readKeyring } from './core/channels/vault.ts'
import type { Tx } from './core/database/tables.ts'
import { messageTo, phoneNumberId } from './test/fixture.ts'
import { build } from './test/portal.ts'

const channel = `/api/channels/${phoneNumberId}`
const wabaId = '102290129340398'
const secrets = { access_token: 'demo-access-token', app_secret: 'an-app-secret', verify_token: 'a-verify-token' }

/** Starts the application; omits the audit entries of its set-up. */
const open = async (t: Parameters<typeof build>[0]) => {
  const fixture = await build(t)
  const [last] = await fixture.rows('select coalesce(max(audit_id), 0) as id from audit')
  const entries = () => fixture.rows('select * from audit where audit_id > $1 order by audit_id', [last.id])
  return { ...fixture, entries }
}

t.test('audits every change by staff, with its request', async t => {
  const { call, rows, entries } = await open(t)
  const tokens = await rows('select token_id from tokens')
  await call('PUT', channel, { ...secrets, waba_id: wabaId })
  await call('PUT', '/api/channels/222', { name: 'Second', plan: 'free', ...secrets })
  await call('POST', `${channel}/register`, { pin: '123456', certificate: 'demo-certificate' })
  await call('POST', `${channel}/register`, { pin: '654321', certificate: 'demo-certificate' })
  await call('POST', `${channel}/check`)
  await call('POST', `${channel}/resume`)
  await call('POST', '/api/templates/sync')
  const queued = await call('POST', '/api/messages', messageTo('0770000101'))
  const { id } = queued.body.data
  await call('POST', `/api/messages/${id}/cancel`)
  await call('POST', `/api/messages/${id}/cancel`)
  const kept = await entries()
  t.strictSame(
    kept.map(({ action, object_id }) => `${action} ${object_id}`),
    [
      `channel.changed ${phoneNumberId}`,
      'channel.created 222',
      `channel.registration_tried ${phoneNumberId}`,
      `channel.registered ${phoneNumberId}`,
      `channel.registration_tried ${phoneNumberId}`,
      `channel.checked ${phoneNumberId}`,
      `channel.resumed ${phoneNumberId}`,
      `templates.synced ${wabaId}`,
      `message.accepted ${id}`,
      `message.cancelled ${id}`,
    ],
  )
  for (const row of kept)
    t.match(row, { tenant_id: 'demo', actor_kind: 'staff', actor: 'Ruwan', token_id: tokens[0]?.token_id })
  t.equal(kept.find(({ action }) => action === 'message.accepted')?.request_id, queued.headers['x-request-id'])
  t.notMatch(
    JSON.stringify(kept),
    /0770000101|94770000101|Nimali|demo-access-token|an-app-secret|a-verify-token|123456"/,
  )
})

t.test('audits no refused or repeated request', async t => {
  const { call, entries } = await open(t)
  await call('PUT', channel, { plan: 'lavish' })
  await call('POST', '/api/messages', messageTo('x'))
  await call('POST', '/api/messages/bulk', { messages: [messageTo('0770000101'), messageTo('x')] })
  t.strictSame(await entries(), [])
  const bulk = { messages: [messageTo('0770000101'), messageTo('0770000102')] }
  const first = await call('POST', '/api/messages/bulk', bulk, { 'idempotency-key': 'monday' })
  await call('POST', '/api/messages/bulk', bulk, { 'idempotency-key': 'monday' })
  t.strictSame(
    (await entries()).map(({ object_id }) => object_id),
    first.body.data.map((message: { id: string }) => message.id),
  )
})

t.test('audits a resend by staff and a rotation of keys', async t => {
  const { call, pool, rows, keyring, entries } = await open(t)
  const { id } = (await call('POST', '/api/messages', messageTo('0770000101'))).body.data
  await rows(`update messages set status = 'failed'`)
  await call('POST', `/api/messages/${id}/resend`)
  const fresh = readKeyring(`fresh:${randomBytes(32).toString('base64')}`)
  const both = { ...keyring, newest: 'fresh', keys: new Map([...fresh.keys, ...keyring.keys]) }
  await rotateKeys(pool, both, { kind: 'operator', name: 'kamala' })
  t.match((await entries()).slice(1), [
    { actor: 'Ruwan', action: 'message.resent', object_id: id },
    { actor_kind: 'operator', actor: 'kamala', action: 'keys.rotated', object_id: `${phoneNumberId} access_token` },
  ])
})

t.test('the service can only add to the audit and read it', async t => {
  const { pool } = await build(t)
  const run = (statement: string) => async (tx: Tx) => (await tx.client.query(statement)).rowCount
  t.ok(await inTenant(pool, 'demo', run('select from audit')))
  t.equal(await inTenant(pool, 'rival', run('select from audit')), 0)
  for (const statement of ["update audit set actor = 'nobody'", 'delete from audit', 'truncate audit']) {
    await t.rejects(inTenant(pool, 'demo', run(statement)), { code: '42501' }, statement)
    await t.rejects(inAllTenants(pool, run(statement)), { code: '42501' }, `${statement}, in all tenants`)
  }
})
