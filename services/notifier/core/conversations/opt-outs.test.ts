import { inTenant } from '@courier/shared/postgres/database.ts'
import { pino } from 'pino'
import t from 'tap'
import { createNotifierHousekeeping } from '../../housekeeping.ts'
import { phoneNumberId, until } from '../../test/fixture.ts'
import { orderEvent } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'
import { giveRules } from '../../test/rules-of-demo.ts'
import { envelope, inbound, postWebhook, status } from '../../test/webhooks-fixture.ts'
import type { Tx } from '../database/tables.ts'
import { resendMessage } from '../messages/change.ts'

const wabaId = '102290129340398'
const secrets = { access_token: 'demo-access-token', app_secret: 'an-app-secret', verify_token: 'a-verify-token' }
/** Starts the application with a synced catalogue, whose order_created is a marketing template. */
const { call, deliver, app, rows, pool, queue, control } = await build(t, undefined, undefined, { wabaId })
await call('PUT', `/api/channels/${phoneNumberId}`, secrets)
await call('POST', '/api/templates/sync')
await rows(`update templates set category = 'MARKETING' where name = 'order_created'`)
queue.start()

const post = async (value: Record<string, unknown>, field = 'messages') => {
  const body = envelope(value, phoneNumberId)
  for (const { changes } of body.entry) for (const change of changes) change.field = field
  t.equal((await postWebhook(app, body, 'an-app-secret')).statusCode, 200)
}

let people = 0

/** Creates a person, about whom the audit has no entries yet. */
const meet = async () => {
  const phone = `9477000${String(++people).padStart(4, '0')}`
  const place = `/api/conversations/${phone}`
  const [last] = await rows('select coalesce(max(audit_id), 0) as id from audit')
  const prefer = (value: string, timestamp: number, category = 'marketing_messages') =>
    post({ user_preferences: [{ wa_id: phone, category, value, timestamp }] }, 'user_preferences')
  const state = async () => (await call('GET', place)).body.data
  const send = (name: 'order_created' | 'order_delivered', more: object = {}) => {
    const texts = name === 'order_created' ? ['Nimali', 'Lanka Shoes', '4500'] : ['Nimali', 'DM00000001']
    const parameters = (given: string[]) => given.map(text => ({ type: 'text', text }))
    const header = { type: 'header', parameters: parameters(['DM00000001']) }
    const components = [...(name === 'order_created' ? [header] : []), { type: 'body', parameters: parameters(texts) }]
    const template = { name, language: { code: 'en_US' }, components }
    return call('POST', '/api/messages', { to: phone, template, ...more })
  }
  const entries = () =>
    rows(
      `select actor_kind, actor, action, object_id from audit
       where audit_id > $1 and action like 'conversation.%' order by audit_id`,
      [last.id],
    )
  const statuses = async () =>
    (await rows('select status from messages where recipient = $1 order by message_id', [phone])).map(row => row.status)
  return { phone, place, prefer, state, send, entries, statuses }
}

const now = Math.floor(Date.now() / 1000) - 100

t.test('housekeeping keeps the marketing preference of a person who never wrote', async t => {
  const { prefer, state, send } = await meet()
  await prefer('stop', now)
  await createNotifierHousekeeping(pool, pino({ level: 'silent' })).clean()
  t.match(await state(), { marketing_opted_out: true })
  t.equal((await send('order_created')).status, 422)
  await prefer('resume', now + 2)
  await createNotifierHousekeeping(pool, pino({ level: 'silent' })).clean()
  await prefer('stop', now + 1)
  t.match(await state(), { marketing_opted_out: false }, 'a late webhook changes nothing')
})

t.test('the platform’s marketing preference stops and resumes marketing messages alone, once each', async t => {
  const { phone, prefer, state, send, entries } = await meet()
  for (let times = 0; times < 3; times++) await prefer('stop', now)
  t.match(await state(), { open: false, opted_out: false, marketing_opted_out: true })
  t.match((await send('order_created')).body.errors, { to: [/^This person asked for no marketing messages on 20/] })
  t.equal((await send('order_delivered')).status, 202)
  await prefer('resume', now - 1)
  t.equal((await state()).marketing_opted_out, true, 'an older preference changes nothing')
  await prefer('resume', now + 1)
  await prefer('resume', now + 1)
  t.match(await state(), { opted_out: false, marketing_opted_out: false })
  t.equal((await send('order_created')).status, 202)
  for (const [value, category] of [['pause'], ['stop', 'all_messages']] as const) await prefer(value, now + 2, category)
  const by = { actor_kind: 'platform', actor: 'user_preferences' }
  const ids = (await rows('select opt_out_id from opt_outs where recipient = $1 order by 1', [phone])).map(
    row => row.opt_out_id,
  )
  t.strictSame(await entries(), [
    { ...by, action: 'conversation.opted_out', object_id: ids[0] },
    { ...by, action: 'conversation.opted_in', object_id: ids[1] },
    { ...by, action: 'conversation.opted_in', object_id: ids[2] },
  ])
})

