import { pollWorker } from '@courier/shared/poll-worker.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { pino } from 'pino'
import t from 'tap'
import type { Tx } from '../../core/database/tables.ts'
import { until } from '../../test/fixture.ts'
import { orderEvent } from '../../test/orders-stand-in.ts'
import { callMe, cancel, confirm, customer, prepareTenant, waybill } from '../../test/replies-fixture.ts'
import { deliverActions } from './deliver-actions.ts'
import { insertPresses } from './queries.ts'

t.test('a button acts once, however often it is pressed, and the customer gets its outcome as a text', async t => {
  const { orders, control, offer, settled, texted, texts, heard, counted, call, log } = await prepareTenant(t)
  const message_id = await offer()
  control.press({ message_id, index: confirm, copies: 3 })
  control.press({ message_id, index: confirm })
  const [action] = await settled(1)
  await texted(1)
  await heard()
  t.same(texts(), ['Thank you Nimali Perera.\nSee you tomorrow.'])
  t.equal(orders.acted.length, 1)
  t.match(orders.acted[0], {
    id: action.action_id,
    waybill_number: waybill,
    action: 'confirm_order',
    recipient: customer,
  })
  t.match(action.action_id, /^msg_[0-9a-z]{25} 0$/)
  t.match(action, { outcome: 'done', detail: null, address: null })
  t.equal(await counted('webhook_facts_total{kind="pressed"}'), 1)
  t.equal(await counted('webhook_facts_total{kind="press_repeated"}'), 3)
  t.equal(await counted('customer_actions_total{outcome="done"}'), 1)
  t.equal(await counted('customer_actions_waiting'), 0)

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

t.test('an order that does not allow an action refuses it, and staff decide on requests', async t => {
  const { orders, control, offer, settled, texted, texts, deliver } = await prepareTenant(t)
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

t.test('a reply leaves at once, even outside the tenant’s hours; a decision keeps to them', async t => {
  const { pool, tenant, control, offer, texted, texts, deliver, rows } = await prepareTenant(t)
  const message_id = await offer()
  const clock = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16)
  await inTenant(pool, tenant, (tx: Tx) =>
    tx
      .updateTable('tenants')
      .set({ time_zone: 'UTC', send_between: [clock(2), clock(3)] })
      .execute(),
  )
  control.press({ message_id, index: confirm })
  await texted(1)
  await deliver(orderEvent('decided', { note: 'x' }, 'call_me.declined'))
  const [decided] = await rows(`select send_at from messages where rule_event = 'call_me.declined'`)
  t.ok(decided.send_at > new Date())
  t.equal(texts().length, 1)
})

/** Stores presses of the customer on a number, one action for each waybill. */
const insertActions = (
  { rows, tenant }: Pick<Awaited<ReturnType<typeof prepareTenant>>, 'rows' | 'tenant'>,
  waybills: string[],
  number = '1',
) =>
  rows(
    `insert into customer_actions (tenant_id, action_id, message_id, phone_number_id, recipient, waybill_number, action,
       inbound_id, happened_at)
     select $3, 'm ' || waybill, 'm', $2, '94770000101', waybill, 'call_me', 'i', now()
       from unnest($1::text[]) waybill`,
    [waybills, number, tenant],
  )

t.test('replies and decisions leave from the number on which the button was pressed', async t => {
  const { orders, rows, tenant, phoneNumberId, settled, deliver } = await prepareTenant(t)
  orders.decide.outcomeOf = () => 'requested'
  await rows(
    `insert into channels (tenant_id, phone_number_id, name, plan, is_default, verify_token_hash, rate)
     values ($1, '999', 'Second', 'paid', false, '\\x00', 80)`,
    [tenant],
  )
  await insertActions({ rows, tenant }, ['DM2'], '999')
  await settled(1)
  await deliver(orderEvent('decided', { note: 'x', waybill_number: 'DM2' }, 'call_me.declined'))
  await deliver(orderEvent('other', { note: 'x' }, 'call_me.declined'))
  const sent = await rows('select rule_event, phone_number_id from messages order by message_id')
  t.same(
    sent.map(({ rule_event, phone_number_id }) => [rule_event, phone_number_id]),
    [
      ['call_me.requested', '999'],
      ['call_me.declined', '999'],
      ['call_me.declined', phoneNumberId],
    ],
  )
})

t.test(
  'a decision leaves from the number of the press that made the request, not of a later one that was refused',
  async t => {
    const { rows, tenant, deliver } = await prepareTenant(t)
    await rows(
      `insert into channels (tenant_id, phone_number_id, name, plan, is_default, verify_token_hash, rate)
     values ($1, '999', 'Second', 'paid', false, '\\x00', 80),
       ($1, '998', 'Third', 'paid', false, '\\x00', 80)`,
      [tenant],
    )
    for (const [number, outcome] of [
      ['999', 'requested'],
      ['998', 'refused'],
    ])
      await rows(
        `insert into customer_actions (tenant_id, action_id, message_id, phone_number_id, recipient, waybill_number,
         action, inbound_id, happened_at, outcome)
       values ($3, $1, 'm', $1, '94770000101', 'DM2', 'call_me', 'i', now(), $2)`,
        [number, outcome, tenant],
      )
    await deliver(orderEvent('decided', { note: 'x', waybill_number: 'DM2' }, 'call_me.declined'))
    t.match(await rows('select phone_number_id from messages'), [{ phone_number_id: '999' }])
  },
)

t.test('a repeated press does not wait while the outcome is being stored', async t => {
  const { control, offer, settled, heard, pool, tenant, counted } = await prepareTenant(t)
  const message_id = await offer()
  control.press({ message_id, index: confirm })
  await settled(1)
  await inTenant(pool, tenant, async (tx: Tx) => {
    await tx.client.query('update customer_actions set detail = null')
    control.press({ message_id, index: confirm })
    await heard()
  })
  t.equal(await counted('webhook_facts_total{kind="press_repeated"}'), 1)
})

t.test('replies to presses from before a restore become unknown, and are not sent', async t => {
  const { orders, pool, tenant, control, offer, settled, rows, texts } = await prepareTenant(t)
  orders.decide.loses = true
  control.press({ message_id: await offer(), index: confirm })
  await until('the action was tried', async () => orders.acted.length > 0)
  const in_doubt_before = new Date()
  await inTenant(pool, tenant, (tx: Tx) =>
    tx.updateTable('tenants').set({ in_doubt_before }).where('tenant_id', '=', tenant).execute(),
  )
  orders.decide.loses = false
  await settled(1)
  t.match(await rows(`select status from messages where rule_event = 'confirm_order.done'`), [{ status: 'unknown' }])
  t.same(texts(), [])
})

t.test('presses that arrive together act in the order of their times', async t => {
  const { pool, tenant, phoneNumberId, actions, stored } = await prepareTenant(t)
  await actions?.stop()
  const person = { tenant, phoneNumberId, recipient: customer }
  const press = (index: number, seconds: number) => ({
    ...person,
    ...{ messageId: 'm', index, action: `a${index}`, waybill },
    at: new Date(Date.UTC(2026, 1, 1, 0, 0, seconds)),
    inboundId: `i${index}`,
  })
  const presses = [press(2, 9), press(0, 5), press(1, 3), press(0, 7), press(3, 3)]
  t.equal(await inTenant(pool, tenant, (tx: Tx) => insertPresses(tx, presses)), 4)
  t.same(
    (await stored()).map(({ action, happened_at }) => [action, happened_at.getUTCSeconds()]),
    [
      ['a1', 3],
      ['a3', 3],
      ['a0', 5],
      ['a2', 9],
    ],
  )
})

t.test('an action that fails at orders, or an unknown tenant, does not block others', async t => {
  const { orders, actions, pool, rows, tenant, stored } = await prepareTenant(t)
  await actions?.stop()
  await insertActions({ rows, tenant }, ['DM1', 'DM2', 'DM3'])
  orders.decide.statusOf = of => (of.some(({ waybill_number }) => waybill_number === 'DM2') ? 500 : 200)
  const logger = pino({ level: 'silent' })
  const options = { pool, logger, orders: orders.client, onQueued: () => {}, onOutcome: () => {} }
  t.equal(await deliverActions(options), true)
  t.same(
    (await stored()).map(({ outcome }) => outcome),
    ['done', null, 'done'],
  )
  t.equal(orders.acted.length, 6, 'the batch, then each action by itself')
  await rows('update customer_actions set due_at = now()')
  t.equal(await deliverActions(options), false, 'no action was stored')
  await rows('update customer_actions set due_at = now()')
  orders.decide.statusOf = () => 404
  t.equal(await deliverActions(options), true)
  t.equal(await deliverActions(options), false, 'the action is postponed')
})

t.test('while orders is unavailable actions wait, in order, and are delivered afterwards', async t => {
  const { orders, control, offer, settled, heard, rows, counted } = await prepareTenant(t)
  orders.decide.loses = true
  const message_id = await offer()
  control.press({ message_id, index: confirm })
  await until('the action was tried', async () => orders.acted.length > 0)
  control.press({ message_id, index: cancel })
  await heard()
  t.equal(await counted('customer_actions_waiting'), 2)
  t.notOk(orders.acted.some(({ action }) => action === 'cancel_order'))
  orders.decide.loses = false
  orders.state.isBroken = true
  await until('orders responds with 500', async () => orders.acted.length > 1)
  orders.state.isBroken = false
  const settledRows = await settled(2)
  t.same(
    settledRows.map(({ outcome }) => outcome),
    ['done', 'done'],
  )
  t.equal(orders.acted.at(-1)?.action, 'cancel_order')
  t.equal(new Set(orders.acted.map(({ id }) => id)).size, 2)
  await rows(
    `update customer_actions set outcome = null, address = 'x', created_at = now() - interval '73 hours',
      due_at = now()`,
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

t.test('sends a text only while the conversation is open', async t => {
  const { deliver, rows, control, heard, texted } = await prepareTenant(t)
  await deliver(orderEvent('a', { note: 'x' }, 'call_me.declined'))
  const [closed] = await rows('select status, error_meaning from messages')
  t.match(closed, { status: 'failed', error_meaning: /^No conversation with this number is open/ })
  control.inbound({ from: customer, text: 'Hello' })
  await heard()
  await deliver(orderEvent('b', { note: 'y' }, 'call_me.declined'))
  await texted(1)
})

t.test('processes share the actions: each is delivered once, those of a waybill in order', async t => {
  const { orders, actions, pool, rows, tenant, settled } = await prepareTenant(t)
  await actions?.stop()
  await rows(
    `insert into customer_actions (tenant_id, action_id, message_id, phone_number_id, recipient, waybill_number, action,
      inbound_id, happened_at)
    select $1, 'm ' || n, 'm', '1', '1', case when n <= 40 then 'DM' || n else 'DM2' end, 'call_me', 'i', now()
    from generate_series(1, 50) n`,
    [tenant],
  )
  const logger = pino({ level: 'silent' })
  const options = { pool, logger, orders: orders.client, onQueued: () => {}, onOutcome: () => {} }
  const run = () => deliverActions(options)
  const others = [1, 2, 3].map(() => pollWorker({ name: 'actions.delivery', everySeconds: 1, logger, run }))
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
