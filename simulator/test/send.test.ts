import t from 'tap'
import { build, message, numberId, pick, templateMessage, texts } from './build.ts'

t.test("a send gets the real API's response", async t => {
  const { send, control } = await build(t)
  const response = await send(message({ biz_opaque_callback_data: 'ntf_1', recipient_type: 'individual' }))
  t.equal(response.status, 200)
  t.match(response.body.messages[0].id, /^wamid\.HBgL[A-Za-z0-9+/]+=*$/)
  t.same(response.body, {
    messaging_product: 'whatsapp',
    contacts: [{ input: '94771234567', wa_id: '94771234567' }],
    messages: [{ id: response.body.messages[0].id, message_status: 'accepted' }],
  })
  t.equal(response.headers.get('facebook-api-version'), 'v21.0')
  const [kept] = control.messages()
  t.match(kept, {
    id: response.body.messages[0].id,
    to: '94771234567',
    biz_opaque_callback_data: 'ntf_1',
    rendered: { body: 'Hello Nimali, your parcel DM00000001 was delivered. Thank you!' },
  })
})

t.test("an error gets the real API's response", async t => {
  const { send } = await build(t)
  const response = await send(templateMessage('nothing_like_it'))
  t.equal(response.status, 404)
  t.match(response.body.error.fbtrace_id, /^A\w+$/)
  t.same(response.body, {
    error: {
      message: '(#132001) Template name does not exist in the translation',
      type: 'OAuthException',
      code: 132001,
      error_data: { messaging_product: 'whatsapp', details: 'template name (nothing_like_it) does not exist in en_US' },
      fbtrace_id: response.body.error.fbtrace_id,
    },
  })
})

