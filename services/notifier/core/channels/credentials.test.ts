import { randomBytes } from 'node:crypto'
import t from 'tap'
import { messageTo, phoneNumberId, until } from '../../test/fixture.ts'
import { build } from '../../test/portal.ts'
import { rotateKeys } from './rotate.ts'
import { readKeyring } from './vault.ts'

const channel = `/api/channels/${phoneNumberId}`
const pin = '123456'
const certificate = 'demo-certificate'

t.test('a channel accepts secrets and never returns them', async t => {
  const { call, rows } = await build(t)
  const secrets = Object.fromEntries(
    ['access_token', 'app_secret', 'verify_token'].map(name => [name, `canary-${randomBytes(12).toString('hex')}`]),
  )
  const created = await call('PUT', '/api/channels/222', { name: 'Second', plan: 'free', ...secrets })
  t.equal(created.status, 200)
  const responses = [
    created,
    await call('GET', '/api/channels'),
    await call('PUT', '/api/channels/222', { plan: 'lavish', ...secrets }),
    await call('POST', '/api/channels/222/check'),
    await call('POST', '/api/channels/222/register', { pin, certificate }),
  ]
  const stored = await rows(`select to_jsonb(c) as row from channels c union all select to_jsonb(s) from secrets s`)
  const seen = JSON.stringify([responses, stored])
  for (const [name, secret] of Object.entries(secrets)) t.notOk(seen.includes(secret), name)
  t.equal(created.body.data.access_token_last4, secrets.access_token?.slice(-4))
})

t.test('counts registrations and refuses the eleventh; a refusal repeats the API’s words without secrets', async t => {
  const { call, control } = await build(t)
  const wrong = await call('POST', `${channel}/register`, { pin: '654321', certificate })
  t.equal(wrong.status, 422)
  t.match(JSON.stringify(wrong.body.errors), /133005/)
  const details = `The pin ${pin} of demo-access-token is wrong: 3 tries are left.`
  control.script({ call: 'register', times: 1, trouble: { kind: 'error', code: 133005, details } })
  const refused = await call('POST', `${channel}/register`, { pin, certificate })
  t.match(JSON.stringify(refused.body.errors), /The API says: The pin … of … is wrong: 3 tries are left\./)
  t.equal((await call('POST', `${channel}/register`, { pin, certificate })).status, 200)
  t.equal((await call('POST', `${channel}/register`, { pin: '12', certificate })).status, 422)
  for (let poll = 4; poll <= 10; poll++) await call('POST', `${channel}/register`, { pin, certificate })
  const before = control.summary().calls.register
  const eleventh = await call('POST', `${channel}/register`, { pin, certificate })
  t.equal(eleventh.status, 422)
  const [listed] = (await call('GET', '/api/channels')).body.data
  t.type(listed.registered_at, 'string')
  t.equal(control.summary().calls.register, before, 'the API does not get the eleventh')
})

t.test('a refused token pauses the channel; a new one and a successful check resume it', async t => {
  const { call, control, queue } = await build(t)
  queue.start()
  await call('PUT', channel, { access_token: 'revoked-access-token-0000' })
  control.script({ call: 'messages', times: 1, trouble: { kind: 'error', code: 190 } })
  const sent = await call('POST', '/api/messages', messageTo('0770000101'))
  const { id } = sent.body.data
  const read = async () => (await call('GET', `/api/messages/${id}`)).body.data
  const state = async () => (await call('GET', '/api/channels')).body.data[0].state
  await until('the channel is paused', async () => (await state()) === 'paused')
  await until('the outcome is stored', async () => (await read()).status !== 'sending')
  t.match(await read(), { status: 'queued', attempts: 0 })
  await call('PUT', channel, { access_token: 'demo-access-token' })
  const check = await call('POST', `${channel}/check`)
  t.match(check.body.data, { ok: true, problems: [] })
  await until('the message is accepted', async () => (await read()).status === 'accepted')
})

t.test('a rotation of keys seals the stored secrets with the newest key', async t => {
  const { pool, rows, keyring } = await build(t)
  const [id] = [...keyring.keys.keys()]
  const old = (await rows('select distinct key_id from secrets')).map(row => row.key_id)
  t.same(old, [id])
  const fresh = readKeyring(`fresh:${randomBytes(32).toString('base64')}`)
  const both = { ...keyring, newest: 'fresh', keys: new Map([...fresh.keys, ...keyring.keys]) }
  t.match(await rotateKeys(pool, both), { rotated: 1, unopened: [] })
  t.same(
    (await rows('select distinct key_id from secrets')).map(row => row.key_id),
    ['fresh'],
  )
})
