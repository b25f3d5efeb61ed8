import { randomBytes } from 'node:crypto'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { findFreePort } from '../../../../dev/ports.ts'
import { ServiceProcess } from '../../../../dev/service-process.ts'
import { waitUntil } from '../../../../test/courier.ts'
import { commands } from '../../test/command-line.ts'
import { addTenant, createFixture, messageTo, phoneNumberId, until } from '../../test/fixture.ts'
import { build } from '../../test/portal.ts'
import { envelope, postWebhook, status } from '../../test/webhooks-fixture.ts'
import type { Tx } from '../database/tables.ts'
import { rotateKeys } from './rotate.ts'
import { storeSecret } from './secrets.ts'
import { readKeyring } from './vault.ts'

type Fixture = Awaited<ReturnType<typeof createFixture>>

const keyOf = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`
const channel = `/api/channels/${phoneNumberId}`
const untouched = { status: 'queued', attempts: 0, error_code: null }
const readMessages = 'select status, attempts, error_code from messages'
const readChannel = 'select state, paused_reason from channels'

const launch = async (t: Test, { url, ownerUrl, baseUrl }: Fixture, CREDENTIALS_KEYS: string) => {
  const port = await findFreePort()
  const service = new ServiceProcess('services/notifier/main.ts', `http://127.0.0.1:${port}`, {
    NOTIFIER_DATABASE_URL: url,
    NOTIFIER_MIGRATE_DATABASE_URL: ownerUrl,
    NOTIFIER_PORT: String(port),
    MESSAGING_API_URL: baseUrl,
    SERVICE_TOKEN: 'a-service-token-of-tests',
    CREDENTIALS_KEYS,
  })
  t.teardown(() => service.stop())
  service.start()
  return service
}

/** Checks that nothing was sent or changed, and that one line of the log names the key and no secret. */
const checkNothingSent = async (
  t: Test,
  { rows, control, keys }: Fixture,
  { lines, key, problem }: { lines: readonly string[]; key: string; problem: string },
) => {
  t.same(await rows(readMessages), [untouched, untouched])
  t.same(await rows(readChannel), [{ state: 'active', paused_reason: null }])
  t.equal(control.summary().calls.messages ?? 0, 0)
  const logged = lines.filter(line => line.includes('credentials.not_opened'))
  t.equal(logged.length, 1)
  t.match(JSON.parse(logged[0] ?? '').keys, [
    { key_id: 'test', problem, secrets: 1, channels: [`demo ${phoneNumberId}`] },
  ])
  const printed = lines.join('\n')
  for (const secret of [key, keys, 'demo-access-token']) t.notOk(printed.includes(secret.split(':').at(-1) ?? ''))
}

/** Waits until a check of the keys that failed has been repeated. */
const repeatCheck = () => new Promise(resolve => setTimeout(resolve, 6_000))

t.test('detects a missing key at the start, and sends nothing until it is back', async t => {
  const fixture = await createFixture(t, { isRunning: false })
  const { accept, rows, keys } = fixture
  await accept(messageTo('0770000101'), messageTo('0770000102'))
  const key = keyOf('other')
  const keyless = await launch(t, fixture, key)
  const notReady = () => fetch(`${keyless.url}/health/ready`).catch(() => undefined)
  const response = await waitUntil('the service listens', notReady, found => found !== undefined)
  t.equal(response?.status, 503)
  t.match(await response?.json(), { code: 'unavailable', message: /CREDENTIALS_KEYS/ })
  t.equal((await fetch(`${keyless.url}/health/live`)).status, 200)
  await repeatCheck()
  await checkNothingSent(t, fixture, { lines: keyless.lines, key, problem: 'missing' })
  t.equal(await keyless.stop('SIGTERM'), 0)

  const mended = await launch(t, fixture, keys)
  await mended.ready()
  const statuses = async () => (await rows(readMessages)).map(row => row.status)
  t.same(await waitUntil('the messages are sent', statuses, ([a, b]) => a === 'accepted' && b === 'accepted'), [
    'accepted',
    'accepted',
  ])
})

t.test('detects a wrong key at the start, and sends nothing until it is right', async t => {
  const lines: string[] = []
  const key = keyOf('test')
  const built = await build(t, undefined, undefined, { log: lines }, { keyring: readKeyring(key) })
  const { app, accept, rows, queue, createQueue } = built
  queue.start()
  await accept(messageTo('0770000101'), messageTo('0770000102'))
  const response = await app.inject('/health/ready')
  t.equal(response.statusCode, 503)
  t.match(response.json(), { code: 'unavailable', message: /CREDENTIALS_KEYS/ })
  t.equal((await app.inject('/health/live')).statusCode, 200)
  await repeatCheck()
  await checkNothingSent(t, built, { lines, key, problem: 'wrong' })
  await queue.stop()

  const mended = createQueue()
  mended.start()
  t.teardown(() => mended.stop())
  const accepted = async () => (await rows(readMessages)).every(({ status }) => status === 'accepted')
  await until('the messages are sent', accepted)
})

