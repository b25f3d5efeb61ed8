import type { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import t from 'tap'
import { phoneNumberId, until } from '../../test/fixture.ts'
import { orderEvent, orderFacts, standIn } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'
import { giveRules } from '../../test/rules-of-demo.ts'
import type { OrdersClient } from '../orders-client/orders-client.ts'

const rule = { on: 'order.created', template: 'order_delivered', language: 'en_US' }
const cod = { ...rule, body: ['{{customer_name}}', '{{cod}} {{note}}'] }

const { client, known, state } = await standIn(t)
/** Runs between the reading of an order and its use. */
let onRead = async (): Promise<void> => {}
const reader: OrdersClient = {
  ...client,
  find: async (...given) => {
    const found = await client.find(...given)
    await onRead()
    return found
  },
}
const { call, deliver, rows, pool, queue, control } = await build(t, undefined, reader)
queue.start()

let orders = 0
const newWaybill = () => `E${++orders}`
const phoneOf = (waybill: string, first = '0770') => `${first}${waybill.slice(1).padStart(6, '0')}`

let events = 0
/** Replaces the order and delivers its event. */
const report = async (waybill_number: string, type: string, order: Partial<OrderSnapshot> = {}) => {
  const before = known.get(waybill_number) ?? orderFacts({ waybill_number, customer_phone: phoneOf(waybill_number) })
  known.set(waybill_number, { ...before, ...order })
  await deliver(orderEvent(`${waybill_number} ${++events}`, { ...before, ...order }, type))
}
const edit = (waybill: string, order: Partial<OrderSnapshot> = {}) => report(waybill, 'order.edited', order)

/** Pauses the channels, so that messages stay queued, or resumes them. */
const pause = (isPaused: boolean) => rows(`update channels set state = $1`, [isPaused ? 'paused' : 'active'])
const prepare = async (rules: unknown[] = [cod]): Promise<string> => {
  await rows(`update messages set status = 'cancelled' where status in ('queued', 'held')`)
  await giveRules(pool, rules)
  await pause(true)
  return newWaybill()
}
const messagesOf = (waybill: string) =>
  rows(
    `select message_id as id, recipient, status, superseded_by, created_at, send_at, due_at, expires_at,
      jsonb_path_query_array(template, '$.components[*].parameters[*].text') as texts
    from messages where waybill_number = $1 order by message_id`,
    [waybill],
  )
const timelineOf = async (waybill: string) =>
  (
    await rows(
      `select e.status, detail from message_events e join messages using (tenant_id, message_id)
      where waybill_number = $1 order by event_id`,
      [waybill],
    )
  ).map(({ status, detail }) => [status, detail])
const arrived = () => control.messages().map(({ to, rendered }) => [to, rendered.body])
const digits = (phone: string) => `94${phone.slice(1)}`
const made = 'made again: the order was edited'

t.test('a queued message gets the new phone, name and amount, and keeps its id, time and note', async t => {
  const waybill = await prepare()
  await report(waybill, 'order.created', { cod: 4500, note: 'by {{customer_name}}\0' })
  const [before] = await messagesOf(waybill)
  const phone = phoneOf(waybill, '0711')
  await edit(waybill, { customer_phone: phone, customer_name: 'Kamala', cod: 90, note: null, status_key: 'key_9' })
  const [after, ...more] = await messagesOf(waybill)
  t.same(more, [])
  t.same(after, { ...before, recipient: digits(phone), texts: ['Kamala', '90 by {{customer_name}}'] })
  t.same(await timelineOf(waybill), [
    ['queued', null],
    ['queued', made],
  ])
  await edit(waybill)
  t.equal((await timelineOf(waybill)).length, 2, 'an edit that does not affect the message leaves it alone')
  await pause(false)
  queue.wake()
  await until('the message is sent', async () => (await messagesOf(waybill))[0].status === 'accepted')
  t.match(
    arrived().filter(([to]) => to === digits(phone) || to === digits(phoneOf(waybill))),
    [[digits(phone), /Kamala.*90/s]],
  )
})

t.test('messages for later keep their time when an edit makes them again', async t => {
  const waybill = await prepare([{ ...cod, send_between: ['00:00', '00:01'] }])
  await call('POST', '/api/messages', {
    ...{ to: '0770999999', send_at: new Date(Date.now() + 3_600_000).toISOString(), waybill_number: waybill },
    template: { name: 'order_delivered', language: { code: 'en_US' }, components: [] },
  })
  await report(waybill, 'order.created')
  const before = await messagesOf(waybill)
  await edit(waybill, { customer_phone: phoneOf(waybill, '0711'), cod: 90 })
  const after = await messagesOf(waybill)
  t.same(
    after.map(({ recipient }) => recipient),
    ['94770999999', digits(phoneOf(waybill, '0711'))],
    'a number that staff gave stays',
  )
  for (const column of ['status', 'send_at', 'due_at', 'expires_at', 'created_at'])
    t.same(
      after.map(row => row[column]),
      before.map(row => row[column]),
      column,
    ) // prettier-ignore
})

t.test('a text held for the old person’s conversation moves to the new person’s', async t => {
  const waybill = await prepare([{ on: 'order.created', text: 'COD {{cod}}', hold_until_open: true }])
  await report(waybill, 'order.created')
  t.match(await messagesOf(waybill), [{ status: 'held' }])
  await edit(waybill, { cod: 91 })
  t.match(await messagesOf(waybill), [{ status: 'held', recipient: digits(phoneOf(waybill)) }])
  const phone = digits(phoneOf(waybill, '0711'))
  await edit(waybill, { customer_phone: `+${phone}` })
  await rows(
    `insert into conversations (tenant_id, phone_number_id, recipient, last_inbound_at) values ('demo', $1, $2, now())`,
    [phoneNumberId, phone],
  )
  control.inbound({ from: phone, text: 'Hello' })
  await pause(false)
  queue.wake()
  await until('the message is sent', async () => (await messagesOf(waybill))[0].status === 'accepted')
  t.match(arrived()[0], [phone, 'COD 91'])
})

t.test('texts that an edit releases for the new person leave in their order, however long they were held', async t => {
  const first = { on: 'order.created', text: 'First {{cod}}', hold_until_open: true }
  const waybill = await prepare([first, { ...first, on: 'key_1', text: 'Then {{cod}}' }])
  await report(waybill, 'order.created')
  await rows(
    `update messages set status_at = now() - interval '1 hour', due_at = due_at - interval '1 hour'
     where waybill_number = $1`,
    [waybill],
  )
  const phone = digits(phoneOf(waybill, '0711'))
  await rows(
    `insert into conversations (tenant_id, phone_number_id, recipient, last_inbound_at) values ('demo', $1, $2, now())`,
    [phoneNumberId, phone],
  )
  control.inbound({ from: phone, text: 'Hello' })
  control.script({ call: 'messages', times: 1, recipient: phone, trouble: { kind: 'error', code: 131016 } })
  await edit(waybill, { customer_phone: `+${phone}`, cod: 91 })
  await pause(false)
  queue.wake()
  const isSent = async () => (await messagesOf(waybill)).every(({ status }) => status === 'accepted')
  await until('both are sent', isSent, 30)
  t.same(
    arrived()
      .filter(([to]) => to === phone)
      .toReversed(),
    [
      [phone, 'First 91'],
      [phone, 'Then 91'],
    ],
  )
})

t.test('an edit sends nothing to a person who opted out; an invalid phone cancels the message', async t => {
  const waybill = await prepare()
  await report(waybill, 'order.created')
  const phone = phoneOf(waybill, '0711')
  await rows(
    `insert into conversations (tenant_id, phone_number_id, recipient, opted_out_at) values ('demo', $1, $2, now())`,
    [phoneNumberId, digits(phone)],
  )
  await edit(waybill, { customer_phone: phone })
  await pause(false)
  queue.wake()
  await until('the message is cancelled', async () => (await messagesOf(waybill))[0].status === 'cancelled')
  t.equal((await timelineOf(waybill)).at(-1)?.[1], 'the person asked for no more messages')

  const second = await prepare()
  await report(second, 'order.created')
  await edit(second, { customer_phone: 'call the office' })
  const detail = "the order was edited: the customer's phone is not a phone number"
  t.match(await messagesOf(second), [{ status: 'cancelled', superseded_by: detail }])
  t.same((await timelineOf(second)).at(-1), ['cancelled', detail])
})

t.test('a message in flight keeps its content, and the notifier never resends it on its own', async t => {
  const waybill = await prepare()
  await report(waybill, 'order.created', { cod: 4500 })
  await rows(`update messages set status = 'sending', due_at = now() + interval '1 minute' where waybill_number = $1`, [
    waybill,
  ])
  await edit(waybill)
  t.match(await messagesOf(waybill), [{ superseded_by: null }], 'nothing in the message has changed')
  await edit(waybill, { cod: 90 })
  t.match(await messagesOf(waybill), [{ status: 'sending', texts: [/./, '4500 -'] }])
  // The API has refused the message temporarily.
  await rows(`update messages set status = 'queued', due_at = now(), attempts = 1 where waybill_number = $1`, [waybill])
  await pause(false)
  queue.wake()
  await until('the message is cancelled', async () => (await messagesOf(waybill))[0].status === 'cancelled')
  t.same((await timelineOf(waybill)).at(-1), ['cancelled', 'the order was edited after it was sent'])
})

t.test('an edit updates the parts of staff’s messages that come from the order', async t => {
  const waybill = await prepare([])
  known.set(waybill, orderFacts({ waybill_number: waybill, customer_phone: phoneOf(waybill), cod: 4500 }))
  const saying = (text: string, more: object) => ({
    ...more,
    waybill_number: waybill,
    template: {
      ...{ name: 'order_delivered', language: { code: 'en_US' } },
      components: [{ type: 'body', parameters: ['Nimali', text].map(text => ({ type: 'text', text })) }],
    },
  })
  const messages = [saying('{{cod}}', {}), saying('Hello', {}), saying('{{cod}}', { to: '0770999998' })]
  t.equal((await call('POST', '/api/messages/bulk', { messages })).status, 202)
  await edit(waybill, { customer_phone: phoneOf(waybill, '0711'), cod: 90 })
  const rest = (await messagesOf(waybill)).map(({ recipient, texts }) => [recipient, texts[1]])
  t.same(
    rest.toSorted(),
    [
      ['94770999998', '90'],
      [digits(phoneOf(waybill, '0711')), '90'],
      [digits(phoneOf(waybill, '0711')), 'Hello'],
    ].toSorted(),
  )
})

t.test('a resend reads the order anew, and is refused if the order’s phone has changed', async t => {
  const waybill = await prepare()
  await report(waybill, 'order.created', { cod: 4500 })
  await rows(`update messages set status = 'failed' where waybill_number = $1`, [waybill])
  const [{ id }] = await messagesOf(waybill)
  const resend = () => call('POST', `/api/messages/${id}/resend`)
  await edit(waybill, { cod: 90 })
  t.match(await messagesOf(waybill), [{ status: 'failed', texts: [/./, '4500 -'] }])
  state.isBroken = true
  t.match(await resend(), { status: 503, body: { code: 'unavailable' } })
  state.isBroken = false
  t.match(await resend(), { status: 200, body: { data: { status: 'queued' } } })
  t.match(await messagesOf(waybill), [{ status: 'queued', texts: [/./, '90 -'] }])

  await rows(`update messages set status = 'failed' where waybill_number = $1`, [waybill])
  await edit(waybill, { customer_phone: phoneOf(waybill, '0711') })
  t.match(await resend(), { status: 422, body: { errors: { to: [/another phone number since: send a new message/] } } })
  t.match(await messagesOf(waybill), [{ status: 'failed', recipient: digits(phoneOf(waybill)) }])
})

t.test('an edit that arrives while a message is accepted or resent reaches it', async t => {
  const waybill = await prepare([])
  known.set(waybill, orderFacts({ waybill_number: waybill, customer_phone: phoneOf(waybill), cod: 4500 }))
  const editMeanwhile = (order: Partial<OrderSnapshot>) => {
    onRead = async () => {
      onRead = async () => {}
      await edit(waybill, order)
    }
  }
  const parameters = ['Nimali', '{{cod}}'].map(text => ({ type: 'text', text }))
  const template = { name: 'order_delivered', language: { code: 'en_US' }, components: [{ type: 'body', parameters }] }
  const phone = phoneOf(waybill, '0711')
  editMeanwhile({ customer_phone: phone, cod: 90 })
  t.equal((await call('POST', '/api/messages', { waybill_number: waybill, template })).status, 202)
  t.match(await messagesOf(waybill), [{ recipient: digits(phone), texts: [/./, '90'] }])

  await rows(`update messages set status = 'failed' where waybill_number = $1`, [waybill])
  const [{ id }] = await messagesOf(waybill)
  editMeanwhile({ cod: 80 })
  t.match(await call('POST', `/api/messages/${id}/resend`), { status: 503, body: { code: 'unavailable' } })
  t.equal((await call('POST', `/api/messages/${id}/resend`)).status, 200)
  t.match(await messagesOf(waybill), [{ status: 'queued', texts: [/./, '80'] }])
})

t.test('a resend to a number that staff gave is refused once an edit has replaced that number', async t => {
  const waybill = await prepare([])
  await edit(waybill)
  const [former, other] = [phoneOf(waybill), '0770999997']
  const send = async (to: string): Promise<string> => {
    const template = { name: 'order_delivered', language: { code: 'en_US' }, components: [] }
    return (await call('POST', '/api/messages', { to, waybill_number: waybill, template })).body.data.id
  }
  const ids = [await send(former), await send(other)]
  await rows(`update messages set status = 'failed' where waybill_number = $1`, [waybill])
  const order = known.get(waybill) as OrderSnapshot
  const edits = [
    { fields: ['customer_phone'], at: '', staff_name: null, reason: null, previous: { customer_phone: former } },
  ]
  known.set(waybill, Object.assign({ ...order, customer_phone: phoneOf(waybill, '0711') }, { edits }))
  const statuses = []
  for (const id of ids) statuses.push((await call('POST', `/api/messages/${id}/resend`)).status)
  t.same(statuses, [422, 200])
})

t.test('an edit cancels messages that an earlier version queued, since their source is unknown', async t => {
  const waybill = await prepare()
  await report(waybill, 'order.created')
  await rows(`update messages set source = null where waybill_number = $1`, [waybill])
  await edit(waybill, { cod: 90 })
  t.match(await messagesOf(waybill), [{ status: 'cancelled' }])
})
