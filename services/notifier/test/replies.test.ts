import { pino } from 'pino'
import t from 'tap'
import { ActionDelivery } from '../delivery/loop.ts'
import { until } from './fixture.ts'
import { orderEvent } from './orders-stand-in.ts'
import { callMe, cancel, changeAddress, confirm, customer, prepare, waybill } from './replies-fixture.ts'

t.test('a button acts once, however often it is pressed, and what becomes of it is a text to the customer', async t => {
  const { orders, control, offer, settled, texted, texts, heard, counted, call, log } = await prepare(t)
  const message_id = await offer()
  control.press({ message_id, index: confirm, copies: 3 })
  control.press({ message_id, index: confirm })
  const [action] = await settled(1)
  await texted(1)
  await heard()
  t.same(texts(), ['Thank you Nimali Perera.\nSee you tomorrow.'])
  t.equal(orders.acted.length, 1)
  t.match(orders.acted[0], { id: action.action_id, waybill_number: waybill, action: 'confirm_order' })
  t.match(action.action_id, /^msg_[0-9a-z]{25} 0$/)
  t.match(action, { outcome: 'done', detail: null, address: null })
  t.equal(await counted('webhook_facts_total{kind="pressed"}'), 1)
  t.equal(await counted('webhook_facts_total{kind="press_repeated"}'), 3)
  t.equal(await counted('customer_actions_total{outcome="done"}'), 1)
  t.equal(await counted('customer_actions_waiting'), 0)

  const { timeline } = (await call('GET', `/api/timeline/${waybill}`)).body.data
  t.match(
    timeline.filter(({ kind }: { kind: string }) => kind === 'action'),
    [{ actor: 'customer', action: 'confirm_order', outcome: 'done', message_id: action.message_id }],
  )
  const costs = (await call('GET', '/api/costs?group=template')).body.data
  t.match(
    costs.find(({ group }: { group: string | null }) => group === null),
    { messages: 1 },
    'the price of the text',
  )
  const { data } = (await call('GET', '/api/messages')).body
  t.match(data, [
    { template: null, text: 'Thank you Nimali Perera.\nSee you tomorrow.', to: customer, waybill_number: waybill },
    { template: { name: 'delivery_options' }, text: null },
  ])
  t.same(data[1].template.components[1], {
    ...{ type: 'button', sub_type: 'quick_reply', index: '0' },
    parameters: [{ type: 'payload', payload: 'confirm_order' }],
  })
  t.notMatch(log.join(''), /94770000101|Nimali/)
})

t.test('an order that does not allow it refuses, and staff decide on requests', async t => {
  const { orders, control, offer, settled, texted, texts, deliver } = await prepare(t)
  orders.decide.outcomeOf = ({ action }) => (action === 'call_me' ? 'requested' : 'refused')
  const message_id = await offer()
  control.press({ message_id, index: cancel })
  const [refused] = await settled(1)
  t.match(refused, { outcome: 'refused', detail: 'Not any more.' })
  await texted(1)
  control.press({ message_id, index: callMe })
  await texted(2)
  await deliver(orderEvent('decided', { note: 'no line there' }, 'call_me.declined'))
  await texted(3)
  t.same(texts(), ['It is DRAFT already.', 'We will call.', 'We cannot call: no line there'])
})

t.test('the text after a press of change_address is the address, once', async t => {
  const { orders, control, offer, settled, texted, heard, stored, rows } = await prepare(t)
  orders.decide.outcomeOf = ({ address }) => (address === undefined ? 'asked' : 'done')
  const message_id = await offer()
  control.inbound({ from: customer, text: 'Hello' })
  await heard()
  control.press({ message_id, index: changeAddress })
  await settled(1)
  await texted(1)
  control.inbound({ from: '94770000999', text: 'Somebody else' })
  control.press({ message_id, index: confirm })
  await settled(2)
  control.inbound({ from: customer, text: ' 12 Galle Road, Matara ' })
  await settled(3)
  control.inbound({ from: customer, text: 'Thanks' })
  await heard()
  t.same(
    orders.acted.map(({ action, address }) => address ?? action),
    ['change_address', 'confirm_order', '12 Galle Road, Matara'],
  )
  const [press, , written] = await stored()
  t.equal(written.action_id, `${press.action_id} address`)
  t.equal(written.address, null, 'deleted once orders has it')
  t.notMatch(JSON.stringify(await rows('select * from events')), /Galle/)
})

