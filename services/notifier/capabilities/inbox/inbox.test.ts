import { inTenant } from '@courier/shared/postgres/database.ts'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { storeSecret } from '../../core/channels/secrets.ts'
import type { Tx } from '../../core/database/tables.ts'
import { createNotifierHousekeeping } from '../../housekeeping.ts'
import { addTenant, phoneNumberId, until } from '../../test/fixture.ts'
import { orderEvent } from '../../test/orders-stand-in.ts'
import { confirm, customer, prepare, waybill } from '../../test/replies-fixture.ts'
import { envelope, inbound, minutesAgo, postWebhook } from '../../test/webhooks-fixture.ts'
import { markRestored } from '../restoring/restored.ts'

const conversation = `/api/conversations/${customer}`

const open = async (t: Test) => {
  const prepared = await prepare(t)
  const { app, pool, keyring, call } = prepared
  /** Posts a webhook as the platform does. */
  const receive = async (fields: object, number = phoneNumberId, secret?: string) => {
    const body = envelope({ messages: [inbound({ ...fields })] }, number)
    t.equal((await postWebhook(app, body, secret)).statusCode, 200)
  }
  const addNumber = (tenant: string, number: string) =>
    inTenant(pool, tenant, async (tx: Tx) => {
      await tx.client.query(
        `insert into channels (tenant_id, phone_number_id, name, plan, is_default, verify_token_hash, rate, proven_at)
         values ($1, $2, 'Second', 'paid', false, '\\x00', 80, now()) on conflict do nothing`,
        [tenant, number],
      )
      await storeSecret(tx, keyring, { tenant, phoneNumberId: number, kind: 'app_secret' }, 'second')
    })
  const thread = async (query = '') => (await call('GET', `${conversation}/messages${query}`)).body
  const list = async (query = '') => (await call('GET', `/api/conversations${query}`)).body
  const reply = (text: string, headers: Record<string, string> = {}, phone = customer) =>
    call('POST', `/api/conversations/${phone}/reply`, { text }, headers)
  const statusOf = async (id: string) => (await call('GET', `/api/messages/${id}`)).body.data
  return { ...prepared, receive, addNumber, thread, list, reply, statusOf }
}

t.test('stores a customer’s message of any kind once, until it is read', async t => {
  const { receive, thread, list, call } = await open(t)
  const ids = ['wamid.text', 'wamid.image', 'wamid.place', 'wamid.tap', 'wamid.like']
  const written = [
    { timestamp: minutesAgo(9) },
    { type: 'image', image: { id: '1234', caption: 'the gate' }, text: undefined, timestamp: minutesAgo(8) },
    {
      type: 'location',
      location: { latitude: 6.9, longitude: 79.8, name: 'Home' },
      text: undefined,
      timestamp: minutesAgo(7),
    },
    { type: 'button', button: { text: 'Yes', payload: 'secret' }, text: undefined, timestamp: minutesAgo(6) },
    { type: 'reaction', reaction: { message_id: 'x', emoji: '👍' }, text: undefined, timestamp: minutesAgo(5) },
  ].map((fields, index) => ({ ...fields, id: ids[index] }))
  // Posts each webhook twice, the newest first; the list is newest first all the same.
  for (const fields of [...written, ...written].toReversed()) await receive(fields)
  await receive({ from: '94770000999', timestamp: minutesAgo(20) })

  const { data, conversation: window } = await thread()
  t.match(data.toReversed(), [
    { id: ids[0], direction: 'in', type: 'text', text: 'Where is my parcel?', unread: true, media_id: null },
    { type: 'image', text: 'the gate', media_id: '1234' },
    { type: 'location', text: 'Home (6.9, 79.8)' },
    { type: 'button', text: 'Yes' },
    { type: 'reaction', text: '👍' },
  ])
  t.match(window, { phone: customer, channel: phoneNumberId, open: true })
  t.match((await list()).data, [
    { phone: customer, unread: 5, open: true, last_message: { type: 'reaction' } },
    { phone: '94770000999', unread: 1 },
  ])
  t.equal((await call('GET', '/api/messages/summary')).body.data.unread_conversations, 2)

  const first = await list('?limit=1')
  t.match(await list(`?limit=1&cursor=${first.next_cursor}`), { data: [{ phone: '94770000999' }], next_cursor: null })
  t.match((await call('POST', `${conversation}/read`, { up_to: ids[3] })).body, { data: { unread: 1 } })
  t.match(await list('?unread=true'), { data: [{ phone: customer, unread: 1 }, { phone: '94770000999' }] })
  await call('POST', `${conversation}/read`, { up_to: ids[4] })
  t.match(await list('?unread=true'), { data: [{ phone: '94770000999' }] })
  t.equal((await list('?unread=true')).data.length, 1)
  t.match(await call('POST', `${conversation}/read`, { up_to: 'wamid.other' }), {
    status: 422,
    body: { errors: { up_to: ['The selected up to is invalid.'] } },
  })
  t.equal((await call('GET', '/api/conversations?unread=maybe')).status, 422)
  t.equal((await call('GET', '/api/conversations?cursor=x')).status, 422)
})

