import { createHmac } from 'node:crypto'
import t from 'tap'
import { accountId, appSecret, build, message, numberId, receiveWebhooks, texts } from './build.ts'

const sign = (raw: Buffer, secret = appSecret) => `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`

t.test('a message is sent, delivered and read', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url } })
  const { body } = await send(message({ biz_opaque_callback_data: 'ntf_1' }))
  t.ok(await control.idle())
  t.match(callback.posts[0]?.body, { object: 'whatsapp_business_account', entry: [{ id: accountId }] })
  t.match(callback.changes()[0], {
    field: 'messages',
    value: {
      messaging_product: 'whatsapp',
      metadata: { display_phone_number: '94117555000', phone_number_id: numberId },
    },
  })
  const [sent, delivered, read] = callback.statuses()
  const common = { id: body.messages[0].id, recipient_id: '94771234567', biz_opaque_callback_data: 'ntf_1' }
  const pricing = { billable: true, pricing_model: 'PMP', type: 'regular', category: 'utility' }
  t.match(sent, { ...common, status: 'sent', timestamp: /^\d{10}$/, pricing })
  t.match(sent.conversation, { id: String, origin: { type: 'utility' }, expiration_timestamp: /^\d{10}$/ })
  t.match(delivered, { ...common, status: 'delivered', conversation: { origin: { type: 'utility' } }, pricing })
  t.notOk(delivered.conversation.expiration_timestamp)
  t.match(read, { ...common, status: 'read', pricing })
  t.notOk(read.conversation)
  t.match(control.messages()[0]?.statuses, [{ status: 'sent' }, { status: 'delivered' }, { status: 'read' }])
})

t.test('a webhook is signed over its bytes, which are plain ASCII', async t => {
  const callback = await receiveWebhooks(t)
  const { control } = await build(t, { behaviour: { webhook_url: callback.url } })
  control.inbound({ from: '94771234567', name: 'නිමාලි', text: 'Grüße 🚚' })
  t.ok(await control.idle())
  const [post] = callback.posts
  t.match(post?.raw.toString('latin1'), 'Gr\\u00fc\\u00dfe \\ud83d\\ude9a')
  t.notMatch(post?.raw.toString('latin1'), /[\x80-\xff]/)
  t.equal(post?.headers['x-hub-signature-256'], sign(post?.raw ?? Buffer.alloc(0)))
  t.equal(post?.headers['content-type'], 'application/json')
})

t.test('statuses keep their delays', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url, delay_factor: 0.02 } })
  await send()
  t.same(callback.statuses(), [])
  t.ok(await control.idle())
  const [sent, , read] = control.messages()[0]?.statuses ?? []
  const took = Date.parse(read?.at ?? '') - Date.parse(sent?.at ?? '')
  t.ok(took >= 95 && took <= 285, `between half and one and a half of 190 ms: ${took} ms`)
})

t.test('courses of magic recipients', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url } })
  const courses: Record<string, string[]> = {
    8990000: [],
    8990001: ['sent'],
    8990002: ['sent', 'delivered'],
    8990003: ['sent', 'read'],
    8990004: ['sent', 'sent', 'delivered', 'delivered', 'read', 'read'],
    8990005: ['read', 'delivered', 'sent'],
    8990006: ['sent', 'delivered', 'read'],
    8990008: ['failed', 'delivered'],
  }
  for (const [ending, course] of Object.entries(courses)) {
    const before = callback.statuses().length
    await send(message({ to: `9477${ending}` }))
    t.ok(await control.idle())
    t.same(
      callback
        .statuses()
        .slice(before)
        .map(({ status }) => status),
      course,
      ending,
    )
  }
})

t.test('a status out of order carries the time at which it happened', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url, delay_factor: 0.05 } })
  control.script({
    trouble: { kind: 'course', statuses: [{ status: 'sent' }, { status: 'read' }], disorder: true },
  })
  await send()
  t.ok(await control.idle())
  const [read, sent] = callback.statuses()
  t.same([read.status, sent.status], ['read', 'sent'])
  t.ok(Number(read.timestamp) >= Number(sent.timestamp))
})

t.test('duplicates and disorder for everyone', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, {
    behaviour: { webhook_url: callback.url, webhook_copies: 2, webhook_disorder: true },
  })
  await send()
  t.ok(await control.idle())
  t.same(
    callback.statuses().map(({ status }) => status),
    ['read', 'read', 'delivered', 'delivered', 'sent', 'sent'],
  )
})