t.test('error 131050, in a response or a status, opts out of marketing messages', async t => {
  const { phone, place, state, send, statuses, entries } = await meet()
  const trouble = { kind: 'error', code: 131050 } as const
  control.script({ call: 'messages', times: 1, recipient: phone, trouble })
  await send('order_created')
  await until('the message failed', async () => `${await statuses()}` === 'failed')
  await send('order_delivered')
  await until('the other message is sent', async () => `${await statuses()}` === 'failed,accepted')
  t.match(await state(), { opted_out: false, marketing_opted_out: true, opt_outs: [{ by: 'platform: error 131050' }] })
  await call('POST', `${place}/opt-in`, { scope: 'marketing', reason: 'Asked for offers.' })
  t.equal((await state()).marketing_opted_out, false)
  await rows(`update conversations set marketing_in_at = now() - interval '1 hour', marketing_out_at = null`)
  const recipient_id = phone
  const error = { code: 131050, title: 'Stopped' }
  await post({
    statuses: [status({ recipient_id, status: 'failed', errors: [error] }), status({ recipient_id, errors: [error] })],
  })
  t.match(await state(), { marketing_opted_out: true })
  t.equal((await entries()).length, 3)
})

t.test('cancels a marketing message that waits, and sends any other', async t => {
  const { prefer, send, statuses } = await meet()
  await rows(`update channels set state = 'paused'`)
  await send('order_created')
  await send('order_delivered')
  await prefer('stop', now)
  await rows(`update channels set state = 'active'`)
  await until('both are done', async () => `${await statuses()}` === 'cancelled,accepted')
  t.match(await rows(`select detail from message_events where status = 'cancelled'`), [{ detail: /no marketing/ }])
})

t.test('"no thanks" in Sinhala and Tamil stops marketing messages alone, until START', async t => {
  for (const body of ['එපා', 'வேண்டாம்']) {
    const { phone: from, state, send } = await meet()
    await post({ messages: [inbound({ from, text: { body }, timestamp: String(now) })] })
    t.match(await state(), { opted_out: false, marketing_opted_out: true })
    t.equal((await send('order_created')).status, 422)
    t.equal((await send('order_delivered')).status, 202, 'news of the parcel is sent')
    await post({ messages: [inbound({ from, text: { body: 'START' }, timestamp: String(now + 1) })] })
    t.match(await state(), { opted_out: false, marketing_opted_out: false })
  }
})

t.test('words, sentences and buttons opt out, and the audit does not name the person', async t => {
  const { phone: from, state, entries } = await meet()
  const button = { text: 'No, thanks', payload: 'STOP' }
  const row = { type: 'list_reply', list_reply: { id: 'x', title: 'Stop messages' } }
  const messages = [
    { text: { body: 'Please stop!' } },
    { text: { body: 'START.' } },
    { type: 'button', text: undefined, button },
    { text: { body: 'hello' } },
    { text: { body: 'தொடங்கு' } },
    { type: 'interactive', text: undefined, interactive: row },
    { text: { body: 'do not stop' } },
  ]
  for (const [n, message] of messages.entries()) {
    await post({ messages: [inbound({ from, ...message, timestamp: String(now + n) })] })
    t.equal((await state()).opted_out, [true, false, true, true, false, true, true][n], JSON.stringify(message))
  }
  const kept = await entries()
  t.strictSame(
    kept.map(({ actor, action }) => `${actor} ${action}`),
    [
      'message conversation.opted_out',
      'message conversation.opted_in',
      'button conversation.opted_out',
      'message conversation.opted_in',
      'button conversation.opted_out',
    ],
  )
  t.notMatch(JSON.stringify(kept), /9477000/)
})

