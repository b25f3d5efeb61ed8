import t from 'tap'
import { messageTo, until } from './test/fixture.ts'
import { build } from './test/portal.ts'

const { call, rows } = await build(t)
const body = messageTo('0770000101')

const wrong: Record<string, [url: string, body: unknown, errors: Record<string, string>, method?: 'PUT']> = {
  'a misspelt field': [
    '/api/messages',
    { ...body, waybil_number: 'DM1' },
    { waybil_number: 'The waybil number field is not known. Did you mean waybill_number?' },
  ],
  'a misspelt field inside the template': [
    '/api/messages',
    { ...body, template: { ...body.template, langauge: 'en' } },
    { 'template.langauge': 'The langauge field is not known. Did you mean language?' },
  ],
  'a field that is like no other': [
    '/api/messages',
    { ...body, colour: 'red' },
    { colour: 'The colour field is not known.' },
  ],
  'a misspelt field of one of several messages': [
    '/api/messages/bulk',
    { messages: [body, { ...body, sent_at: 'now' }], message: [] },
    {
      message: 'The message field is not known. Did you mean messages?',
      'messages.1.sent_at': 'The sent at field is not known. Did you mean send_at?',
    },
  ],
  'a list instead of an object': [
    '/api/messages/bulk',
    [body],
    { '': 'The data must be an object. Send the list as {"messages": [...]}.' },
  ],
  'a parameter that is a number': [
    '/api/messages',
    { ...body, template: { ...body.template, components: [{ type: 'body', parameters: [5] }] } },
    { 'template.components.0.parameters.0': 'The template.components.0.parameters.0 field must be an object.' },
  ],
  'a text that is a number': [
    '/api/messages',
    {
      ...body,
      template: { ...body.template, components: [{ type: 'body', parameters: [{ type: 'text', text: 5 }] }] },
    },
    {
      'template.components.0.parameters.0.text':
        'The text field must be a text of 1 to 1024 characters without line breaks, tabs or more than four blanks in a row.',
    },
  ],
  'another product': [
    '/api/messages/bulk',
    { messages: [body, { ...body, messaging_product: 'telegram' }] },
    { 'messages.1.messaging_product': 'The messaging product field must be whatsapp.' },
  ],
  'a misspelt field of a channel': [
    '/api/channels/300',
    { acces_token: 'a-token' },
    { acces_token: 'The acces token field is not known. Did you mean access_token?' },
    'PUT',
  ],
}

for (const [name, [url, given, errors, method = 'POST']] of Object.entries(wrong))
  t.test(`refuses ${name}, and stores nothing`, async t => {
    const response = await call(method, url, given)
    t.equal(response.status, 422)
    const expected = Object.fromEntries(Object.entries(errors).map(([path, sentence]) => [path, [sentence]]))
    t.strictSame(response.body.errors, expected)
    t.same(await rows('select 1 from messages'), [])
  })

t.test('accepts the configured product, and messages without a product', async t => {
  for (const messaging_product of ['whatsapp', '', null, undefined])
    t.equal((await call('POST', '/api/messages', { ...body, messaging_product })).status, 202)
})

t.test('a token alone makes a channel that sends; the response and the check report missing webhooks', async t => {
  const { app, call, control, queue, rows } = await build(t)
  control.putNumber('300', { registered: true, waba_id: '102290129340398' })
  const access_token = 'demo-access-token'
  t.match((await call('PUT', '/api/channels/300', { name: 'Third' })).body.errors, {
    access_token: ['The access token field is required.'],
  })
  const created = await call('PUT', '/api/channels/300', { access_token })
  t.match(created, {
    status: 200,
    body: { data: { name: '300', plan: 'paid', state: 'active', webhooks: false }, warnings: [/no webhooks until/] },
  })
  const check = async () => (await call('POST', '/api/channels/300/check')).body.data
  t.match(await check(), { ok: true })
  t.match((await check()).warnings.join(), /no webhooks until it has app_secret and verify_token/)
  const { body: sent } = await call('POST', '/api/messages', { ...body, channel: '300' })
  queue.start()
  const status = async () =>
    (await rows('select status from messages where message_id = $1', [sent.data.id]))[0]?.status
  await until('the message is sent', async () => (await status()) === 'accepted')
  const verification = 'hub.mode=subscribe&hub.challenge=1&hub.verify_token='
  t.equal((await app.inject(`/webhooks/messaging?${verification}`)).statusCode, 403)
  const whole = await call('PUT', '/api/channels/300', { app_secret: 'an-app-secret', verify_token: 'a-verify-token' })
  t.match(whole.body.data, { webhooks: true })
  t.notOk('warnings' in whole.body)
  t.notMatch((await check()).warnings.join(), /no webhooks/)
})

t.test('a sync of templates without a channel to sync names the problem', async t => {
  const { call, rows } = await build(t)
  const errors = async (body = {}) => {
    const response = await call('POST', '/api/templates/sync', body)
    t.equal(response.status, 422)
    return response.body.errors.channel[0]
  }
  t.match(await errors(), /has no waba_id/)
  t.match(await errors({ channel: '1' }), /The selected channel is invalid/)
  await rows(`insert into channels (tenant_id, phone_number_id, name, plan, is_default, waba_id, verify_token_hash,
    rate)
    values ('demo', '301', 'Third', 'paid', false, '1', '', 80)`)
  await rows('update channels set is_default = false')
  t.match(await errors(), /No channel is the default/)
  t.match(await errors({ channel: '301' }), /no access token/)
  await rows('delete from secrets')
  await rows('delete from channels')
  t.match(await errors(), /There is no channel yet/)
})

t.test('a message whose JSON has a key twice is refused', async t => {
  const { call, rows } = await build(t)
  const twice = JSON.stringify(messageTo('0770000101')).replace('{', '{"to":"0770000102",')
  t.match(await call('POST', '/api/messages', twice), {
    status: 400,
    body: { code: 'malformed_request', message: 'The body has the field to twice in one object.' },
  })
  t.same(await rows('select from messages'), [])
})
