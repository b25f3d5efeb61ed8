import t from 'tap'
import { accessToken, accountId, appSecret, build, message, numberId, receiveWebhooks, texts } from './build.ts'

t.test('messages are listed by recipient, status and callback data', async t => {
  const { send, call } = await build(t)
  await send(message({ to: '94771111111', biz_opaque_callback_data: 'ntf_1' }))
  await send(message({ to: '94772222222' }))
  await send(message({ to: '94778131026' }))
  const list = async (query: string) =>
    (await call(`/control/messages${query}`)).body.data.map(({ to }: { to: string }) => to)
  t.same(await list(''), ['94778131026', '94772222222', '94771111111'])
  t.same(await list('?to=%2B94%2077-1111111'), ['94771111111'])
  t.same(await list('?callback=ntf_1'), ['94771111111'])
  t.same(await list('?status=failed'), ['94778131026'])
  t.same(await list('?limit=1'), ['94778131026'])
  t.same(await list('?phone_number_id=200'), [])
})

t.test('the newest messages are remembered', async t => {
  const { send, control } = await build(t, { keptMessages: 3 })
  for (const last of [1, 2, 3, 4, 5]) await send(message({ to: `9477111111${last}` }))
  t.same(
    control.messages().map(({ to }) => to.at(-1)),
    ['5', '4', '3'],
  )
  t.equal(control.summary().accepted, 5)
})

t.test('calls are listed, refused ones too', async t => {
  const { send, call } = await build(t)
  await send(message({ to: '94779131026' }))
  const { body } = await call('/control/calls?limit=1')
  t.match(body.data, [
    { method: 'POST', path: `/v17.0/${numberId}/messages`, to: '94779131026', http_status: 400, code: 131026 },
  ])
})

t.test('what is set over HTTP holds', async t => {
  const callback = await receiveWebhooks(t)
  const { send, call, control } = await build(t)
  const put = (path: string, body: unknown) => call(`/control/${path}`, { method: 'PUT', body })
  const post = (path: string, body: unknown = {}) => call(`/control/${path}`, { body })
  const done = { done: true }

  t.match((await put('behaviour', { webhook_url: callback.url, answer_latency_ms: 1 })).body, { answer_latency_ms: 1 })
  t.same((await put('numbers/200', { app_secret: 'theirs', display_phone_number: '+1 555 0100' })).body, done)
  t.same((await put('tokens', { access_token: 'second' })).body, done)
  t.match((await put('templates', { name: 'greeting', language: 'si_LK' })).body, { status: 'APPROVED' })
  const template = {
    name: 'greeting',
    language: { code: 'si_LK' },
    components: [{ type: 'body', parameters: texts('ආයුබෝවන්') }],
  }
  const sent = await call('/v17.0/200/messages', { body: message({ template }), token: 'second' })
  t.equal(sent.status, 200)
  t.same((await post('statuses', { message_id: sent.body.messages[0].id, status: 'read' })).body, done)
  t.same((await post('template-events', { name: 'greeting', language: 'si_LK', event: 'REJECTED' })).body, done)
  t.match((await post('inbound', { from: '94771234567', text: 'Hi' })).body, { type: 'text', text: 'Hi' })
  t.same((await post('webhooks', { body: {} })).body.status, 200)
  t.equal((await post('webhooks/verify', { verify_token: 'verify-me' })).body.verified, true)
  t.same((await post('scripts', { trouble: { kind: 'error', code: 190 } })).body, done)
  t.equal((await send()).body.error.code, 190)
  t.same((await put('outage', { mode: 'html' })).body, done)
  t.equal((await send()).status, 502)
  t.same((await post('clock', { advance_seconds: 60 })).body, done)
  t.same((await call('/control/idle?timeout_seconds=5')).body, { idle: true })
  t.match((await call('/control')).body, { accepted: 1, outage: 'html', calls: { ok: 1, 190: 1 }, planned: 0 })
  t.ok((await call('/control/webhooks')).body.data.length > 0)
  t.equal((await call('/control/inbound')).body.data.length, 1)
  t.same((await call('/control/scripts', { method: 'DELETE' })).body, done)
  t.same((await post('reset')).body, done)
  t.match(control.summary(), { accepted: 0, outage: null, calls: {}, behaviour: { answer_latency_ms: 0 } })
  t.equal((await call('/v17.0/200', { token: 'second' })).body.error.code, 190)
})

t.test('accounts are shown without their secrets', async t => {
  const { call } = await build(t)
  const { body } = await call('/control/accounts')
  t.equal(body.numbers[0].phone_number_id, numberId)
  t.same(body.tokens, [
    {
      last4: 'oken',
      waba_ids: [accountId],
      scopes: ['whatsapp_business_management', 'whatsapp_business_messaging'],
      expires_at: 0,
      revoked: false,
      target_ids: true,
    },
  ])
  for (const secret of [accessToken, appSecret, '123456']) t.notMatch(JSON.stringify(body.numbers), `"${secret}"`)
})

t.test('a control call says what is wrong with it', async t => {
  const { call } = await build(t)
  const errors = async (path: string, body: unknown, method = 'POST') => {
    const answer = await call(`/control/${path}`, { method, body })
    t.equal(answer.status, 422, path)
    return answer.body.errors
  }
  t.same(await errors('behaviour', { delay_factor: -1 }, 'PUT'), {
    delay_factor: ['The delay factor field must be a number, 0 to 100.'],
  })
  t.ok((await errors('behaviour', { delay: 1 }, 'PUT')).delay)
  t.same(await errors('inbound', { from: '94771234567' }), { text: ['The text field is required.'] })
  t.ok((await errors('inbound', { from: 'me', text: 'Hi' })).from)
  t.same(await errors('scripts', { trouble: { kind: 'earthquake' } }), {
    trouble: ['The trouble field must be one of the documented troubles.'],
  })
  t.ok((await errors('scripts', { recipient: '94771234567', trouble: { kind: 'refused' } })).recipient)
  t.ok((await errors('statuses', { message_id: 'none', status: 'read' })).message_id)
  t.ok((await errors('template-events', { name: 'none', event: 'PAUSED' })).name)
  t.ok((await errors('webhooks', { body: {} })).webhook_url)
  t.ok((await errors('outage', { mode: 'sometimes' }, 'PUT')).mode)
})

t.test('control calls and the page work during an outage', async t => {
  const { call, control } = await build(t)
  control.outage('reset')
  t.equal((await call('/control')).status, 200)
  t.equal((await call('/')).status, 200)
  t.same((await call('/health/ready')).body, { status: 'ok' })
  t.same((await call('/health/live')).body, { status: 'ok' })
})
