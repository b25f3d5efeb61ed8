import t from 'tap'
import { createLossyPool, type LossyPool, loseBetweenTransactions } from '../../dev/lossy-pool.ts'
import { createTokenFor } from './core/access/token-commands.ts'
import { messageTo, phoneNumberId } from './test/fixture.ts'
import { build } from './test/portal.ts'

const channel = `/api/channels/${phoneNumberId}`
const registration = { pin: '123456', certificate: 'demo-certificate' }
const tables = ['messages', 'message_events', 'channels', 'secrets', 'registrations', 'templates', 'opt_outs', 'audit']

let lossy: LossyPool | undefined
const poolOf = async (url: string) => {
  lossy = await createLossyPool(t, url)
  return lossy.pool
}
const { accept, call, control, pool, rows } = await build(t, undefined, undefined, {
  wabaId: '102290129340398',
  poolOf,
})

const read = async () => {
  const found = tables.map(table => `(select json_agg(${table} order by ${table}::text) from ${table}) as ${table}`)
  return [control.summary().calls.register, await rows(`select ${found.join()}`)]
}

type Send = (headers: Record<string, string>) => ReturnType<typeof call>

/** Collects the responses to a request that changes something each time. */
const lose = (t: Parameters<typeof loseBetweenTransactions>[0], request: (index: number) => Promise<Send>) => {
  let index = 0
  const next = async () => {
    // Each request looks up its token: one that is cached may expire, and a transaction more runs then.
    const { token } = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })
    const send = await request(index++)
    return () => send({ authorization: `Bearer ${token}` })
  }
  return loseBetweenTransactions(t, lossy as LossyPool, { request: next, read })
}

const queued = async (): Promise<string> => {
  const [id = ''] = await accept(messageTo('0770000101'))
  return id
}

t.test('a cancellation takes effect or changes nothing', async t => {
  const responses = await lose(t, async () => {
    const id = await queued()
    return headers => call('POST', `/api/messages/${id}/cancel`, {}, headers)
  })
  t.match(responses.at(-1), {
    status: 200,
    body: { data: { status: 'cancelled', timeline: [{}, { status: 'cancelled' }] } },
  })
})

t.test('a resend takes effect or changes nothing', async t => {
  const responses = await lose(t, async () => {
    const id = await queued()
    await rows(`update messages set status = 'failed' where message_id = $1`, [id])
    return headers => call('POST', `/api/messages/${id}/resend`, {}, headers)
  })
  t.match(responses.at(-1), { status: 200, body: { data: { status: 'queued' } } })
})

t.test('a change of a channel takes effect or changes nothing', async t => {
  const responses = await lose(t, async index => headers => call('PUT', channel, { name: `Name ${index}` }, headers))
  t.match(responses.at(-1), { status: 200, body: { data: { name: `Name ${responses.length - 1}` } } })
})

t.test('a resume takes effect or changes nothing', async t => {
  const responses = await lose(t, async () => {
    await rows(`update channels set state = 'paused', paused_reason = 'test'`)
    return headers => call('POST', `${channel}/resume`, {}, headers)
  })
  t.match(responses.at(-1), { status: 200, body: { data: { state: 'active' } } })
})

t.test('a registration with an unstored outcome says so, and warns against repeating it', async t => {
  const responses = await lose(t, async () => headers => call('POST', `${channel}/register`, registration, headers))
  t.match(responses.at(-1), { status: 200, body: { data: { registered_at: String } } })
  const unknown = responses.filter(({ body }) => body.code === 'outcome_unknown')
  t.ok(unknown.length > 0)
  for (const { headers, body } of unknown) {
    t.notOk(headers['retry-after'])
    t.match(body.message, /registered the number/)
  }
})

t.test('a check responds with 200 only once all of it is stored', async t => {
  const responses = await lose(t, async () => {
    await rows(`update channels set proven_at = null, state = 'paused', paused_reason = 'test'`)
    return headers => call('POST', `${channel}/check`, {}, headers)
  })
  t.match(responses.at(-1), { status: 200, body: { data: { ok: true } } })
})

t.test('other requests also take effect or change nothing', async t => {
  await lose(t, async () => headers => call('POST', '/api/messages', messageTo('0770000101'), headers))
  const reason = { reason: 'by phone' }
  await lose(t, async () => headers => call('POST', '/api/conversations/0770000101/opt-out', reason, headers))
  await lose(t, async () => headers => call('POST', '/api/templates/sync', {}, headers))
})