t.test('a keyword and a press that acts need no reader', async t => {
  const { control, offer, settled, heard, list, thread } = await open(t)
  control.press({ message_id: await offer(), index: confirm })
  await settled(1)
  control.inbound({ from: customer, text: 'STOP' })
  await heard()
  t.match((await list()).data, [{ unread: 0, last_message: { text: 'STOP' } }])
  t.notMatch(JSON.stringify(await thread()), /courier\./, 'no token of a button')
  control.inbound({ from: '94770000999', text: 'එපා' })
  await heard()
  t.match((await list('?unread=true')).data, [{ unread: 1, last_message: { text: 'එපා' } }], 'the refusal stays unread')
})

t.test('a reply is sent like every message, once for its key', async t => {
  const { control, heard, reply, thread, call, statusOf, rows } = await open(t)
  control.inbound({ from: customer, text: 'Where is it?' })
  control.inbound({ from: '94770000999', text: 'And mine?' })
  await heard()
  const key = { 'idempotency-key': 'once' }
  const first = await reply('On its way.\nTomorrow.', key)
  t.match(first, { status: 202, body: { message: 'The reply is queued.', data: { status: 'queued' } } })
  const { id } = first.body.data
  t.match(await reply('On its way.\nTomorrow.', key), { status: 202, body: { data: { id } } })
  t.equal((await reply('On its way.\nTomorrow.', key, '94770000999')).status, 422, 'the key is for one person')
  await until('the reply is delivered', async () => ['delivered', 'read'].includes((await statusOf(id)).status))
  t.equal(control.messages().filter(({ template }) => template === null).length, 1)
  t.match((await thread()).data, [
    { id, direction: 'out', type: 'text', text: 'On its way.\nTomorrow.', unread: false },
    { direction: 'in', text: 'Where is it?' },
  ])
  t.match((await call('GET', `/api/messages?to=${customer}`)).body.data, [{ id, text: 'On its way.\nTomorrow.' }])
  t.match(await rows(`select actor from audit where action = 'message.accepted'`), [{ actor: 'Ruwan' }])
  const page = await thread('?limit=1')
  t.match(await thread(`?limit=1&cursor=${encodeURIComponent(page.next_cursor)}`), {
    data: [{ text: 'Where is it?' }],
    next_cursor: null,
  })
})

t.test('a conversation says what the next reply costs, after the free ones of its number and month', async t => {
  const { control, heard, reply, thread, statusOf, rows, pool } = await open(t)
  await inTenant(pool, 'demo', (tx: Tx) => tx.client.query(`update tenants set currency = 'LKR'`))
  await rows(`insert into tariffs (tenant_id, category, country, valid_from, price)
    values ('demo', 'utility', 'LK', '2026-01-01', 0.9)`)
  control.inbound({ from: customer, text: 'Where is it?' })
  await heard()
  t.match((await thread()).reply, { price: { amount: '0', is_free: true, reason: 'free_quota' }, free_left: 1000 })
  const { id } = (await reply('On its way.')).body.data
  await until('it is delivered', async () => ['delivered', 'read'].includes((await statusOf(id)).status))
  t.match((await thread()).reply, { free_left: 999 })
  await rows(`insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, is_free,
      template, phone_number_id)
    select tenant_id, 'msg_' || n, '', now(), 'service', true, '', phone_number_id
    from generate_series(1, 999) n, (select tenant_id, phone_number_id from message_prices limit 1) of_number`)
  t.match((await thread()).reply, { price: { amount: '0.9', currency: 'LKR', is_free: false }, free_left: 0 })
})