t.test('refuses a missing, unknown, revoked or expired token, and one without the scope', async t => {
  const { send, control } = await build(t)
  const getRefusal = async (token: string | null) => {
    const { status, body, headers } = await send(message(), { token })
    t.match(headers.get('www-authenticate'), /^OAuth "Facebook Platform" "invalid_token" "/)
    t.notOk(body.error.error_data)
    return [status, body.error.code, body.error.error_subcode]
  }
  t.same(await getRefusal(null), [401, 104, undefined])
  t.same(await getRefusal('unknown'), [401, 190, undefined])
  control.putToken({ access_token: 'revoked', revoked: true })
  t.same(await getRefusal('revoked'), [401, 190, 460])
  control.putToken({ access_token: 'old', expires_at: 1_700_000_000 })
  t.same(await getRefusal('old'), [401, 190, 463])
  control.putToken({ access_token: 'manager', scopes: ['whatsapp_business_management'] })
  t.same(await getRefusal('manager'), [403, 10, undefined])
})

t.test('a number that the token may not use looks like one that does not exist', async t => {
  const { call, control } = await build(t)
  control.putNumber('200', { waba_id: '999' })
  for (const id of ['200', '404404']) {
    const { status, body } = await call(`/v17.0/${id}/messages`, { body: message() })
    t.equal(status, 400)
    t.match(body.error, { code: 100, error_subcode: 33, type: 'GraphMethodException' })
    t.match(body.error.message, `Object with ID '${id}' does not exist`)
  }
})

t.test('a number that is not registered sends nothing', async t => {
  const { send, control } = await build(t)
  control.putNumber(numberId, { registered: false })
  t.same((await send()).body.error.code, 133010)
  t.equal(control.summary().accepted, 0)
})

t.test('refuses missing, invalid and unknown fields, each with its code', async t => {
  const { send } = await build(t)
  const { to: _to, ...withoutRecipient } = message()
  const template = message().template
  const withLanguage = (language: object) => message({ template: { ...template, language } })
  const refusals: [unknown, number, RegExp][] = [
    ['{', 100, /parameter messaging_product is required/],
    [{}, 100, /parameter messaging_product is required/],
    [message({ messaging_product: 'telegram' }), 100, /messaging_product must be one of \{WHATSAPP\} - got "telegram"/],
    [withoutRecipient, 100, /parameter to is required/],
    [message({ to: 'nobody' }), 131009, /not valid/],
    [message({ to: 94771234567 }), 131009, /not valid/],
    [message({ type: 'image', image: { link: 'https://x/y.png' } }), 131051, /Unsupported/],
    [message({ type: 'text', text: { body: 'Hi' } }), 100, /Unexpected key "template"/],
    [{ ...message({ type: 'text', text: { body: 'Hi' } }), template: undefined }, 131047, /Re-engagement/],
    [message({ type: 'letter' }), 100, /type must be one of/],
    [message({ status: 'read' }), 100, /Unexpected key "/],
    [{ messaging_product: 'whatsapp', status: 'read' }, 100, /parameter message_id is required/],
    [{ messaging_product: 'whatsapp', status: 'sent', message_id: 'wamid.1' }, 100, /status must be one of \{READ\}/],
    [{ messaging_product: 'whatsapp', status: 'read', message_id: 'wamid.1' }, 131009, /not valid/],
    [withLanguage({ code: 'en_US', policy: 'fallback' }), 100, /language.policy must be one of \{DETERMINISTIC\}/],
    [message({ type: 'toString' }), 100, /type must be one of/],
    [message({ surprise: 1 }), 100, /Unexpected key "surprise"/],
    [message({ template: { ...template, colour: 'red' } }), 100, /Unexpected key "colour" on param "template"/],
    [message({ template: { name: 'order_delivered' } }), 131008, /missing/],
    [message({ template: { ...template, components: 'none' } }), 131009, /not valid/],
    [message({ biz_opaque_callback_data: 'x'.repeat(513) }), 100, /Invalid parameter/],
    [message({ to: '+94 11 755-5000' }), 131021, /sender/],
  ]
  for (const [body, code, words] of refusals) {
    const response = await send(body)
    t.equal(response.body.error?.code, code, JSON.stringify(body))
    t.match(response.body.error?.message, words)
  }
})

t.test('a send may name the only policy of languages', async t => {
  const { send } = await build(t)
  const language = { code: 'en_US', policy: 'deterministic' }
  t.equal((await send(message({ template: { ...message().template, language } }))).status, 200)
})

t.test('a received message is marked as read, with or without a typing indicator', async t => {
  const { send, call, control } = await build(t)
  const { id } = control.inbound({ from: '94771234567', text: 'Hello' })
  const read = { messaging_product: 'whatsapp', status: 'read', message_id: id }
  for (const body of [read, { ...read, typing_indicator: { type: 'text' } }]) {
    const response = await send(body)
    t.same([response.status, response.body], [200, { success: true }])
  }
  t.equal(control.summary().accepted, 0, 'it is no message')
  control.putNumber('200', {})
  t.equal((await call('/v17.0/200/messages', { body: read })).body.error.code, 131009, "another number's message")
})

t.test('a body whose content type is not JSON counts as none', async t => {
  const { send } = await build(t)
  const { status, body } = await send(message(), { headers: { 'content-type': 'text/plain' } })
  t.same([status, body.error.message], [400, '(#100) The parameter messaging_product is required.'])
})

t.test('a recipient may be written with a plus, blanks, hyphens and brackets', async t => {
  const { send } = await build(t)
  const { body } = await send(message({ to: '+94 (77) 123-4567' }))
  t.same(body.contacts, [{ input: '+94 (77) 123-4567', wa_id: '94771234567' }])
})

t.test('only an approved template in that language is sent', async t => {
  const { send } = await build(t)
  const getCode = async (name: string, language = 'en_US') =>
    (await send(templateMessage(name, [], language))).body.error.code
  t.equal(await getCode('delivery_feedback'), 132015)
  t.equal(await getCode('weekend_offer'), 132001)
  t.equal(await getCode('order_delivered', 'en'), 132001)
})

t.test('each part needs as many parameters as it has placeholders', async t => {
  const { send } = await build(t)
  const body = (...values: string[]) => ({ type: 'body', parameters: texts(...values) })
  const header = (...values: string[]) => ({ type: 'HEADER', parameters: texts(...values) })
  const count = (part: string, given: number, expected: number) =>
    `${part}: number of localizable_params (${given}) does not match the expected number of params (${expected})`
  const refusals: [name: string, components: unknown[], details: string][] = [
    ['order_delivered', [body('a')], count('body', 1, 2)],
    ['order_delivered', [], count('body', 0, 2)],
    ['order_created', [body('a', 'b', 'c')], count('header', 0, 1)],
    ['order_delivered', [header('a'), body('a', 'b')], count('header', 1, 0)],
  ]
  for (const [name, components, details] of refusals)
    t.same(pick(await send(templateMessage(name, components))), [400, 132000, details])
  t.equal((await send(templateMessage('order_created', [header('a'), body('a', 'b', 'c')]))).status, 200)
})

t.test('refuses a text that is empty, too long, or has line breaks, tabs or five blanks in a row', async t => {
  const { send } = await build(t)
  const details = 'Param text cannot have new-line/tab characters or more than 4 consecutive spaces'
  const withText = (text: string) =>
    templateMessage('order_delivered', [{ type: 'body', parameters: texts(text, 'b') }])
  for (const text of ['a\nb', 'a\tb', 'a     b'])
    t.same(pick(await send(withText(text))), [400, 100, details], JSON.stringify(text))
  t.equal((await send(withText('a    b'))).status, 200)
  t.same(pick(await send(withText(''))), [400, 131008, 'Parameter of type text is missing text value'])
  t.same(pick(await send(withText('x'.repeat(40_000)))).slice(0, 2), [400, 132005])
})

t.test('refuses a header of another format', async t => {
  const { send } = await build(t)
  const body = { type: 'body', parameters: texts('Nimali') }
  const image = (value: object) => ({ type: 'header', parameters: [{ type: 'image', image: value }] })
  const sendPhoto = async (...components: unknown[]) => pick(await send(templateMessage('parcel_photo', components)))
  const mismatch = (received: string) => `header: Format mismatch, expected IMAGE, received ${received}`
  t.same(await sendPhoto(body), [400, 132012, mismatch('UNKNOWN')])
  t.same(await sendPhoto({ type: 'header', parameters: texts('a') }, body), [400, 132012, mismatch('TEXT')])
  t.same((await sendPhoto(image({}), body)).slice(0, 2), [400, 131008])
  t.same((await sendPhoto(image({ link: 'https://a/b.png' }), body)).slice(0, 2), [200, undefined])
})

t.test('a template with named parameters requires their names', async t => {
  const { send, control } = await build(t)
  const named = (...pairs: [string, string][]) =>
    templateMessage('pickup_reminder', [
      { type: 'body', parameters: pairs.map(([parameter_name, text]) => ({ type: 'text', text, parameter_name })) },
    ])
  t.equal((await send(named(['pickup_date', 'Monday'], ['customer_name', 'Asha']))).status, 200)
  t.equal(control.messages()[0]?.rendered.body, 'Hello Asha, we collect your parcel on Monday.')
  t.equal((await send(named(['pickup_date', 'Monday'], ['name', 'Asha']))).body.error.code, 100)
  t.equal((await send(named(['pickup_date', 'Monday']))).body.error.code, 132000)
})

t.test('a button with a variable needs its parameter', async t => {
  const { send } = await build(t)
  const body = { type: 'body', parameters: texts('Nimali') }
  const button = (sub_type: string, index: string) => ({ type: 'button', sub_type, index, parameters: texts('DM1') })
  const track = async (...components: unknown[]) => pick(await send(templateMessage('parcel_tracking', components)))
  t.same(await track(body), [400, 131008, 'buttons: Button at index 0 of type Url requires a parameter'])
  t.same((await track(body, button('quick_reply', '0'))).slice(0, 2), [400, 132012])
  t.same((await track(body, button('url', '1'))).slice(0, 2), [400, 132000])
  t.same((await track(body, button('url', '0'))).slice(0, 2), [200, undefined])
})

t.test("an unknown path gets the API's error, and an unknown address gets the simulator's", async t => {
  const { call } = await build(t)
  t.equal((await call('/v17.0/123/nowhere')).body.error.code, 2500)
  t.same((await call('/nowhere')).body, { message: 'There is nothing at this address.', code: 'not_found' })
})