t.test('a place is an address too, and one that is too long is refused', async t => {
  const { orders, control, offer, settled, texted, texts } = await prepare(t)
  orders.decide.outcomeOf = ({ address }) => (address === undefined ? 'asked' : 'done')
  control.press({ message_id: await offer(), index: changeAddress })
  await settled(1)
  const location = { latitude: 6.9, longitude: 79.85, name: 'Home', address: '1 Lake Road' }
  control.inbound({ from: customer, location })
  await settled(2)
  t.equal(orders.acted.at(-1)?.address, 'Home, 1 Lake Road (6.9, 79.85)')
  control.press({ message_id: await offer('DM2'), index: changeAddress })
  await settled(3)
  control.inbound({ from: customer, text: 'x'.repeat(501) })
  const refused = (await settled(4)).at(-1)
  t.match(refused, { outcome: 'refused', detail: 'The address has more than 500 characters.', waybill_number: 'DM2' })
  await texted(4)
  t.same(texts(), ['Where to?', 'The new address is noted.', 'Where to?', 'The address stays.'])
})

t.test('a keyword is no address, and neither is a text that comes an hour late', async t => {
  const { orders, control, offer, settled, stored, rows, heard } = await prepare(t)
  orders.decide.outcomeOf = () => 'asked'
  control.press({ message_id: await offer(), index: changeAddress })
  await settled(1)
  control.inbound({ from: customer, text: 'STOP' })
  await heard()
  t.equal((await stored()).length, 1)
  t.equal((await rows('select 1 from conversations where opted_out_at is not null')).length, 1)
  await rows(`update customer_actions set happened_at = happened_at - interval '61 minutes'`)
  control.inbound({ from: customer, text: '12 Galle Road' })
  await heard()
  t.equal((await stored()).length, 1)
})

t.test('while orders is away actions wait, in order, and are delivered afterwards', async t => {
  const { orders, control, offer, settled, heard, rows, counted } = await prepare(t)
  orders.decide.loses = true
  const message_id = await offer()
  control.press({ message_id, index: confirm })
  await until('it was tried', async () => orders.acted.length > 0)
  control.press({ message_id, index: cancel })
  await heard()
  t.equal(await counted('customer_actions_waiting'), 2)
  t.notOk(orders.acted.some(({ action }) => action === 'cancel_order'))
  orders.decide.loses = false
  orders.state.isBroken = true
  await until('a response of 500', async () => orders.acted.length > 1)
  orders.state.isBroken = false
  const settledRows = await settled(2)
  t.same(
    settledRows.map(({ outcome }) => outcome),
    ['done', 'done'],
  )
  t.equal(orders.acted.at(-1)?.action, 'cancel_order')
  t.equal(new Set(orders.acted.map(({ id }) => id)).size, 2)
  await rows(
    `update customer_actions set outcome = null, address = 'x', created_at = now() - interval '73 hours', due_at = now()`,
  )
  orders.state.isBroken = true
  t.same(
    (await settled(2)).map(({ outcome, address }) => [outcome, address]),
    [
      ['expired', null],
      ['expired', null],
    ],
  )
})

t.test('a text is sent while the conversation is open alone', async t => {
  const { deliver, rows, control, heard, texted } = await prepare(t)
  await deliver(orderEvent('a', { note: 'x' }, 'call_me.declined'))
  const [closed] = await rows('select status, error_meaning from messages')
  t.match(closed, { status: 'failed', error_meaning: /^No conversation with this number is open/ })
  control.inbound({ from: customer, text: 'Hello' })
  await heard()
  await deliver(orderEvent('b', { note: 'y' }, 'call_me.declined'))
  await texted(1)
})

t.test('processes share the actions: each is delivered once, those of a waybill in order', async t => {
  const { orders, actions, pool, rows, settled } = await prepare(t)
  await actions.stop()
  await rows(`insert into customer_actions (tenant_id, action_id, message_id, phone_number_id, recipient, waybill_number, action,
      inbound_id, happened_at)
    select 'demo', 'm ' || n, 'm', '1', '1', case when n <= 40 then 'DM' || n else 'DM2' end, 'call_me', 'i', now()
    from generate_series(1, 50) n`)
  const logger = pino({ level: 'silent' })
  const options = { pool, logger, orders: orders.client, onQueued: () => {}, onOutcome: () => {} }
  const others = [1, 2, 3].map(() => new ActionDelivery(options))
  for (const other of others) other.start()
  await settled(50)
  await Promise.all(others.map(other => other.stop()))
  t.equal(orders.acted.length, 50, 'each once')
  const ofOne = orders.acted
    .filter(({ waybill_number }) => waybill_number === 'DM2')
    .map(({ id }) => Number(id.slice(2)))
  t.same(
    ofOne,
    ofOne.toSorted((a, b) => a - b),
  )
})