t.test('a webhook is repeated until it is answered with 200', async t => {
  const callback = await receiveWebhooks(t)
  const { control } = await build(t, { behaviour: { webhook_url: callback.url } })
  callback.answers.push(500, 201)
  control.inbound({ from: '94771234567', text: 'Hello' })
  t.ok(await control.idle())
  t.equal(callback.posts.length, 3)
  t.same(
    control.webhooks().map(({ status, attempt }) => [status, attempt]),
    [
      [200, 3],
      [201, 2],
      [500, 1],
    ],
  )
  t.match(control.summary().webhooks, { delivered: 1, lost: 0, to_retry: 0 })
})

t.test('an address that nobody can call is a post without an answer', async t => {
  const { control } = await build(t, { behaviour: { webhook_url: 'http://[nowhere' } })
  control.inbound({ from: '94771234567', text: 'Hello' })
  while (control.webhooks().length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  t.match(control.webhooks(), [{ status: null, error: 'http://[nowhere is not an address', attempt: 1 }])
})

t.test('updates that wait together come together, up to the batch', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url, webhook_batch: 10 } })
  const { body } = await send(message({ to: '94778990000' }))
  control.status({ message_id: body.messages[0].id, status: 'read', copies: 35 })
  t.ok(await control.idle())
  const sizes = callback.posts.map(post => post.body.entry[0].changes[0].value.statuses.length)
  t.same(sizes.sort(), [10, 10, 10, 5])
})

t.test('a person writes, says STOP and taps a button', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url } })
  control.script({ trouble: { kind: 'course', statuses: [] } })
  const { body } = await send()
  const { id } = control.inbound({ from: '+94771234567', text: 'STOP', name: 'Nimali' })
  control.inbound({ from: '94771234567', button: { text: 'Stop messages', payload: 'stop' } })
  t.ok(await control.idle())
  const [text, button] = callback.changes().map(({ value }) => value)
  t.match(text, {
    metadata: { phone_number_id: numberId },
    contacts: [{ profile: { name: 'Nimali' }, wa_id: '94771234567' }],
    messages: [{ from: '94771234567', id, timestamp: /^\d{10}$/, type: 'text', text: { body: 'STOP' } }],
  })
  t.match(button.messages, [
    {
      type: 'button',
      button: { payload: 'stop', text: 'Stop messages' },
      context: { from: '94117555000', id: body.messages[0].id },
    },
  ])
  t.match(control.inbox(), [{ type: 'button' }, { type: 'text', text: 'STOP' }])
})

t.test('a number has its own secret and address', async t => {
  const ours = await receiveWebhooks(t)
  const theirs = await receiveWebhooks(t)
  const { call, control } = await build(t, { behaviour: { webhook_url: ours.url } })
  control.putNumber('200', { app_secret: 'their secret', webhook_url: theirs.url })
  t.equal((await call('/v17.0/200/messages', { body: message() })).status, 200)
  t.ok(await control.idle())
  t.same(ours.posts, [])
  const [post] = theirs.posts
  t.equal(post?.headers['x-hub-signature-256'], sign(post?.raw ?? Buffer.alloc(0), 'their secret'))
})

t.test('a status is told on demand, and anything else, signed or not', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url } })
  const { body } = await send(message({ to: '94778990000' }))
  control.status({ message_id: body.messages[0].id, status: 'failed', code: 131049, copies: 2 })
  t.ok(await control.idle())
  t.match(callback.statuses(), [{ errors: [{ code: 131049 }] }, { errors: [{ code: 131049 }] }])
  t.same(await control.rawWebhook({ body: { object: 'page' } }), { status: 200, body: '' })
  t.same(callback.posts.at(-1)?.body, { object: 'page' })
  await control.rawWebhook({ body: '{ "a": 1 }', signature: 'sha256=00' })
  t.equal(callback.posts.at(-1)?.headers['x-hub-signature-256'], 'sha256=00')
  t.equal(callback.posts.at(-1)?.raw.toString(), '{ "a": 1 }')
  await control.rawWebhook({ body: {}, signature: null })
  t.equal(callback.posts.at(-1)?.headers['x-hub-signature-256'], undefined)
})

t.test('a callback is verified', async t => {
  const callback = await receiveWebhooks(t)
  const { control } = await build(t, { behaviour: { webhook_url: callback.url } })
  t.match(await control.verify('verify-me'), { verified: true, status: 200 })
  t.match(await control.verify('wrong'), { verified: false, status: 403 })
})

t.test('from v24 on a status has no conversation', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url, served_version: 'v24.0' } })
  await send(
    message({ template: { ...message().template, components: [{ type: 'body', parameters: texts('a', 'b') }] } }),
  )
  t.ok(await control.idle())
  t.ok(callback.statuses().every(status => status.conversation === undefined))
})
