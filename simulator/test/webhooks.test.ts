import { createHmac } from 'node:crypto'
import t from 'tap'
import { accountId, appSecret, build, message, numberId, receiveWebhooks } from './build.ts'

const sign = (raw: Buffer, secret = appSecret) => `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`

t.test('a message is sent, delivered and read', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
  const { body } = await send(message({ biz_opaque_callback_data: 'ntf_1' }))
  await awaitIdle()
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
  t.match(read, { ...common, status: 'read' })
  t.notOk(read.conversation ?? read.pricing, 'delivered has the price, so read has none')
  t.match(control.messages()[0]?.statuses, [{ status: 'sent' }, { status: 'delivered' }, { status: 'read' }])
})

t.test('before October 2026 utility messages are free for a person who wrote, and only for that person', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url, prices: '2025-07' } })
  control.inbound({ from: '+94771234567', text: 'Hello' })
  await send(message({ to: '94771234567' }))
  await send(message({ to: '94772222222' }))
  await awaitIdle()
  const types = callback
    .statuses()
    .flatMap(({ recipient_id, pricing }) => (pricing ? [`${recipient_id} ${pricing.type}`] : []))
  t.strictSame([...new Set(types)].sort(), ['94771234567 free_customer_service', '94772222222 regular'])
})

t.test('without a payment method, replies above the free ones are accepted and not delivered', async t => {
  const callback = await receiveWebhooks(t)
  const behaviour = { webhook_url: callback.url, delay_factor: 0, payment_method: false, free_service_messages: 1 }
  const { send, control, awaitIdle } = await build(t, { behaviour })
  control.inbound({ from: '+94771234567', text: 'Hello' })
  const reply = { messaging_product: 'whatsapp', to: '94771234567', type: 'text', text: { body: 'Yes' } }
  const sent = [await send(reply), await send(reply), await send(message({ to: '94771234567' }))]
  await awaitIdle()
  const delivered = callback.statuses().flatMap(({ status, id }) => (status === 'delivered' ? [id] : []))
  t.strictSame(
    sent.map(({ status, body }) => [status, delivered.includes(body.messages[0].id)]),
    [
      [200, true],
      [200, false],
      [200, true],
    ],
  )
})

t.test('since October 2026 the first thousand replies of a month are free, and nothing else', async t => {
  const callback = await receiveWebhooks(t)
  const behaviour = { webhook_url: callback.url, throughput_per_second: 0, delay_factor: 0 }
  const { send, control, awaitIdle } = await build(t, { behaviour })
  control.inbound({ from: '+94771234567', text: 'Hello' })
  const reply = { messaging_product: 'whatsapp', to: '94771234567', type: 'text', text: { body: 'Yes' } }
  await send(message({ to: '94771234567' }))
  for (let sent = 0; sent < 1002; sent++) await send(reply)
  await awaitIdle()
  const delivered = callback.statuses().filter(({ status }) => status === 'delivered')
  const types = delivered.map(({ pricing }) => `${pricing.category} ${pricing.type}`)
  const counts = Object.fromEntries(
    Map.groupBy(types, type => type)
      .entries()
      .map(([type, all]) => [type, all.length]),
  )
  t.strictSame(counts, { 'utility regular': 1, 'service free_customer_service': 1000, 'service regular': 2 })
})

t.test('a webhook is signed over its bytes, which are plain ASCII', async t => {
  const callback = await receiveWebhooks(t)
  const { control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
  control.inbound({ from: '94771234567', name: 'නිමාලි', text: 'Grüße 🚚' })
  await awaitIdle()
  const [post] = callback.posts
  t.match(post?.raw.toString('latin1'), 'Gr\\u00fc\\u00dfe \\ud83d\\ude9a')
  t.notMatch(post?.raw.toString('latin1'), /[\x80-\xff]/)
  t.equal(post?.headers['x-hub-signature-256'], sign(post?.raw ?? Buffer.alloc(0)))
  t.equal(post?.headers['content-type'], 'application/json')
})

t.test('statuses respect their delays', async t => {
  const callback = await receiveWebhooks(t)
  const { send, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url, delay_factor: 0.02 } })
  const start = performance.now()
  await send()
  t.same(callback.statuses(), [])
  await awaitIdle()
  const took = performance.now() - start
  t.ok(took >= 94, `at least half of 190 ms from sent to read: ${took} ms`)
})

t.test('a webhook is repeated until it is acknowledged with 200', async t => {
  const callback = await receiveWebhooks(t)
  const { control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
  callback.responses.push(500, 201)
  control.inbound({ from: '94771234567', text: 'Hello' })
  await awaitIdle()
  t.equal(callback.posts.length, 3)
  t.match(control.summary().webhooks, { delivered: 1, lost: 0, to_retry: 0 })
})

t.test('updates that wait together are posted together, up to the batch size', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
  const { body } = await send()
  await awaitIdle()
  callback.posts.length = 0
  for (let n = 0; n < 350; n++) control.status({ message_id: body.messages[0].id, status: 'read' })
  await awaitIdle()
  const sizes = callback.posts.map(post => post.body.entry[0].changes[0].value.statuses.length)
  t.same(
    sizes.sort((a, b) => a - b),
    [50, 100, 100, 100],
  )
})

t.test('a person writes, says STOP and taps a button', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
  const { body } = await send()
  const { id } = control.inbound({ from: '+94771234567', text: 'STOP', name: 'Nimali' })
  control.inbound({ from: '94771234567', button: { text: 'Stop messages', payload: 'stop' } })
  await awaitIdle()
  const [text, button] = callback
    .changes()
    .map(({ value }) => value)
    .filter(({ messages }) => messages)
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

t.test('a number has its own secret', async t => {
  const callback = await receiveWebhooks(t)
  const { call, control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
  control.putNumber('200', { app_secret: 'their secret' })
  t.equal((await call('/v17.0/200/messages', { body: message() })).status, 200)
  await awaitIdle()
  const [post] = callback.posts
  t.equal(post?.headers['x-hub-signature-256'], sign(post?.raw ?? Buffer.alloc(0), 'their secret'))
})

t.test('sends a status on demand', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
  const { body } = await send()
  await awaitIdle()
  control.status({ message_id: body.messages[0].id, status: 'failed', code: 131049 })
  await awaitIdle()
  t.match(callback.statuses().at(-1), { errors: [{ code: 131049 }] })
})