t.test('pages of conversations with messages from the same second miss and repeat nothing', async t => {
  const { receive, list } = await open(t)
  const timestamp = minutesAgo(5)
  const phones = Array.from({ length: 12 }, (_, index) => `947700005${10 + index}`)
  for (const from of phones) await receive({ from, timestamp })
  const listed: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await list(`?limit=5${cursor && `&cursor=${cursor}`}`)
    listed.push(...page.data.map(({ phone }: { phone: string }) => phone))
    cursor = page.next_cursor
  }
  t.same(listed, phones.toReversed())
})

t.test('a waybill number in lower case or with blanks refers to the same parcel', async t => {
  const { receive, call, statusOf } = await open(t)
  await receive({})
  for (const waybill_number of [' dm 0000\t0001', waybill]) {
    const { body } = await call('POST', `${conversation}/reply`, { text: 'Tomorrow.', waybill_number })
    t.equal((await statusOf(body.data.id)).waybill_number, waybill)
  }
  const bad = await call('POST', `${conversation}/reply`, { text: 'Tomorrow.', waybill_number: 'dm 1\ud800' })
  t.match(bad, { status: 422, body: { errors: { waybill_number: [/surrogate/] } } })
})

t.test('a reply reaches a person whose digits look like a national number', async t => {
  const { pool, receive, reply, rows } = await open(t)
  await inTenant(pool, 'demo', (tx: Tx) => tx.client.query(`update tenants set country = 'DE'`))
  await receive({ from: '491701234567' })
  const replied = await reply('On its way.', {}, encodeURIComponent('+491701234567'))
  t.match(replied, { status: 202, body: { data: { status: 'queued' } } })
  t.match(await rows('select recipient from messages'), [{ recipient: '491701234567' }])
})

t.test('refuses a reply that cannot be sent, with the reason', async t => {
  const { receive, reply, call } = await open(t)
  t.match(await reply('Hello'), {
    status: 422,
    body: { errors: { phone: [/^No conversation with this number is open. It opens/] } },
  })
  await receive({ timestamp: minutesAgo(25 * 60) })
  const end = new Date((Number(minutesAgo(25 * 60)) + 86_400) * 1000).toISOString()
  const closed = await reply('Hello')
  t.match(closed.body.errors.phone[0], `The last one was open until ${end}.`)
  t.notMatch(closed.body.errors.phone[0], 'hold_until_open')
  await receive({ text: { body: 'stop' } })
  t.match((await reply('Hello')).body.errors, { phone: [/asked for no more messages/] })
  t.match((await reply(' ')).body.errors, { text: ['The text field is required.'] })
  t.match((await reply('"'.repeat(4097))).body.errors, { text: [/4096 characters/] })
  t.match((await reply('a\ud800')).body.errors, { text: [/must not contain/] })
  t.match((await reply('Hello', {}, 'nobody')).body.errors, { phone: [/must be a phone number/] })
  t.match((await call('POST', `${conversation}/reply`, { text: 'x', channel: '5' })).body.errors, {
    channel: [/invalid/],
  })
  t.equal((await call('POST', `${conversation}/reply`, { text: 'x', template: 'y' })).status, 422)
})

