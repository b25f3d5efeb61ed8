import t from 'tap'
import { messageTo, phoneNumberId, until } from './test/fixture.ts'
import { build } from './test/portal.ts'

t.test('a message is queued, sent and read back with its timeline', async t => {
  const { call, queue } = await build(t)
  queue.start()
  const response = await call('POST', '/api/messages', messageTo('077 000 0101', { waybill_number: 'DM00000001' }))
  t.equal(response.status, 202)
  t.match(response.body, { message: 'The message is queued.', data: { id: /^msg_/, status: 'queued' } })
  const { id } = response.body.data
  const read = async () => (await call('GET', `/api/messages/${id}`)).body.data
  await until('the message is accepted', async () => (await read()).status === 'accepted')
  t.match(await read(), {
    id,
    channel: phoneNumberId,
    to: '94770000101',
    waybill_number: 'DM00000001',
    error: null,
    attempts: 0,
    timeline: [{ status: 'queued' }, { status: 'accepted' }],
  })
  const listed = await call('GET', '/api/messages?waybill_number=DM00000001&to=%2B94770000101&status=accepted')
  t.same([listed.body.data.length, listed.body.next_cursor], [1, null])
  t.equal((await call('POST', `/api/messages/${id}/cancel`)).status, 422)
})

t.test('a key creates one message, a bulk request queues all or none, and pages follow each other', async t => {
  const { call } = await build(t)
  const key = { 'idempotency-key': 'k' }
  const first = await call('POST', '/api/messages', messageTo('0770000101'), key)
  const second = await call('POST', '/api/messages', messageTo('0770000101'), key)
  t.same(second.body, first.body)
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.equal((await call('POST', '/api/messages', messageTo('0770000102'), key)).status, 422)
  const bulk = (...to: string[]) => call('POST', '/api/messages/bulk', { messages: to.map(to => messageTo(to)) })
  t.same(Object.keys((await bulk('0770000103', 'x')).body.errors), ['messages.1.to'])
  t.equal((await bulk('0770000103', '0770000104')).body.data.length, 2)
  const page = await call('GET', '/api/messages?limit=2')
  const next = await call('GET', `/api/messages?limit=2&cursor=${page.body.next_cursor}`)
  const ids = [...page.body.data, ...next.body.data].map(({ id }) => id)
  t.same([ids.length, new Set(ids).size], [3, 3])
})

t.test('an empty body counts as no body, even with a JSON content type', async t => {
  const { call } = await build(t)
  t.equal((await call('POST', `/api/channels/${phoneNumberId}/resume`, '')).status, 200)
  const message = await call('POST', '/api/messages', '')
  t.match([message.status, message.body.errors], [422, { template: ['The template field is required.'] }])
})

t.test('refuses odd input with 4xx', async t => {
  const { call } = await build(t)
  const oddText = messageTo('0770000101')
  const [component] = oddText.template.components
  if (component?.parameters[0]) component.parameters[0].text = 'x\ud800'
  const odd: [method: 'GET' | 'POST', url: string, body?: unknown][] = [
    ['POST', '/api/messages', oddText],
    ['POST', '/api/messages', messageTo('0770000101', { waybill_number: 'a\u0000b' })],
    ['POST', '/api/messages', 'null'],
    ['POST', '/api/messages', '[]'],
    ['POST', '/api/messages', '{"__proto__": 1'],
    ['POST', '/api/messages/bulk', { messages: [] }],
    ['GET', '/api/messages?cursor=%00'],
    ['GET', '/api/messages?to=%00'],
    ['GET', '/api/messages?waybill_number=%00'],
    ['GET', '/api/messages?status=lost'],
    ['GET', '/api/messages/%00'],
    ['POST', '/api/messages/%00/cancel'],
    ['POST', '/api/messages/%00/resend'],
    ['GET', '/api/conversations/%00'],
    ['POST', '/api/channels/%00/check'],
    ['POST', '/api/channels/%00/resume'],
  ]
  for (const [method, url, body] of odd) {
    const { status, body: response } = await call(method, url, body)
    t.ok(status >= 400 && status < 500, `${method} ${url} ${status}`)
    t.type(response.message, 'string')
  }
})

t.test('HEAD returns the headers of GET, without a body', async t => {
  const { app, call, token } = await build(t)
  const { id } = (await call('POST', '/api/messages', messageTo('0770000101'))).body.data
  const { paths } = (await app.inject('/openapi.json')).json()
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
  const gets = Object.entries<object>(paths).flatMap(([path, methods]) => ('get' in methods ? [path] : []))
  t.ok(gets.length > 8)
  for (const path of gets) {
    const url = path.replace(/\{\w+\}/g, path.includes('messages') ? id : '0770000101')
    const [get, head] = await Promise.all([app.inject({ url, headers }), app.inject({ method: 'HEAD', url, headers })])
    t.same(
      [head.statusCode, head.headers['content-type'], head.body],
      [get.statusCode, get.headers['content-type'], ''],
      url,
    )
  }
})

t.test('refuses a wrong token, another tenant, a blank tenant, and too many requests', async t => {
  const { call } = await build(t, 3)
  for (const headers of [{ authorization: 'Bearer courier_x' }, { 'x-tenant': 'other' }])
    t.equal((await call('GET', '/api/messages', undefined, headers)).status, 401)
  t.equal((await call('GET', '/api/messages', undefined, { 'x-tenant': '' })).status, 400)
  const statuses = []
  for (let poll = 0; poll < 4; poll++) statuses.push((await call('GET', '/api/messages')).status)
  t.same(statuses, [200, 200, 200, 429])
})
