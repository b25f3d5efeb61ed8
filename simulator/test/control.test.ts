import { createHash } from 'node:crypto'
import t from 'tap'
import { defaultBehaviour } from '../basics/behaviour.ts'
import { build, message, numberId, pick, receiveWebhooks } from './build.ts'

t.test('lists messages, newest first, also by recipient and number', async t => {
  const { send, call } = await build(t)
  await send(message({ to: '94771111111' }))
  await send(message({ to: '94772222222' }))
  await send(message({ to: '94773333333' }))
  const list = async (query: string) =>
    (await call(`/control/messages${query}`)).body.data.map(({ to }: { to: string }) => to)
  t.same(await list(''), ['94773333333', '94772222222', '94771111111'])
  t.same(await list('?to=%2B94%2077-1111111'), ['94771111111'])
  t.same(await list('?limit=1'), ['94773333333'])
  t.same(await list('?phone_number_id=200'), [])
})

t.test('lists requests, including refused ones', async t => {
  const { send, call, control } = await build(t)
  control.script({ trouble: { kind: 'error', code: 131026 } })
  await send()
  const { body } = await call('/control/calls?limit=1')
  t.match(body.data, [
    { method: 'POST', path: `/v17.0/${numberId}/messages`, to: '94771234567', http_status: 400, code: 131026 },
  ])
})

t.test('a setting made over HTTP takes effect', async t => {
  const callback = await receiveWebhooks(t)
  const { send, call, awaitIdle } = await build(t)
  const put = (path: string, body: unknown) => call(`/control/${path}`, { method: 'PUT', body })
  const post = (path: string, body: unknown = {}) => call(`/control/${path}`, { body })
  const done = { done: true }

  t.match((await put('behaviour', { webhook_url: callback.url, answer_latency_ms: 1 })).body, { answer_latency_ms: 1 })
  t.same((await put('numbers/200', { app_secret: 'theirs', display_phone_number: '+1 555 0100' })).body, done)
  t.same((await put('tokens', { access_token: 'second' })).body, done)
  const sent = await call('/v17.0/200/messages', { body: message(), token: 'second' })
  t.equal(sent.status, 200)
  t.same((await post('statuses', { message_id: sent.body.messages[0].id, status: 'read' })).body, done)
  t.match((await post('inbound', { from: '94771234567', text: 'Hi' })).body, { type: 'text', text: 'Hi' })
  t.same((await post('scripts', { trouble: { kind: 'error', code: 190 } })).body, done)
  t.equal((await send()).body.error.code, 190)
  t.same((await put('outage', { mode: 'unavailable' })).body, done)
  t.equal((await send()).status, 503)
  await awaitIdle()
  t.match((await call('/control')).body, {
    accepted: 1,
    outage: 'unavailable',
    calls: { ok: 1, 190: 1, 2: 1 },
    planned: 0,
  })
  t.equal((await call('/control/inbound')).body.data.length, 1)
  t.same((await call('/control/scripts', { method: 'DELETE' })).body, done)
  t.same((await put('outage', { mode: null })).body, done)
  t.equal((await send()).status, 200)
})