t.test('an opt-out, a closed conversation and a paused channel stop a queued reply', async t => {
  const { control, heard, reply, statusOf, rows, queue, texts, texted } = await open(t)
  const set = (text: string) => rows(text)
  control.inbound({ from: customer, text: 'Hello?' })
  await heard()
  await set(`update channels set state = 'paused'`)
  const { id } = (await reply('Hello!')).body.data
  await new Promise(resolve => setTimeout(resolve, 300))
  t.equal((await statusOf(id)).status, 'queued', 'a paused channel sends nothing')
  await set(`update channels set state = 'active'`)
  queue.wake()
  await texted(1)

  await set(`update channels set state = 'paused'`)
  const closing = (await reply('Too late')).body.data
  await set(`update conversations set last_inbound_at = now() - interval '25 hours'`)
  await set(`update channels set state = 'active'`)
  queue.wake()
  await until('the reply failed', async () => (await statusOf(closing.id)).status === 'failed')

  control.inbound({ from: customer, text: 'Hello again' })
  await heard()
  await set(`update channels set state = 'paused'`)
  const leaving = (await reply('Still there?')).body.data
  control.inbound({ from: customer, text: 'Stop' })
  await heard()
  await set(`update channels set state = 'active'`)
  queue.wake()
  await until('the reply is cancelled', async () => (await statusOf(leaving.id)).status === 'cancelled')
  t.same(texts(), ['Hello!'])
})

t.test('two companies and two numbers keep their conversations apart', async t => {
  const { pool, receive, addNumber, list, thread, reply, rows } = await open(t)
  await addTenant(pool, 'rival', '200', {})
  await addNumber('rival', '200')
  await addNumber('demo', '101')
  await receive({ text: { body: 'to the first' }, timestamp: minutesAgo(3) })
  await receive({ text: { body: 'to the second' }, timestamp: minutesAgo(2) }, '101', 'second')
  await receive({ text: { body: 'to the rival' }, timestamp: minutesAgo(1) }, '200', 'second')
  t.match((await list()).data, [
    { channel: '101', last_message: { text: 'to the second' } },
    { channel: phoneNumberId, last_message: { text: 'to the first' } },
  ])
  t.equal((await list()).data.length, 2)
  t.match((await list('?channel=101')).data, [{ channel: '101' }])
  t.match(await thread(), { data: [{ text: 'to the second' }], conversation: { channel: '101' } })
  t.match(await thread(`?channel=${phoneNumberId}`), { data: [{ text: 'to the first' }] })
  t.equal((await reply('Hello')).status, 202)
  t.match(await rows('select tenant_id, phone_number_id from messages'), [
    { tenant_id: 'demo', phone_number_id: '101' },
  ])
})

t.test('the timeline of a parcel shows its customer’s messages since it was booked', async t => {
  const { receive, orders, call, deliver, rows } = await open(t)
  const from = '94770000999'
  await receive({ text: { body: 'Before' }, timestamp: minutesAgo(90) })
  await receive({ text: { body: 'To whom it may concern' }, timestamp: minutesAgo(3), from: '94770000555' })
  await receive({ text: { body: 'Please call' }, timestamp: minutesAgo(2) })
  await deliver(orderEvent('1', { waybill_number: waybill, customer_phone: from }))
  await receive({ text: { body: 'Wrong number' }, timestamp: minutesAgo(1), from })
  const order = orders.known.get(waybill)
  if (order) orders.known.set(waybill, { ...order, created_at: new Date(Number(minutesAgo(60)) * 1000) } as never)
  const { timeline } = (await call('GET', `/api/timeline/${waybill}`)).body.data
  const inbounds = timeline.filter(({ kind }: { kind: string }) => kind === 'inbound')
  t.match(inbounds, [
    { text: 'Wrong number', phone: from, channel: phoneNumberId },
    { text: 'Please call', phone: customer },
  ])
  t.equal(inbounds.length, 2)
  t.equal((await rows('select 1 from messages')).length, 1)
})

t.test('deletes messages after 90 days, and a reply from before a restore becomes unknown', async t => {
  const { pool, receive, list, reply, statusOf, rows } = await open(t)
  await receive({})
  await rows(`update channels set state = 'paused'`)
  const { id } = (await reply('Hello')).body.data
  await markRestored(pool, new Date(Date.now() + 1000), false)
  t.equal((await statusOf(id)).status, 'unknown')
  await receive({ timestamp: minutesAgo(91 * 1440), from: '94770000999' })
  await createNotifierHousekeeping(pool, pino({ level: 'silent' })).clean()
  t.same(
    (await list()).data.map(({ phone }: { phone: string }) => phone),
    [customer],
  )
})
