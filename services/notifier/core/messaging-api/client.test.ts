import t from 'tap'
import { accepted, connect, credentials, message, respond, startServer } from '../../test/messaging-api-server.ts'

t.test('sends a template message as the request in docs/merchants/contract.md#send', async t => {
  const { url, arrived } = await startServer(t, { onRequest: ({ socket }) => respond(socket, 200, accepted()) })
  await connect(t, url).send(credentials, '106540352242922', message)
  t.equal(arrived.length, 1)
  t.equal(arrived[0]?.line, 'POST /v17.0/106540352242922/messages HTTP/1.1')
  t.equal(arrived[0]?.headers.get('authorization'), 'Bearer EAAG-secret-token')
  t.equal(arrived[0]?.headers.get('content-type'), 'application/json')
  t.strictSame(JSON.parse(arrived[0]?.body ?? ''), {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: '94770000101',
    type: 'template',
    biz_opaque_callback_data: 'ntf_1',
    template: {
      name: 'order_update',
      language: { code: 'en_US' },
      components: [{ type: 'body', parameters: [{ type: 'text', text: 'Nimali Perera' }] }],
    },
  })
})

t.test("passes on the language's policy if the message names one", async t => {
  const { url, arrived } = await startServer(t, { onRequest: ({ socket }) => respond(socket, 200, accepted()) })
  const language = { code: 'en_US', policy: 'deterministic' } as const
  const template = { name: 'order_update', language, components: [] }
  await connect(t, url).send(credentials, '106540352242922', { ...message, template })
  t.strictSame(JSON.parse(arrived[0]?.body ?? '').template.language, language)
})

t.test('a message with a trace carries it in the traceparent header', async t => {
  const { url, arrived } = await startServer(t, { onRequest: ({ socket }) => respond(socket, 200, accepted()) })
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  for (const trace of [{ traceparent }, { traceparent: null }, {}])
    await connect(t, url).send(credentials, '106540352242922', { ...message, ...trace })
  t.strictSame(
    arrived.map(({ headers }) => headers.get('traceparent')),
    [traceparent, undefined, undefined],
  )
})

t.test('returns the id and status of an accepted message, and the API version that served it', async t => {
  const responses = [
    accepted('wamid.1'),
    '{"messages":[{"id":"wamid.2","message_status":"held_for_quality_assessment"}]}',
    '{"contacts":[{"user_id":"US.1"}],"messages":[{"id":"wamid.3"}],"new":{"deep":[1]}}',
  ]
  const { url } = await startServer(t, {
    onRequest: ({ socket }, index) => respond(socket, 200, responses[index] ?? '', { 'facebook-api-version': 'v21.0' }),
  })
  const api = connect(t, url)
  const got = []
  for (const _ of responses) got.push(await api.send(credentials, '1', message))
  const common = { kind: 'accepted', servedVersion: 'v21.0' }
  t.same(got, [
    { ...common, providerMessageId: 'wamid.1', messageStatus: 'accepted' },
    { ...common, providerMessageId: 'wamid.2', messageStatus: 'held_for_quality_assessment' },
    { ...common, providerMessageId: 'wamid.3', messageStatus: 'accepted' },
  ])
})

t.test('a success that names no message leaves the outcome unknown', async t => {
  const responses = [
    '',
    '{}',
    '[]',
    'null',
    '<html>Welcome to the hotel</html>',
    '{"messages":[]}',
    '{"messages":[{}]}',
  ]
  const odd = ['{"messages":[{"id":7}]}', '{"messages":[{"id":"wamid\\u0000"}]}', '{"messages":{"0":{"id":"x"}}}']
  const bodies = [...responses, ...odd, '{"error":"no"}']
  const { url, arrived } = await startServer(t, {
    onRequest: ({ socket }, index) => respond(socket, 200, bodies[index] ?? ''),
  })
  const api = connect(t, url)
  for (const _ of bodies) {
    const got = await api.send(credentials, '1', message)
    t.same(got, { kind: 'no_response', reason: 'a response that does not say what was done' })
  }
  t.equal(arrived.length, bodies.length)
})

t.test('a refusal returns its code, its subcode and its text', async t => {
  const error = {
    message: '(#132001) Template name does not exist in the translation',
    type: 'OAuthException',
    code: 132001,
    error_data: { messaging_product: 'whatsapp', details: 'template name (order_update) does not exist in en_US' },
    fbtrace_id: 'Az8or2yh',
  }
  const bodies = [
    { error },
    { error: { message: 'Session has expired', type: 'OAuthException', code: 190, error_subcode: 463 } },
    { error: { code: '2', is_transient: true, message: '' } },
    { error: { code: 0, message: 'x' } },
  ]
  const { url } = await startServer(t, {
    onRequest: ({ socket }, index) => respond(socket, index === 0 ? 404 : 401, JSON.stringify(bodies[index])),
  })
  const api = connect(t, url)
  const got = []
  for (const _ of bodies) got.push(await api.send(credentials, '1', message))
  const common = { kind: 'refused', retryAfterSeconds: null, servedVersion: null }
  const [details] = [error.error_data.details]
  t.same(got, [
    { ...common, status: 404, code: 132001, subcode: null, details, isTransient: false },
    { ...common, status: 401, code: 190, subcode: 463, details: 'Session has expired', isTransient: false },
    { ...common, status: 401, code: 2, subcode: null, details: '', isTransient: true },
    { ...common, status: 401, code: 0, subcode: null, details: 'x', isTransient: false },
  ])
})