t.test('an invalid control request gets an error that names the problem', async t => {
  const { call } = await build(t)
  const wrong: [path: string, body: unknown, field: string, sentence: RegExp, method?: string][] = [
    ['behaviour', { delay_factor: -1 }, 'delay_factor', /^The delay factor field must be a number, 0 to 100\.$/, 'PUT'],
    ['behaviour', { delay: 1 }, 'delay', /^The delay field is not known\./, 'PUT'],
    ['behaviour', { delay_facter: 1 }, 'delay_facter', /not known\. Did you mean delay_factor\?$/, 'PUT'],
    ['inbound', { from: '94771234567', test: 'Hi' }, 'test', /Did you mean text\?$/],
    ['numbers/7', { registred: true }, 'registred', /Did you mean registered\?$/, 'PUT'],
    ['tokens', { access_token: 'a', revokd: true }, 'revokd', /Did you mean revoked\?$/, 'PUT'],
    ['outage', { mode: null, modes: 1 }, 'modes', /Did you mean mode\?$/, 'PUT'],
    ['statuses', { message_id: 'none', status: 'read', copy: 2 }, 'copy', /not known/],
    ['scripts', { trouble: { kind: 'lost' }, time: 3 }, 'time', /Did you mean times\?$/],
    ['scripts', { trouble: { kind: 'lost', times: 3 } }, 'trouble.times', /not known/],
    ['inbound', { from: '94771234567' }, 'text', /^The text field is required\.$/],
    ['inbound', { from: 'me', text: 'Hi' }, 'from', /./],
    ['scripts', { trouble: { kind: 'earthquake' } }, 'trouble', /^The trouble field must be one of the documented/],
    ['scripts', { recipient: '94771234567', trouble: { kind: 'refused' } }, 'recipient', /./],
    ['statuses', { message_id: 'none', status: 'read' }, 'message_id', /./],
    ['outage', { mode: 'sometimes' }, 'mode', /./, 'PUT'],
  ]
  for (const [path, body, field, sentence, method = 'POST'] of wrong) {
    const response = await call(`/control/${path}`, { method, body })
    t.equal(response.status, 422, path)
    t.match(response.body.errors[field], [sentence])
  }
})