t.test('staff record an opt-out and an opt-in for all numbers, with the reason', async t => {
  const { place, state, send, entries } = await meet()
  await rows(`insert into channels (tenant_id, phone_number_id, name, plan, is_default, verify_token_hash, proven_at,
    rate)
    values ('demo', '200', 'Second', 'paid', false, '', now(), 80)`)
  const recorded = await call('POST', `${place}/opt-out`, { reason: 'By letter.' })
  t.match(recorded.body.data, { open: false, last_inbound_at: null, opted_out: true, marketing_opted_out: true })
  t.match(recorded.body.data.opt_outs, [{ change: 'out', scope: 'all', by: 'staff: Ruwan', reason: 'By letter.' }])
  t.equal((await call('GET', `${place}?channel=200`)).body.data.opted_out, true)
  t.equal((await send('order_delivered')).status, 422)
  t.equal((await call('POST', `${place}/opt-in`, { reason: 'By phone.', channel: '200' })).body.data.opted_out, false)
  t.equal((await state()).opted_out, true)
  await call('POST', `${place}/opt-in`, { reason: 'By phone.' })
  t.equal((await send('order_delivered')).status, 202)
  t.strictSame(
    (await entries()).map(({ actor, action }) => `${actor} ${action}`),
    ['out', 'out', 'in', 'in', 'in'].map(change => `Ruwan conversation.opted_${change}`),
  )
  const wrong: [body: unknown, path: string][] = [
    [{}, 'reason'],
    [{ reason: ' ' }, 'reason'],
    [{ reason: 'a\u0000' }, 'reason'],
    [{ reason: 'x', scope: 'some' }, 'scope'],
    [{ reason: 'x', channel: '999' }, 'channel'],
    [{ reason: 'x', until: 'x' }, 'until'],
  ]
  for (const [body, path] of wrong) {
    const refused = await call('POST', `${place}/opt-out`, body)
    t.strictSame([refused.status, Object.keys(refused.body.errors)], [422, [path]])
  }
  await rows(`delete from channels where phone_number_id = '200'`)
  t.equal((await call('POST', '/api/conversations/nobody/opt-out', { reason: 'x' })).status, 422)
})

t.test('a spelling of a number that staff use shows the opt-outs of the same person', async t => {
  await post({ messages: [inbound({ from: '5511981234567', text: { body: 'STOP' }, timestamp: String(now) })] })
  for (const phone of ['5511981234567', '551181234567'])
    t.match((await call('GET', `/api/conversations/${phone}`)).body.data, {
      ...{ opted_out: true, opt_outs: [{ change: 'out', by: 'customer: message' }] },
    })
})

t.test('after STOP, held messages wait for an opt-in, even one by staff; exempt ones do not', async t => {
  const { phone: from, place, send, statuses } = await meet()
  await rows(`update channels set plan = 'free'`)
  t.teardown(() => rows(`update channels set plan = 'paid'`))
  for (const _ of [1, 2]) t.equal((await send('order_delivered', { hold_until_open: true })).body.data.status, 'held')
  await rows(
    `update messages set is_exempt = true
    where message_id = (select max(message_id) from messages where recipient = $1)`,
    [from],
  )
  await post({ messages: [inbound({ from, text: { body: 'STOP' } })] })
  await until('the exempt message is sent', async () => (await statuses()).join() === 'held,accepted', 5)
  await call('POST', `${place}/opt-in`, { reason: 'By phone.' })
  await until('the other message is sent', async () => (await statuses()).join() === 'accepted,accepted', 5)
})

t.test('a tenant may exempt utility messages about a parcel under way, and no others', async t => {
  const { phone: customer_phone, place } = await meet()
  await giveRules(pool, [
    { on: 'order.created', template: 'order_created', language: 'en_US', header: ['a'], body: ['a', 'b', 'c'] },
    { on: 'order.status_changed', template: 'order_delivered', language: 'en_US', body: ['a', 'b'] },
  ])
  await call('POST', `${place}/opt-out`, { reason: 'By letter.' })
  const statusAfter = async (id: string, type: 'order.created' | 'order.status_changed', is_final: boolean) => {
    await deliver(orderEvent(id, { waybill_number: id, customer_phone, is_final }, type))
    const [message] = await rows('select status from messages where waybill_number = $1', [id])
    return message.status
  }
  t.equal(await statusAfter('not-chosen', 'order.status_changed', false), 'failed')
  await inTenant(pool, 'demo', (tx: Tx) =>
    tx.updateTable('tenants').set({ opt_out_exempt: 'parcel_under_way' }).where('tenant_id', '=', 'demo').execute(),
  )
  t.equal(await statusAfter('marketing', 'order.created', false), 'failed')
  t.equal(await statusAfter('final', 'order.status_changed', true), 'failed')
  t.not(await statusAfter('under-way', 'order.status_changed', false), 'failed')
  const isSent = async (id: string) =>
    (await rows(`select 1 from messages where waybill_number = $1 and status = 'accepted'`, [id])).length === 1
  await until('the message is accepted', () => isSent('under-way'))
  await rows(`update channels set plan = 'free'`)
  t.equal(await statusAfter('closed', 'order.status_changed', false), 'failed', 'no conversation is open')
  await rows(`update channels set plan = 'paid'`)
  const [{ message_id }] = await rows(`select message_id from messages where waybill_number = 'closed'`)
  await inTenant(pool, 'demo', (tx: Tx) => resendMessage(tx, 'demo', message_id))
  await until('the message is accepted when staff resend it', () => isSent('closed'), 5)
})
