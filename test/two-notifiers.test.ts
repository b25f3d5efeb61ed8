import t from 'tap'
import { findFreePort, toAddress } from '../dev/ports.ts'
import { ServiceProcess } from '../dev/service-process.ts'
import { connectTo } from '../dev/test-database.ts'
import { messageTo, phoneNumberId } from '../services/notifier/test/fixture.ts'
import { type ApiResponse, request, waitUntil } from './courier.ts'
import { applyDemo, startStack } from './stack.ts'

const channel = `/api/channels/${phoneNumberId}`

t.test('two processes of the notifier act as one', async t => {
  const stack = await startStack(t, { notifier: { RECIPIENT_PAUSE_SECONDS: '0' } })
  const { notifier: first, simulator, databases } = stack
  const port = await findFreePort()
  const second = new ServiceProcess('services/notifier/main.ts', toAddress('127.0.0.1', port), {
    ...first.environment,
    NOTIFIER_PORT: String(port),
  })
  t.teardown(() => second.stop())
  second.start()
  await second.ready()
  const { notifierStaff: token } = await applyDemo(stack)
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
  let turn = 0
  /** Sends requests to the processes in turn. */
  const call = async (
    path: string,
    method = 'GET',
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<ApiResponse> => {
    const { url } = [first, second][turn++ % 2] as ServiceProcess
    const init = { method, headers: { ...headers, ...more }, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await fetch(url + path, init)
    return { status: response.status, body: await response.json() }
  }
  const steer = async (path: string, body: unknown, method = 'PUT') => {
    const init = { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetch(`${simulator.url}/control/${path}`, init)
    if (!response.ok) throw new Error(await response.text())
  }
  const database = await connectTo(t, databases.notifier.superuserUrl)
  /** Counts the messages in one of these statuses. */
  const count = async (...statuses: string[]): Promise<number> => {
    const text = 'select count(*)::int as messages from messages where status = any($1)'
    return (await database.query(text, [statuses])).rows[0].messages
  }
  const countSent = async (): Promise<number> => (await request(`${simulator.url}/control`)).body.accepted
  t.equal((await call('/api/templates/sync', 'POST', {})).status, 200)

  await t.test('a key that both processes get at the same time takes effect once', async t => {
    const messages = Array.from({ length: 50 }, (_, n) => messageTo(`07710000${10 + n}`))
    const key = { 'idempotency-key': 'both' }
    const responses = await Promise.all([1, 2, 3, 4].map(() => call('/api/messages/bulk', 'POST', { messages }, key)))
    t.same(
      [...new Set(responses.map(({ status }) => status))].filter(status => status !== 409),
      [202],
    )
    await waitUntil(
      'all messages arrive',
      () => count('delivered', 'read'),
      arrived => arrived === 50,
    )
    t.equal(await countSent(), 50, 'each message is sent once')
  })

  await t.test('a new token, followed at once by a resume request, ends the pause for both processes', async t => {
    await steer('tokens', { access_token: 'demo-access-token', revoked: true })
    const messages = Array.from({ length: 40 }, (_, n) => messageTo(`07720000${10 + n}`))
    t.equal((await call('/api/messages/bulk', 'POST', { messages })).status, 202)
    const readState = async (): Promise<string> => (await call('/api/channels')).body.data[0].state
    await waitUntil('the channel is paused', readState, value => value === 'paused')
    await steer('tokens', { access_token: 'a-new-token' })
    t.equal((await call(channel, 'PUT', { access_token: 'a-new-token' })).status, 200)
    t.equal((await call(`${channel}/resume`, 'POST')).status, 200)
    const readOutcome = async () => ({ state: await readState(), arrived: await count('delivered', 'read') })
    const isOver = ({ state, arrived }: { state: string; arrived: number }) => state === 'paused' || arrived === 90
    t.strictSame(await waitUntil('all messages arrive', readOutcome, isOver), { state: 'active', arrived: 90 })
    t.equal(await countSent(), 90)
  })

  await t.test('a message accepted by one process can be cancelled, resent and read through the other', async t => {
    await steer('scripts', { times: 1, trouble: { kind: 'error', code: 131026 } }, 'POST')
    const { body } = await call('/api/messages', 'POST', messageTo('0773000001'))
    const read = async () => (await call(`/api/messages/${body.data.id}`)).body.data
    await waitUntil('the message is refused', read, ({ status }) => status === 'failed')
    t.equal((await call(`/api/messages/${body.data.id}/resend`, 'POST')).status, 200)
    await waitUntil('the message is read', read, ({ status }) => status === 'read')
    const send_at = new Date(Date.now() + 3_600_000).toISOString()
    const later = await call('/api/messages', 'POST', { ...messageTo('0773000002'), send_at })
    const cancel = `/api/messages/${later.body.data.id}/cancel`
    const cancelled = await Promise.all([1, 2].map(() => call(cancel, 'POST')))
    t.strictSame(
      cancelled.map(({ status }) => status),
      [200, 200],
    )
    const { timeline } = (await call(`/api/messages/${later.body.data.id}`)).body.data
    t.match(timeline, [{ status: 'queued' }, { status: 'cancelled' }])
    t.equal(timeline.length, 2, 'the message is cancelled once')
  })

  await t.test('a process that is killed leaves its messages to the other', async t => {
    const before = await countSent()
    const messages = Array.from({ length: 100 }, (_, n) => messageTo(`0774000${100 + n}`))
    t.equal((await call('/api/messages/bulk', 'POST', { messages })).status, 202)
    await second.stop('SIGKILL')
    const countUnfinished = () => count('queued', 'sending', 'accepted', 'sent')
    await waitUntil('no message is left', countUnfinished, left => left === 0)
    const lost = await count('unknown')
    t.ok(Math.abs(before + 100 - (await countSent())) <= lost, `no message was sent twice, and ${lost} are unknown`)
  })
})
