import { createPool } from '@courier/shared/postgres/database.ts'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { startProxy } from '../../../../dev/tcp-proxy.ts'
import { createFixture, messageTo, phoneNumberId, until } from '../../test/fixture.ts'
import { buildQueue } from '../../test/queue.ts'
import { createApplier } from '../platform-webhooks/apply.ts'
import { readFacts } from '../platform-webhooks/envelope.ts'
import { claimMessages } from './claim.ts'
import { type SendOutcome, storeOutcomes } from './outcomes.ts'
import { sweep } from './sweep.ts'

type Fixture = Awaited<ReturnType<typeof createFixture>>

const aboutParcel = messageTo('0770000101', { waybill_number: 'DM00000001' })
const status = async ({ rows }: Fixture, id: string | undefined) =>
  (await rows('select status from messages where message_id = $1', [id]))[0].status
const makeDue = ({ rows }: Fixture) => rows(`update messages set due_at = now() where status = 'queued'`)
/** Returns our ids of the messages, in the order in which the API received them. */
const arrived = ({ control }: Fixture) =>
  control
    .messages()
    .map(message => message.biz_opaque_callback_data)
    .toReversed()

/** Prepares a queue whose connections to Postgres can be cut. Its sends are overdue after two seconds. */
const behindProxy = async (t: Test, { url, keyring, baseUrl }: Fixture) => {
  const address = new URL(url)
  const proxy = await startProxy({ host: address.hostname, port: Number(address.port) })
  address.port = String(proxy.port)
  const pool = createPool({ url: address.href, name: 'cut off', connections: 4 })
  const { api, createQueue } = buildQueue(pool, keyring, baseUrl, { sendSeconds: 1 })
  const queue = createQueue()
  t.teardown(async () => {
    await proxy.close()
    await proxy.restore()
    await queue.stop()
    await api.close()
    await pool.end()
    await proxy.close()
  })
  return { proxy, queue }
}

t.test('messages about a parcel keep their order when an outcome comes late', async t => {
  const fixture = await createFixture(t, { isRunning: false })
  const { accept, control, queue } = fixture
  control.behave({ answer_latency_ms: 300 })
  control.script({ times: 1, trouble: { kind: 'error', code: 131016 } })
  const [first] = await accept(aboutParcel)
  const [second] = await accept(aboutParcel)
  const other = await behindProxy(t, fixture)
  other.queue.start()
  await until('the first message is sent', async () => control.calls().length === 2)
  await other.proxy.cut()
  queue.start()
  await until('the first message is swept', async () => (await status(fixture, first)) === 'unknown')
  for (let second = 0; second < 3; second++) {
    await new Promise(resolve => setTimeout(resolve, 300))
    await makeDue(fixture)
  }
  t.equal(await status(fixture, second), 'queued', 'the later message waits for the unknown one')
  await other.proxy.restore()
  await until('the refusal is stored', async () => (await status(fixture, first)) === 'queued')
  await until('both are accepted', async () => {
    await makeDue(fixture)
    return (await status(fixture, first)) === 'accepted' && (await status(fixture, second)) === 'accepted'
  })
  t.same(arrived(fixture), [first, second])
})

const claiming = { room: 10, sendingSeconds: 0, recipientPauseSeconds: 0 }
const refused = {
  status: 'queued',
  code: 131016,
  meaning: 'It is down.',
  detail: 'It is down.',
  isAttempt: true,
} as const
const accepted = { status: 'accepted', providerMessageId: 'wamid.late', isAttempt: false } as const

/** Prepares a message that was swept, and `store`, which stores a late outcome of its send. */
const sweptMessage = async (t: Test) => {
  const fixture = await createFixture(t, { isRunning: false })
  const { pool, rows, accept } = fixture
  const [id] = await accept(aboutParcel)
  const [message] = (await claimMessages(pool, claiming)).messages
  if (!message) throw new Error('not claimed')
  await sweep(pool)
  const store = (outcome: Omit<SendOutcome, 'message'>) => storeOutcomes(pool, [{ message, ...outcome }], 0)
  const read = async () => (await rows('select * from messages where message_id = $1', [id]))[0]
  return { ...fixture, id, store, read }
}

t.test('a late acceptance settles an unknown message, even after the wait for its webhook', async t => {
  const { store, read, rows, pool } = await sweptMessage(t)
  t.match(await read(), { status: 'unknown' })
  await rows('update messages set due_at = now()')
  await sweep(pool)
  await store(accepted)
  t.match(await read(), { status: 'accepted', provider_message_id: 'wamid.late' })
})

t.test(
  'a message with a late refusal fails, and is not sent again, if a later one about the parcel has left',
  async t => {
    const { store, read, rows, accept } = await sweptMessage(t)
    const [later] = await accept(aboutParcel)
    await rows(`update messages set status = 'sent' where message_id = $1`, [later])
    await store({ ...refused, dueSeconds: 5 })
    t.match(await read(), { status: 'failed', error_code: 131016, error_meaning: 'It is down.', attempts: 1 })
    t.match(await rows(`select detail from message_events where status = 'failed'`), [{ detail: /later message/ }])
  },
)

t.test('a late outcome without information leaves an unknown message as it is', async t => {
  const { store, read } = await sweptMessage(t)
  const before = await read()
  await store({ status: 'unknown', isAttempt: false, dueSeconds: 600 })
  t.same(await read(), before)
})

t.test('a message does not wait for an unknown one whose webhook is no longer expected', async t => {
  const { rows, accept, pool } = await sweptMessage(t)
  const [later] = await accept(aboutParcel)
  t.same((await claimMessages(pool, claiming)).messages, [])
  await rows(`update messages set due_at = case status when 'unknown' then 'infinity' else now() end`)
  await until('claimed', async () => (await claimMessages(pool, claiming)).messages.some(({ id }) => id === later))
})

const report = async ({ pool }: Fixture, id: string | undefined, providerMessageId: string, code: number) => {
  const statuses = [{ id: providerMessageId, status: 'failed', biz_opaque_callback_data: id, errors: [{ code }] }]
  const value = { metadata: { phone_number_id: phoneNumberId }, statuses }
  const facts = readFacts({ entry: [{ changes: [{ field: 'messages', value }] }] }, new Date())
  const signers = [{ tenant: 'demo', phoneNumberId, wabaId: null, isProved: false }]
  await createApplier(pool, { logger: pino({ level: 'silent' }) })({ signers, facts })
}

t.test('a failure of an earlier send, reported during the next one, does not hide its acceptance', async t => {
  const fixture = await sweptMessage(t)
  const { id, store, read } = fixture
  await report(fixture, id, 'wamid.earlier', 131026)
  t.match(await read(), { status: 'failed' })
  await store(accepted)
  t.match(await read(), { status: 'accepted', provider_message_id: 'wamid.late', error_code: null })
})

t.test('a failure that a webhook reports before the response is stored is final for an accepted send', async t => {
  const fixture = await sweptMessage(t)
  const { id, store, read } = fixture
  await report(fixture, id, 'wamid.late', 131026)
  await store(accepted)
  t.match(await read(), { status: 'failed', error_code: 131026 })
})

t.test('a refusal that a webhook reported first is retried all the same', async t => {
  const fixture = await sweptMessage(t)
  const { id, store, read } = fixture
  await report(fixture, id, 'wamid.late', 131016)
  await store({ ...refused, dueSeconds: 5 })
  t.match(await read(), { status: 'queued', attempts: 1 })
})
