import { createServer } from 'node:http'
import type { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { listen } from '../../../../dev/ports.ts'
import { standIn, withoutPage } from '../../test/orders-stand-in.ts'
import { buildTenant, serviceToken } from '../../test/portal.ts'
import { createOrdersClient } from '../orders-client/http-client.ts'
import { findOrders } from '../orders-client/orders-client.ts'

const prepare = async (t: Test, ...orders: Partial<OrderSnapshot>[]) => {
  const { client, state } = await standIn(t, ...(orders.length > 0 ? orders : [{}]))
  const built = await buildTenant(t, {}, { orders: client })
  state.tenant = built.tenant
  // Pauses the channels, so that messages stay queued.
  await built.rows(`update channels set state = 'paused'`)
  const stored = () =>
    built.rows('select recipient, waybill_number, template -> $1 as parts from messages order by message_id', [
      'components',
    ])
  return { ...built, state, stored }
}

/** Builds a message with these texts in its body. */
const saying = (texts: string[], more: Record<string, unknown> = {}) => ({
  template: {
    name: 'order_delivered',
    language: { code: 'en_US' },
    components: [{ type: 'body', parameters: texts.map(text => ({ type: 'text', text })) }],
  },
  ...more,
})

const about = (waybill_number: string, more: Record<string, unknown> = {}) =>
  saying(['{{customer_name}}', '{{waybill_number}}'], { waybill_number, ...more })

const textsOf = ({ parts }: { parts: { parameters: { text: string }[] }[] }) =>
  parts.flatMap(({ parameters }) => parameters.map(({ text }) => text))

t.test('fills the texts with fields of the order, and an omitted recipient with its customer’s phone', async t => {
  const { call, stored, state } = await prepare(t, { note: null })
  for (const more of [{}, { to: null }, { to: ' ' }, { to: '0770000199' }])
    t.equal((await call('POST', '/api/messages', about('DM00000001', more))).status, 202)
  const note = saying(['{{ currency }} {{cod}} for {{business_name}}', '{{note}}'], { waybill_number: 'DM00000001' })
  t.equal((await call('POST', '/api/messages', note)).status, 202)
  const rows = await stored()
  t.same(
    rows.map(({ recipient }) => recipient),
    ['94770000101', '94770000101', '94770000101', '94770000199', '94770000101'],
  )
  t.same(textsOf(rows[0]), ['Nimali Perera', 'DM00000001'])
  t.same(textsOf(rows[4]), ['LKR 4500 for Lanka Shoes Online', '-'])
  t.equal(state.asked.length, 5)
})

t.test('a waybill number in lower case or with blanks refers to the same order', async t => {
  const { call, stored } = await prepare(t, { waybill_number: 'DM00000001' }, { waybill_number: 'dm00000002' })
  const to = '0770000199'
  for (const typed of [' dm 00000001', 'DM0000 0001', 'dm00000002', 'dm 9'])
    t.equal((await call('POST', '/api/messages', saying(['Ready'], { to, waybill_number: typed }))).status, 202, typed)
  t.equal((await call('POST', '/api/messages', about('dm00000001'))).status, 202)
  t.strictSame(
    (await stored()).map(({ waybill_number }) => waybill_number),
    ['DM00000001', 'DM00000001', 'dm00000002', 'dm 9', 'DM00000001'],
  )
  const filtered = async (typed: string) => {
    const { body } = await call('GET', `/api/messages?waybill_number=${encodeURIComponent(typed)}`)
    return body.data.map((message: { waybill_number: string }) => message.waybill_number)
  }
  t.strictSame(await filtered(' dm 00000001 '), ['DM00000001', 'DM00000001', 'DM00000001'])
  t.strictSame(await filtered('dm00000002'), ['dm00000002'])
})

t.test(
  'an opt-out exempts a message by its fields of the order, not by the spelling of its waybill number',
  async t => {
    const { call, rows, tenant } = await prepare(t)
    await rows(
      `insert into conversations (tenant_id, phone_number_id, recipient, opted_out_at)
     select tenant_id, phone_number_id, '94770000101', now() from channels`,
    )
    await rows(
      `insert into templates (tenant_id, waba_id, name, language, status, category, parameter_format, components)
     values ($2, 'waba', 'order_delivered', 'en_US', 'APPROVED', 'UTILITY', 'POSITIONAL', $1)`,
      [JSON.stringify([{ type: 'BODY', text: '{{1}} {{2}}' }]), tenant],
    )
    await rows(`update channels set waba_id = 'waba', catalogue_tried_at = now()`)
    await rows(`update tenants set opt_out_exempt = 'parcel_under_way' where tenant_id = $1`, [tenant])
    const to = '0770000101'
    const statusOf = async (body: object) => (await call('POST', '/api/messages', body)).status
    for (const waybill_number of ['DM00000001', 'dm00000001'])
      t.equal(await statusOf(saying(['a', 'b'], { to, waybill_number })), 422, waybill_number)
    t.equal(await statusOf(about('dm00000001', { to })), 202, 'fields of the order')
    t.equal(await statusOf(saying(['a', 'b'], { waybill_number: 'DM00000001' })), 202, 'the phone of the order')
  },
)

t.test(
  'the link to a parcel’s page fills texts and URL buttons; if orders lacks PUBLIC_URL, the message is refused',
  async t => {
    const { call, stored } = await prepare(t, {}, withoutPage('DM00000002'))
    const of = (waybill_number: string, text = 'Here: {{ tracking_url }}') => {
      const { template } = saying([text], {})
      const button = {
        type: 'button',
        sub_type: 'url',
        index: '0',
        parameters: [{ type: 'text', text: '?to={{tracking_url}}' }],
      }
      return { waybill_number, template: { ...template, components: [...template.components, button] } }
    }
    t.equal((await call('POST', '/api/messages', of('DM00000001'))).status, 202)
    t.same(textsOf((await stored())[0]), [
      'Here: https://courier.example/t/demo/DM00000001/q3x0cJ2mYb8',
      '?to=https%3A%2F%2Fcourier.example%2Ft%2Fdemo%2FDM00000001%2Fq3x0cJ2mYb8',
    ])
    const { status, body } = await call('POST', '/api/messages', of('DM00000002', 'Hello'))
    t.same([status, body.errors], [422, { template: ['The order has no {{tracking_url}}: orders needs PUBLIC_URL.'] }])
  },
)

t.test('a complete message needs no request to orders, whatever its waybill', async t => {
  const { call, stored, state } = await prepare(t)
  const message = saying(['Nimali', '{not} a {{ field'], { to: '0770000101', waybill_number: 'of another system' })
  t.equal((await call('POST', '/api/messages', message)).status, 202)
  t.match(await stored(), [{ waybill_number: 'of another system' }])
  t.equal((await call('POST', '/api/messages', { ...message, waybill_number: ' ' })).status, 202)
  t.match((await stored())[1], { waybill_number: null }, 'a blank waybill number is stored as none')
  t.same(state.asked, [])
})

t.test('every missing or unknown field is an error, and nothing is queued', async t => {
  const { call, stored } = await prepare(t)
  const path = 'template.components.0.parameters.1.text'
  const wrong: [body: unknown, path: string, sentence: RegExp][] = [
    [about('DM404'), 'waybill_number', /The requested waybill does not exist in the system\./],
    [about('..'), 'waybill_number', /does not exist/],
    [about('\ud800'), 'waybill_number', /null character/],
    [saying(['a', 'b']), 'to', /The to field is required\./],
    [saying(['a', '{{cod}}'], { to: '0770000101' }), 'waybill_number', /a text names a field of its order/],
    [saying(['a', '{{phone}}'], { waybill_number: 'DM00000001' }), path, /no field \{\{phone\}\}.*customer_phone, /],
    [saying(['a', '{{__proto__}}'], { waybill_number: 'DM00000001' }), path, /no field \{\{__proto__\}\}/],
  ]
  for (const [body, path, sentence] of wrong) {
    const { status, body: response } = await call('POST', '/api/messages', body)
    t.same([status, Object.keys(response.errors)], [422, [path]])
    t.match(response.errors[path][0], sentence)
  }
  t.same(await stored(), [])
})

t.test('reports an invalid phone of the customer under `to`', async t => {
  const { call } = await prepare(t, { customer_phone: 'call the office' })
  t.match((await call('POST', '/api/messages', about('DM00000001'))).body.errors, { to: [/must be a phone number/] })
})

t.test('while orders is unavailable the request is refused, and repeating it with its key works later', async t => {
  const { call, stored, state } = await prepare(t)
  const key = { 'idempotency-key': 'k' }
  state.isBroken = true
  const refused = await call('POST', '/api/messages', about('DM00000001'), key)
  t.equal(refused.status, 503)
  t.equal(refused.headers['retry-after'], '2')
  t.match(refused.body.message, /Nothing was changed; repeat the request/)
  t.same(await stored(), [])
  state.isBroken = false
  t.equal((await call('POST', '/api/messages', about('DM00000001'), key)).status, 202)
})

t.test('replays an accepted request without reading orders again', async t => {
  const { call, stored, state } = await prepare(t)
  const key = { 'idempotency-key': 'k' }
  const first = await call('POST', '/api/messages', about('DM00000001'), key)
  state.isBroken = true
  const second = await call('POST', '/api/messages', about('DM00000001'), key)
  t.same([second.status, second.body], [202, first.body])
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.equal((await call('POST', '/api/messages', about('DM404'), key)).status, 422)
  t.same([state.asked.length, (await stored()).length], [1, 1])
})

t.test('a bulk request reads each waybill once, eight at a time', async t => {
  const waybills = Array.from({ length: 60 }, (_, n) => `DM${n}`)
  const { call, stored, state } = await prepare(t, ...waybills.map(waybill_number => ({ waybill_number })))
  const messages = [...waybills, ...waybills].map(waybill => about(waybill))
  const { status, body } = await call('POST', '/api/messages/bulk', { messages })
  t.same([status, body.data.length], [202, 120])
  t.same(state.asked.toSorted(), waybills.toSorted())
  t.equal(state.mostAtOnce, 8)
  t.same(
    (await stored()).map(row => textsOf(row)[1]),
    [...waybills, ...waybills],
  )
})

t.test('a bulk request with unknown waybills queues nothing and names each', async t => {
  const { call, stored } = await prepare(t)
  const messages = [about('DM00000001'), about('DM404'), about('DM405'), saying(['a', 'b'], { to: '0770000101' })]
  const { status, body } = await call('POST', '/api/messages/bulk', { messages })
  t.same([status, Object.keys(body.errors)], [422, ['messages.1.waybill_number', 'messages.2.waybill_number']])
  t.same(await stored(), [])
})

t.test('one response lists the errors of shape, of texts, of orders and of data; nothing is queued', async t => {
  const { call, stored, state } = await prepare(t)
  const messages = [
    about('DM00000001', { sent_at: 'now' }),
    saying(['a', '{{phone}}'], { to: 'nobody', messaging_product: 'telegram' }),
    about('DM404', { to: '0770000101', channel: 'another' }),
    about('DM405'),
    about('DM00000001', { send_at: '2020-01-01T00:00:00Z' }),
    about('DM00000001'),
  ]
  const refused = async () => (await call('POST', '/api/messages/bulk', { messages, message: [] })).body.errors
  const known = {
    message: [/Did you mean messages/],
    'messages.0.sent_at': [/Did you mean send_at/],
    'messages.1.template.components.0.parameters.1.text': [/no field \{\{phone\}\}/],
    'messages.1.messaging_product': [/must be whatsapp/],
    'messages.1.waybill_number': [/a text names a field/],
  }
  const all = {
    ...known,
    'messages.1.to': [/must be a phone number/],
    'messages.2.waybill_number': [/does not exist/],
    'messages.2.channel': [/is invalid/],
    'messages.3.waybill_number': [/does not exist/],
    'messages.4.send_at': [/5 minutes to 35 days/],
  }
  const errors = await refused()
  t.match(errors, all)
  t.same(Object.keys(errors).sort(), Object.keys(all).sort())
  t.notOk(state.asked.includes(''))
  state.isBroken = true
  t.same(Object.keys(await refused()).sort(), Object.keys(known).sort(), 'without orders, only the errors known so far')
  t.same(await stored(), [])
})

t.test('a response to messages with 2,000 errors lists 1,000 of them and says how many more there are', async t => {
  const { call } = await prepare(t)
  const [shape, data] = [{ colour: 'red', sent_at: 'now' }, saying(['a', 'b'], { to: '1', channel: 'another' })]
  const messages = [...Array(500).fill({ ...data, ...shape }), ...Array(500).fill(data)]
  const { status, body } = await call('POST', '/api/messages/bulk', { messages })
  t.same([status, Object.values(body.errors).flat().length, body.more_errors], [422, 1000, 1000])
})

t.test('requests no more waybills once orders fails to respond', async t => {
  const { client, state } = await standIn(t, {})
  state.isBroken = true
  const waybills = Array.from({ length: 1000 }, (_, n) => `DM${n}`)
  t.equal(await findOrders(client, 'demo', waybills), undefined)
  t.equal(state.asked.length, 8)
})

t.test('an invalid response, a refusal and no response all count as unavailable', async t => {
  let served: [status: number, body: string] = [200, '']
  const server = createServer((_, response) => response.writeHead(served[0]).end(served[1]))
  const url = `http://127.0.0.1:${await listen(server)}`
  const client = createOrdersClient({ url, serviceToken, logger: pino({ level: 'silent' }) })
  t.teardown(() => client.close())
  for (served of [
    [200, 'hello'],
    [200, '{}'],
    [200, '{"data":{"waybill_number":"DM1"}}'],
    [401, '{}'],
    [500, '{}'],
  ] as [number, string][])
    t.same(await client.find('demo', 'DM1'), { kind: 'unavailable' }, JSON.stringify(served))
  served = [404, '{}']
  t.same(await client.find('demo', 'DM1'), { kind: 'unknown' })
  await new Promise(resolve => server.close(resolve))
  t.same(await client.find('demo', 'DM1'), { kind: 'unavailable' })
})
