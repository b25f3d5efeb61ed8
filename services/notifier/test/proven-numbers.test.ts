import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createTokenFor } from '../access/token-commands.ts'
import { keepProving } from '../channels/prove.ts'
import type { Tx } from '../database/tables.ts'
import { applyFile } from '../provisioning/apply.ts'
import { checkFile } from '../provisioning/check-file.ts'
import { addTenant, messageTo, until } from './fixture.ts'
import { build } from './portal.ts'
import { envelope, inbound, sign } from './webhooks-fixture.ts'

const number = '306540352242922'
/** That of the simulator's templates. */
const account = '102290129340398'
const channel = `/api/channels/${number}`
const tokenOf = { owner: 'owner-access-token', stranger: 'stranger-access-token' } as const
type Name = keyof typeof tokenOf

/** Two tenants that both want the number; the API takes the token of one. */
const twoTenants = async (t: Test) => {
  const built = await build(t)
  const { pool, control, call, app, rows } = built
  control.putNumber(number, { waba_id: account, registered: true })
  control.putToken({ access_token: tokenOf.owner, waba_ids: [account] })
  control.putToken({ access_token: tokenOf.stranger, waba_ids: ['402290129340398'] })
  const headers = {} as Record<Name, Record<string, string>>
  for (const [index, tenant] of (['owner', 'stranger'] as const).entries()) {
    await addTenant(pool, tenant, String(index + 1), {})
    const { token } = await createTokenFor(pool, { tenant, staff: 'Ruwan' })
    headers[tenant] = { authorization: `Bearer ${token}`, 'x-tenant': tenant }
  }
  const fields = (name: Name) => ({
    name,
    plan: 'paid',
    default: true,
    access_token: tokenOf[name],
    app_secret: `${name}-app-secret`,
    verify_token: `${name}-verify-token`,
  })
  const put = async (name: Name, more = {}) =>
    (await call('PUT', channel, { ...fields(name), ...more }, headers[name])).body.data
  const refusal = async (name: Name) => (await call('PUT', channel, fields(name), headers[name])).body.errors
  const check = async (name: Name) => (await call('POST', `${channel}/check`, {}, headers[name])).body.data
  const send = async (name: Name) =>
    (await call('POST', '/api/messages', messageTo('0770000101', { channel: number }), headers[name])).body.data.id
  const webhook = async (secret: string, from: string) => {
    const payload = JSON.stringify(envelope({ messages: [inbound({ from })] }, number))
    const signature = sign(payload, secret)
    const signed = { 'x-hub-signature-256': signature, 'content-type': 'application/json' }
    return (await app.inject({ method: 'POST', url: '/webhooks/messaging', headers: signed, payload })).statusCode
  }
  const proven = async () =>
    (await rows('select tenant_id from channels where proven_at is not null and phone_number_id = $1', [number])).map(
      row => row.tenant_id,
    )
  const apply = (name: Name) => {
    const { default: _, ...rest } = fields(name)
    const file = { tenant: { id: name, country: 'LK' }, channels: [{ phone_number_id: number, ...rest }] }
    const checked = checkFile(file, {})
    if (checked.kind !== 'accepted') throw new Error(JSON.stringify(checked))
    return applyFile(pool, built.keyring, checked.file, false)
  }
  return { ...built, put, refusal, check, send, webhook, proven, apply }
}

t.test(
  "a stranger's claim, whom the API refuses, keeps the owner neither from the number nor from its messages",
  async t => {
    const { put, send, webhook, proven, queue, control, rows } = await twoTenants(t)
    t.match(await put('stranger'), { state: 'paused', paused_reason: /not taken/, proven_at: null })
    queue.start()
    const squatted = await send('stranger')
    t.match(await put('owner'), { state: 'active', paused_reason: null, proven_at: String })
    t.same(await proven(), ['owner'])
    const own = await send('owner')
    const statusOf = async (id: string) =>
      (await rows('select status from messages where message_id = $1', [id]))[0]?.status
    await until('the owner sends', async () => (await statusOf(own)) === 'accepted')
    t.equal(await statusOf(squatted), 'queued', 'the stranger does not')
    t.strictSame(
      control.messages({ phone_number_id: number }).map(message => message.biz_opaque_callback_data),
      [own],
    )
    t.equal(await webhook('owner-app-secret', '94770000101'), 200)
    t.equal(await webhook('stranger-app-secret', '94770000102'), 401)
    t.same(await rows('select tenant_id, recipient from conversations where last_inbound_at is not null'), [
      { tenant_id: 'owner', recipient: '94770000101' },
    ])
  },
)

t.test(
  'the same holds for apply and while the API is unavailable: a running notifier proves numbers later',
  async t => {
    const { apply, put, proven, control, pool, keyring, api } = await twoTenants(t)
    control.outage('unavailable')
    t.match(await put('stranger'), { proven_at: null })
    t.equal((await apply('owner')).kind, 'applied')
    const prover = keepProving({ pool, keyring, api }, pino({ level: 'silent' }))
    prover.start()
    t.teardown(() => prover.stop())
    t.same(await proven(), [])
    control.outage(null)
    await until('the owner has it', async () => (await proven()).length > 0)
    t.same(await proven(), ['owner'])
  },
)

t.test(
  'of two tenants whose tokens the API accepts the first keeps the number, until the API refuses its token',
  async t => {
    const { put, refusal, apply, check, proven, control, webhook } = await twoTenants(t)
    await put('owner')
    control.putToken({ access_token: tokenOf.stranger, waba_ids: [account] })
    t.match(await refusal('stranger'), { phone_number_id: ['The number is a channel of another tenant.'] })
    t.equal((await apply('stranger')).kind, 'applied')
    t.match(await check('stranger'), { ok: false, problems: [/another tenant/] })
    t.same(await proven(), ['owner'])
    control.putToken({ access_token: tokenOf.owner, revoked: true })
    t.match(await check('stranger'), { ok: true })
    t.same(await proven(), ['stranger'])
    t.match(await check('owner'), { ok: false })
    t.same(await proven(), ['stranger'])
    t.equal(await webhook('stranger-app-secret', '94770000102'), 200)
    t.equal(await webhook('owner-app-secret', '94770000101'), 401)
  },
)

t.test(
  'an unproven number, of which the API tells, is its whose secret signs; signed by two it is nobody’s yet',
  async t => {
    const { put, webhook, control, rows } = await twoTenants(t)
    control.outage('unavailable')
    await put('owner')
    t.equal(await webhook('owner-app-secret', '94770000101'), 200)
    await put('stranger', { app_secret: 'owner-app-secret' })
    // Who signed is remembered for two seconds.
    await new Promise(resolve => setTimeout(resolve, 2_100))
    t.equal(await webhook('owner-app-secret', '94770000102'), 401, 'it comes again')
    control.outage(null)
    await put('owner')
    t.equal(await webhook('owner-app-secret', '94770000102'), 200)
    t.same(await rows('select distinct tenant_id from conversations where last_inbound_at is not null'), [
      { tenant_id: 'owner' },
    ])
  },
)

t.test('two tenants that claim a number use their own tokens', async t => {
  const { put, tokens, pool } = await twoTenants(t)
  await put('stranger')
  await put('owner')
  for (const tenant of ['stranger', 'owner'] as const)
    t.equal((await tokens.find(tenant, number)).current, tokenOf[tenant])
  await t.rejects(
    inAllTenants(pool, (tx: Tx) =>
      tx.updateTable('channels').set({ proven_at: new Date() }).where('phone_number_id', '=', number).execute(),
    ),
    { code: '23505' },
  )
})