t.test('an error in a response with status 200 is a refusal', async t => {
  const body = '{"error":{"code":131056,"message":"pair rate"}}'
  const { url } = await startServer(t, { onRequest: ({ socket }) => respond(socket, 200, body) })
  const got = await connect(t, url).send(credentials, '1', message)
  t.match(got, { kind: 'refused', status: 200, code: 131056 })
})

t.test('a refusal whose body is not from the API has a status and no code', async t => {
  const bodies = [
    '',
    '<html><body>502 Bad Gateway</body></html>',
    '{"error":',
    '{"error":[]}',
    '"x"',
    '['.repeat(99_999),
  ]
  const { url } = await startServer(t, { onRequest: ({ socket }, index) => respond(socket, 502, bodies[index] ?? '') })
  const api = connect(t, url)
  for (const _ of bodies)
    t.match(await api.send(credentials, '1', message), {
      kind: 'refused',
      status: 502,
      code: null,
      subcode: null,
      details: '',
      isTransient: false,
    })
})

t.test('the text of a refusal does not repeat the token, the recipient or the parameters', async t => {
  const details = `Malformed access token ${credentials.accessToken} for +94770000101, \u0000Nimali Perera\n`
  const body = JSON.stringify({ error: { code: 190, message: details + 'x'.repeat(9_999) } })
  const { url } = await startServer(t, { onRequest: ({ socket }) => respond(socket, 401, body) })
  const api = connect(t, url)
  const got = await api.send(credentials, '1', message)
  t.match(got, { details: /^Malformed access token … for \+…, {2}… x+$/ })
  t.ok(got.kind === 'refused' && got.details.length <= 500)
})

t.test('returns the wait that a header names', async t => {
  const usage = '{"102290129340398":[{"type":"whatsapp","call_count":100,"estimated_time_to_regain_access":3}]}'
  const headers = [{ 'retry-after': '17' }, { 'x-business-use-case-usage': usage }]
  const { url } = await startServer(t, {
    onRequest: ({ socket }, index) => respond(socket, 429, '{"error":{"code":80007}}', headers[index]),
  })
  const api = connect(t, url)
  t.match(await api.send(credentials, '1', message), { status: 429, code: 80007, retryAfterSeconds: 17 })
  t.match(await api.send(credentials, '1', message), { status: 429, code: 80007, retryAfterSeconds: 180 })
})

t.test('sends a registration once, byte for byte as in docs/merchants/contract.md#register', async t => {
  const bodies = ['{"success":true}', '{"success":"true"}', '{"success":false}', '{"error":{"code":133005}}']
  const { url, arrived } = await startServer(t, {
    onRequest: ({ socket }, index) => respond(socket, index === 3 ? 400 : 200, bodies[index] ?? ''),
  })
  const api = connect(t, url)
  const registration = { pin: '123456', certificate: 'CmMKHwjo' }
  const got = []
  for (const _ of bodies) got.push(await api.register(credentials, '106540352242922', registration))
  t.equal(arrived[0]?.line, 'POST /v17.0/106540352242922/register HTTP/1.1')
  t.equal(arrived[0]?.body, '{"messaging_product":"whatsapp","pin":"123456","certificate":"CmMKHwjo"}')
  t.equal(arrived.length, bodies.length)
  t.match(got, [
    { kind: 'received', servedVersion: null },
    { kind: 'received' },
    { kind: 'no_response' },
    { kind: 'refused', status: 400, code: 133005 },
  ])
})

t.test('a base address may have a path of its own', async t => {
  const { url, arrived } = await startServer(t, { onRequest: ({ socket }) => respond(socket, 200, accepted()) })
  await connect(t, `${url}/graph/`).send(credentials, '1', message)
  t.equal(arrived[0]?.line, 'POST /graph/v17.0/1/messages HTTP/1.1')
})

t.test('an id cannot lead to another path', async t => {
  const { url, arrived } = await startServer(t, { onRequest: ({ socket }) => respond(socket, 200, accepted()) })
  await connect(t, url).send(credentials, '1/register?x=\r\n', message)
  t.equal(arrived[0]?.line, 'POST /v17.0/1%2Fregister%3Fx%3D%0D%0A/messages HTTP/1.1')
})