t.test('a press of a button sends its webhook as many times as requested', async t => {
  const callback = await receiveWebhooks(t)
  const { send, call, control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
  const button = (index: string, payload: string) => ({
    ...{ type: 'button', sub_type: 'quick_reply', index },
    parameters: [{ type: 'payload', payload }],
  })
  const components = [
    { type: 'body', parameters: ['Nimali', 'DM1'].map(text => ({ type: 'text', text })) },
    button('1', 'no'),
  ]
  const template = { name: 'delivery_options', language: { code: 'en_US' }, components }
  const message_id = (await send(message({ template }))).body.messages[0].id
  const press = (body: object) => call('/control/presses', { body: { message_id, ...body } })
  t.match((await press({ index: 1, copies: 2 })).body, { type: 'button', text: 'Cancel it' })
  await press({ index: 0, from: '94770000999' })
  await awaitIdle()
  const taps = callback.changes().flatMap(({ value }) => value.messages ?? [])
  t.match(taps, [
    { type: 'button', button: { payload: 'no', text: 'Cancel it' }, context: { id: message_id }, from: '94771234567' },
    { button: { payload: 'no' }, id: taps[0].id },
    { button: { payload: 'Confirm' }, from: '94770000999' },
  ])
  t.match((await press({ index: 7 })).body.errors, { index: [/./] })
  t.match((await press({ message_id: 'none', index: 0 })).body.errors, { message_id: [/./] })
  control.inbound({ from: '94771234567', location: { latitude: 6.9, longitude: 79.9, name: 'Home' } })
  await awaitIdle()
  t.match(callback.changes().at(-1).value.messages, [{ type: 'location', location: { latitude: 6.9, name: 'Home' } }])
})

t.test('a text is accepted only after the person has written', async t => {
  const { call, control } = await build(t)
  const { template: _, ...rest } = message({ type: 'text', text: { body: 'Hi' } })
  const sendText = (text: object = { body: 'Hi', preview_url: false }) =>
    call(`/v17.0/${numberId}/messages`, { body: { ...rest, text } })
  t.same(pick(await sendText()).slice(0, 2), [400, 131047])
  control.inbound({ from: '94771234567', text: 'Hello' })
  t.equal((await sendText()).status, 200)
  t.equal((await sendText({ body: '' })).body.error.code, 131009)
  t.match(control.messages(), [{ template: null, rendered: { body: 'Hi', buttons: [] } }])
})

t.test('control requests and the page work during an outage', async t => {
  const { call, control } = await build(t)
  control.outage('reset')
  t.equal((await call('/control')).status, 200)
  t.equal((await call('/')).status, 200)
  t.same((await call('/health/ready')).body, { status: 'ok' })
  t.same((await call('/health/live')).body, { status: 'ok' })
})

t.test('limits the messages per second of each number, to 80 by default', async t => {
  t.equal(defaultBehaviour.throughput_per_second, 80)
  const { call, send, control } = await build(t, { behaviour: { throughput_per_second: 8 } })
  control.putNumber('200')
  const responses = await Promise.all(
    Array.from({ length: 10 }, (_, index) => send(message({ to: `9477100000${index}` }))),
  )
  t.equal(responses.filter(({ status }) => status === 200).length, 8)
  const refused = responses.find(({ status }) => status !== 200)
  t.same(refused && pick(refused), [400, 130429, 'Cloud API message throughput has been reached.'])
  t.equal((await call('/v17.0/200/messages', { body: message() })).status, 200)
})

t.test('the page runs its own script and nothing else', async t => {
  const { call } = await build(t)
  const { status, headers, body } = await call('/')
  t.equal(status, 200)
  t.match(headers.get('content-type'), 'text/html')
  const policy = headers.get('content-security-policy') ?? ''
  t.match(policy, "default-src 'none'")
  for (const tag of ['style', 'script']) {
    const [, content = ''] = body.match(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`)) ?? []
    t.match(policy, `${tag}-src 'sha256-${createHash('sha256').update(content).digest('base64')}'`)
  }
  t.notMatch(body, /innerHTML|insertAdjacentHTML|document\.write|(src|href)="(?!data:)/)
})

t.test('a text with reply buttons is checked, shown, and pressed like any other', async t => {
  const callback = await receiveWebhooks(t)
  const { control, send, call, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
  const reply = (id: string, title: string) => ({ type: 'reply', reply: { id, title } })
  const sendButtons = async (buttons: unknown[], body = 'Is this right?') => {
    const interactive = { type: 'button', body: { text: body }, action: { buttons } }
    return pick(await send(message({ type: 'interactive', template: undefined, interactive })))
  }
  const yes = reply('y', 'Yes')
  t.match(await sendButtons([yes]), [400, 131047], 'before the person writes')
  control.inbound({ from: '94771234567', text: 'Hello' })
  t.same(await sendButtons([]), [400, 131009, 'interactive.action.buttons is not valid'])
  t.match(await sendButtons([1, 2, 3, 4].map(n => reply(`${n}`, `${n}`))), [400, 131009])
  t.match(await sendButtons([reply('y', 'x'.repeat(21))]), [400, 100, /title must be at most 20/])
  t.match(await sendButtons([reply('x'.repeat(257), 'Yes')]), [400, 100, /id must be at most 256/])
  t.match(await sendButtons([yes], 'x'.repeat(1025)), [400, 100, /text must be at most 1024/])
  t.match(await sendButtons([yes, reply('n', 'Yes')]), [400, 131009, /duplicated button title/])
  t.match(await sendButtons([{ ...yes, icon: 'x' }]), [400, 100])
  t.same(await sendButtons([yes, reply('n', 'No')]), [200, undefined, undefined])
  const [sent] = control.messages()
  t.match(sent, { template: null, rendered: { body: 'Is this right?', buttons: ['Yes', 'No'] } })
  await call('/control/presses', { body: { message_id: sent?.id, index: 1 } })
  t.equal((await call('/control/presses', { body: { message_id: sent?.id, index: 2 } })).status, 422)
  await awaitIdle()
  const tap = callback
    .changes()
    .flatMap(({ value }) => value.messages ?? [])
    .at(-1)
  t.match(tap, {
    type: 'interactive',
    interactive: { type: 'button_reply', button_reply: { id: 'n', title: 'No' } },
    context: { id: sent?.id },
  })
})