t.test('a new token under a new key replaces one whose key is lost, and sending continues', async t => {
  const log: string[] = []
  const keyring = readKeyring(keyOf('fresh'))
  const { app, call, queue, rows } = await build(t, undefined, undefined, { log }, { keyring })
  queue.start()
  await call('POST', '/api/messages', messageTo('0770000101'))
  t.equal((await app.inject('/health/ready')).statusCode, 503)
  t.same(await rows(readMessages), [untouched])
  t.equal((await call('PUT', channel, { access_token: 'demo-access-token' })).status, 200)
  await until('the message is accepted', async () => (await rows(readMessages))[0].status === 'accepted')
  t.equal((await app.inject('/health/ready')).statusCode, 200)
  t.equal(log.filter(line => line.includes('credentials.opened')).length, 1)
})

t.test('keys rotate counts what it seals, and says when everything uses the newest key', async t => {
  const { url: NOTIFIER_DATABASE_URL, keys } = await createFixture(t, { isRunning: false })
  const { notifier } = await commands(t, { NOTIFIER_DATABASE_URL, CREDENTIALS_KEYS: `${keyOf('next')},${keys}` })
  const rotate = () => notifier('keys', 'rotate')
  t.match(await rotate(), { status: 0, stdout: /^[1-9]\d* credentials were sealed with the newest key\.\n$/ })
  t.match(await rotate(), { status: 0, stdout: /^All credentials already use the newest key\.\n$/ })
})

t.test('a wrong key under a known id seals nothing', async t => {
  const wrong = keyOf('test')
  const {
    url: NOTIFIER_DATABASE_URL,
    call,
    rows,
  } = await build(
    t,
    undefined,
    undefined,
    {},
    {
      keyring: readKeyring(wrong),
    },
  )
  const { notifier } = await commands(t, {
    NOTIFIER_DATABASE_URL,
    CREDENTIALS_KEYS: wrong,
    ACCESS_TOKEN: 'demo-access-token',
  })
  const before = await rows('select * from secrets')
  for (const url of [channel, '/api/channels/222'])
    t.match(await call('PUT', url, { access_token: 'demo-access-token' }), { status: 503 })
  const added = await notifier('channel', 'add', '--tenant', 'demo', '--number', '222')
  t.not(added.status, 0)
  t.match(added.stderr, /key test of CREDENTIALS_KEYS is not the one that sealed/)
  t.notOk(added.stderr.includes(wrong.slice(5)))
  t.same(await rows('select * from secrets'), before)
})

t.test('a process that lacks the key of a rotation stops sending, and harms no message', async t => {
  const { app, pool, keyring, call, queue, rows } = await build(t)
  queue.start()
  t.equal((await app.inject('/health/ready')).statusCode, 200)
  const fresh = readKeyring(keyOf('fresh'))
  await rotateKeys(pool, { ...keyring, newest: 'fresh', keys: new Map([...fresh.keys, ...keyring.keys]) })
  await call('POST', '/api/messages', messageTo('0770000101'))
  await until('the process is not ready', async () => (await app.inject('/health/ready')).statusCode === 503)
  await until('the message is queued', async () => (await rows(readMessages))[0].status === 'queued')
  t.same(await rows(readMessages), [untouched])
  t.same(await rows(readChannel), [{ state: 'active', paused_reason: null }])
})

t.test('a damaged secret stops only its own channel, and its messages wait unharmed', async t => {
  const { app, pool, keyring, accept, call, queue, rows } = await build(t)
  await addTenant(pool, 'rival', '200', {})
  await inTenant(pool, 'rival', async (tx: Tx) => {
    await storeSecret(tx, keyring, { tenant: 'rival', phoneNumberId: '200', kind: 'access_token' }, 'rival-token')
    await sql`update secrets set sealed = ${randomBytes(60)}`.execute(tx)
  })
  await rows(`insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at,
    expires_at)
    values ('rival', 'm1', '200', '94770000101', '{"name": "hello", "language": {"code": "en_US"}, "components": []}',
      'queued', now(), now() + interval '1 day')`)
  await accept(messageTo('0770000101'))
  queue.start()
  const readOf = async (tenant: string) =>
    (await rows(`${readMessages} where tenant_id = $1`, [tenant])).map(row => ({ ...row }))
  await until('demo keeps sending', async () => (await readOf('demo'))[0]?.status === 'accepted')
  const resting = `select true from channels where tenant_id = 'rival' and not_before > now()`
  await until('the channel of rival rests', async () => (await rows(resting)).length > 0)
  await until('the message of rival is queued', async () => (await readOf('rival'))[0]?.status === 'queued')
  t.same(await readOf('rival'), [untouched])
  t.same(await rows(`${readChannel} where tenant_id = 'rival'`), [{ state: 'active', paused_reason: null }])
  t.equal((await app.inject('/health/ready')).statusCode, 200)
  t.equal((await call('GET', '/api/channels')).status, 200)
})

t.test('a webhook whose app secret cannot be opened gets 503, so that the API repeats it', async t => {
  const { app, pool, rows } = await build(t, undefined, undefined, {}, { keyring: readKeyring(keyOf('fresh')) })
  const sealing = readKeyring(keyOf('lost'))
  await inTenant(pool, 'demo', (tx: Tx) =>
    storeSecret(tx, sealing, { tenant: 'demo', phoneNumberId, kind: 'app_secret' }, 'demo-app-secret'),
  )
  const body = envelope({ statuses: [status({})] }, phoneNumberId)
  const post = () => postWebhook(app, body)
  t.match(await post(), { statusCode: 503, headers: { 'retry-after': '5' } })
  await rows(`delete from secrets where kind = 'app_secret'`)
  t.equal((await post()).statusCode, 401)
})
