import { pollWorker } from '@courier/shared/poll-worker.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { addTenant, messageTo, until } from '../../test/fixture.ts'
import { build } from '../../test/portal.ts'
import { envelope, inbound, postWebhook } from '../../test/webhooks-fixture.ts'
import { createTokenFor } from '../access/token-commands.ts'
import type { Tx } from '../database/tables.ts'
import { applyFile } from '../provisioning/apply.ts'
import { checkFile } from '../provisioning/check-file.ts'
import { proveDue } from './prove.ts'

const number = '306540352242922'
/** Names the account of the simulator's templates. */
const account = '102290129340398'
const channel = `/api/channels/${number}`
const tokenOf = { owner: 'owner-access-token', stranger: 'stranger-access-token' } as const
type Name = keyof typeof tokenOf

/** Prepares two tenants that both claim the number; the API accepts the token of one. */
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
  const check = async (name: Name) => (await call('POST', `${channel}/check`, {}, headers[name])).body.data
  const send = async (name: Name) =>
    (await call('POST', '/api/messages', messageTo('0770000101', { channel: number }), headers[name])).body.data.id
  const webhook = async (secret: string, from: string) =>
    (await postWebhook(app, envelope({ messages: [inbound({ from })] }, number), secret)).statusCode
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
  const prove = () => proveDue({ pool, keyring: built.keyring, api: built.api }, pino({ level: 'silent' }))
  const read = async (name: Name) => (await call('GET', '/api/channels', undefined, headers[name])).body.data
  const channelOf = async (name: Name) =>
    (await read(name)).find(({ phone_number_id }: { phone_number_id: string }) => phone_number_id === number)
  return { ...built, put, check, send, webhook, proven, apply, prove, channelOf }
}

t.test(
  "a stranger's claim, which the API refuses, keeps the owner from neither its webhooks nor its messages",
  async t => {
    const { put, send, webhook, proven, queue, control, rows, prove, channelOf } = await twoTenants(t)
    t.match(await put('stranger'), { state: 'active', proven_at: null })
    queue.start()
    const squatted = await send('stranger')
    t.match(await put('owner'), { state: 'active', paused_reason: null, proven_at: null })
    await prove()
    t.same(await proven(), ['owner'])
    const own = await send('owner')
    const statusOf = async (id: string) =>
      (await rows('select status from messages where message_id = $1', [id]))[0]?.status
    await until('the owner sends', async () => (await statusOf(own)) === 'accepted')
    await until('the stranger is paused', async () => (await channelOf('stranger')).state === 'paused')
    t.equal(await statusOf(squatted), 'queued')
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

t.test('a send-only token sends at once, and the accepted message proves the number', async t => {
  const { put, send, check, webhook, proven, prove, queue, control, rows, channelOf } = await twoTenants(t)
  control.putToken({ access_token: tokenOf.owner, scopes: ['whatsapp_business_messaging'] })
  await put('owner')
  await prove()
  t.same(await proven(), [], 'its read of the number proves nothing')
  t.match(await check('owner'), {
    ok: true,
    problems: [],
    warnings: [/expires|lacks the scope whatsapp_business_management/, /waba_id/, /not proven/],
    number: null,
  })
  queue.start()
  const own = await send('owner')
  await until(
    'the message is accepted',
    async () => (await rows('select status from messages'))[0].status === 'accepted',
  )
  t.same(await proven(), ['owner'])
  t.strictSame(control.messages({ phone_number_id: number })[0]?.biz_opaque_callback_data, own)
  t.match(await channelOf('owner'), { state: 'active', paused_reason: null, proven_at: String })

  control.putToken({ access_token: tokenOf.stranger, waba_ids: [account] })
  await put('stranger')
  await prove()
  t.same(await proven(), ['owner'], 'the API refuses the owner’s read only for its missing scope')
  t.match(await check('stranger'), { ok: true, warnings: [/waba_id/, /Another company/] })
  t.equal(await webhook('owner-app-secret', '94770000101'), 200)
  t.equal(await webhook('stranger-app-secret', '94770000102'), 401)
})

t.test('a send-only token takes a number over once the API refuses its owner’s token', async t => {
  const { put, send, proven, prove, queue, control } = await twoTenants(t)
  await put('owner')
  await prove()
  control.putToken({ access_token: tokenOf.owner, revoked: true })
  control.putToken({ access_token: tokenOf.stranger, waba_ids: [account], scopes: ['whatsapp_business_messaging'] })
  await put('stranger')
  queue.start()
  await send('stranger')
  await until('the accepted message proves the number', async () => (await proven())[0] === 'stranger')
})

for (const code of [3, 10, 200, 131005])
  t.test(`a channel paused by code ${code} names the missing scope`, async t => {
    const { put, send, queue, control, channelOf } = await twoTenants(t)
    await put('owner')
    control.script({ call: 'messages', times: 1, trouble: { kind: 'error', code } })
    queue.start()
    await send('owner')
    await until('the channel is paused', async () => (await channelOf('owner')).state === 'paused')
    t.match((await channelOf('owner')).paused_reason, /whatsapp_business_messaging/)
  })

t.test('numbers that are added or applied while the API is unavailable are proven later', async t => {
  const { apply, put, proven, control, pool, keyring, api } = await twoTenants(t)
  control.outage('unavailable')
  t.match(await put('stranger'), { proven_at: null })
  t.equal((await apply('owner')).kind, 'applied')
  const logger = pino({ level: 'silent' })
  const run = () => proveDue({ pool, keyring, api }, logger)
  const prover = pollWorker({ name: 'channel.proving', everySeconds: 1, logger, run })
  prover.start()
  t.teardown(() => prover.stop())
  t.same(await proven(), [])
  control.outage(null)
  await until('the owner has the number', async () => (await proven()).length > 0)
  t.same(await proven(), ['owner'])
})

t.test(
  'the first of two tenants whose tokens the API accepts keeps the number, until the API refuses its token',
  async t => {
    const { put, apply, check, proven, prove, control, webhook } = await twoTenants(t)
    await put('owner')
    await prove()
    control.putToken({ access_token: tokenOf.stranger, waba_ids: [account] })
    t.equal((await apply('stranger')).kind, 'applied')
    await prove()
    t.match(await check('stranger'), { ok: true, warnings: [/waba_id/, /Another company/] })
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
  'an unproven number belongs to the tenant whose secret signed its webhooks, and to nobody if two fit',
  async t => {
    const { put, prove, webhook, rows } = await twoTenants(t)
    await put('owner')
    t.equal(await webhook('owner-app-secret', '94770000101'), 200)
    await put('stranger', { app_secret: 'owner-app-secret' })
    // The signer is cached for two seconds.
    await new Promise(resolve => setTimeout(resolve, 2_100))
    t.equal(await webhook('owner-app-secret', '94770000102'), 401, 'the API repeats it later')
    await prove()
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
