import type { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import t from 'tap'
import { claimMessages } from '../../core/sending/claim.ts'
import { storeOutcomes } from '../../core/sending/outcomes.ts'
import { storeBlocked } from '../../core/sending/pre-send-check.ts'
import { sweep } from '../../core/sending/sweep.ts'
import { phoneNumberId, spawnWorker, until } from '../../test/fixture.ts'
import { orderEvent, orderFacts, standIn } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'
import { checkDemo, giveRules, perPerson } from '../../test/rules-of-demo.ts'
import { admitPerPerson } from './capability.ts'

const delivered = {
  on: 'key_13',
  template: 'order_delivered',
  language: 'en_US',
  body: ['Delivered', '{{waybill_number}}'],
}

const { client, known } = await standIn(t)
const built = await build(t, undefined, client)
const { call, deliver, rows, pool, control, send: sendOne } = built
const claiming = { room: 100, sendingSeconds: 30, recipientPauseSeconds: 0, admissions: [admitPerPerson] }

let people = 0
/** Returns a phone that no other test has. */
const newPhone = (): string => `+94771${String(++people).padStart(6, '0')}`
let parcels = 0
const newParcels = (count: number): string[] => Array.from({ length: count }, () => `P${++parcels}`)

let events = 0
const toEvent = (waybill_number: string, status_key: string, more: Partial<OrderSnapshot> = {}, type?: string) => {
  const order = { ...(known.get(waybill_number) ?? orderFacts({ waybill_number, cod: 0 })), status_key, ...more }
  known.set(waybill_number, order)
  return orderEvent(`event ${++events}`, order, type ?? 'order.status_changed')
}
const report = (waybill: string, status: string, more: Partial<OrderSnapshot> = {}, type?: string) =>
  deliver(toEvent(waybill, status, more, type))

/** Cancels what earlier tests left, and stores the rules. Returns a person. */
const prepare = async (...rules: unknown[]): Promise<string> => {
  await rows(`update messages set status = 'cancelled' where status in ('queued', 'held', 'sending', 'unknown')`)
  await giveRules(pool, rules.length > 0 ? rules : [perPerson])
  return newPhone()
}
/** Lets time pass for queued messages. */
const pass = (minutes: number) =>
  rows(
    `update messages set due_at = due_at - make_interval(mins => $1), send_at = send_at - make_interval(mins => $1)
     where status = 'queued'`,
    [minutes],
  )
const claim = () => claimMessages(pool, claiming)
/** Sends what is due, as the queue does. */
const send = async (): Promise<void> => {
  for (let isMore = true; isMore; ) {
    const { messages, blocked, now } = await claim()
    await storeBlocked(pool, blocked, now)
    await storeOutcomes(pool, await Promise.all(messages.map(sendOne)), 0)
    isMore = messages.length + blocked.length > 0
  }
}
/** Returns the texts that reached the person, oldest first. */
const arrived = (phone: string): string[] =>
  control
    .messages()
    .filter(({ to }) => to === phone.slice(1))
    .map(({ rendered }) => String(rendered.body).replace(/^Hello (.*), your parcel (.*) was delivered.*$/, '$1 $2'))
    .toReversed()
const idsOf = async (waybill: string): Promise<string[]> =>
  (await call('GET', `/api/messages?waybill_number=${waybill}`)).body.data.map(({ id }: { id: string }) => id)
const readMessages = async (waybill: string) => (await call('GET', `/api/messages?waybill_number=${waybill}`)).body.data
t.test('two parcels of a person make one message, which the list of each has, with one price', async t => {
  const phone = await prepare()
  const [first = '', second = ''] = newParcels(2)
  await report(first, 'key_12', { customer_phone: phone })
  const event = toEvent(second, 'key_12', { customer_phone: phone, cod: 70 })
  await pass(5)
  await deliver(event)
  await deliver(event)
  await send()
  t.same(arrived(phone), [], 'it waits for the end of the window of the first')
  t.match(await readMessages(first), [{ status: 'queued', timeline: [{ detail: /other parcels/ }] }])
  await pass(15)
  await send()
  t.same(arrived(phone), [`2 ${first}, ${second} 70`])
  const [id] = await idsOf(first)
  t.same(await idsOf(second), [id])
  t.same((await call('GET', `/api/messages?to=${encodeURIComponent(phone)}`)).body.data.length, 1)
  for (const waybill of [first, second]) {
    t.match(await readMessages(waybill), [{ waybill_numbers: [first, second], status: 'accepted' }])
  }
  await rows(
    `insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, is_free, country,
       template) select 'demo', message_id, provider_message_id, now(), 'utility', false, 'LK', 'order_delivered'
     from messages where message_id = $1`,
    [id],
  )
  t.match((await call('GET', '/api/costs')).body, { total: { messages: 1 } })
})

t.test('of three parcels, one that staff cancel in the window is not in the message', async t => {
  const phone = await prepare()
  const waybills = newParcels(3)
  for (const waybill of waybills) await report(waybill, 'key_12', { customer_phone: phone })
  const [id] = await idsOf(waybills[1] ?? '')
  t.equal((await call('POST', `/api/messages/${id}/cancel`)).status, 200)
  await pass(20)
  await send()
  t.same(arrived(phone), [`2 ${waybills[0]}, ${waybills[2]} 0`])
  t.match(await readMessages(waybills[1] ?? ''), [{ status: 'cancelled' }])
  for (const waybill of [waybills[0], waybills[2]]) {
    const [sent] = await idsOf(waybill ?? '')
    t.equal((await call('POST', `/api/messages/${sent}/cancel`)).status, 422)
  }
})

t.test('a parcel whose phone an edit changes in the window joins the other person’s message', async t => {
  const phone = await prepare()
  const other = newPhone()
  const [first = '', moved = '', third = ''] = newParcels(3)
  await report(first, 'key_12', { customer_phone: phone })
  await report(third, 'key_12', { customer_phone: other })
  await report(moved, 'key_12', { customer_phone: phone })
  await report(moved, 'key_12', { customer_phone: other, cod: 30 }, 'order.edited')
  await pass(20)
  await send()
  t.same(arrived(phone), [`1 ${first} 0`])
  t.same(arrived(other), [`2 ${third}, ${moved} 30`])
})

t.test(
  'a take-back, and a later event that supersedes, take their parcel out; without any nothing is sent',
  async t => {
    const phone = await prepare(perPerson, { ...delivered, supersedes: ['key_12'] })
    const [first = '', back = '', done = ''] = newParcels(3)
    for (const waybill of [first, back, done]) await report(waybill, 'key_12', { customer_phone: phone })
    await report(back, 'key_3', {}, 'take_back.accepted')
    await report(done, 'key_13')
    await send()
    t.same(arrived(phone), [`Delivered ${done}`], 'an event without a window leaves at once')
    await pass(20)
    await send()
    t.same(arrived(phone), [`Delivered ${done}`, `1 ${first} 0`])

    const [alone = ''] = newParcels(1)
    await report(alone, 'key_12', { customer_phone: phone })
    await report(alone, 'key_3', {}, 'take_back.accepted')
    await pass(20)
    await send()
    t.equal(arrived(phone).length, 2)
    t.match(await readMessages(alone), [{ status: 'cancelled' }])
  },
)

t.test('messages about a parcel keep their order: a later event ends the window, also in one request', async t => {
  const phone = await prepare(perPerson, { ...delivered, body: ['Then', '{{waybill_number}}'] })
  const [first = '', second = '', third = ''] = newParcels(3)
  await report(first, 'key_12', { customer_phone: phone })
  await report(second, 'key_12', { customer_phone: phone })
  await report(first, 'key_13')
  await send()
  await rows(`update messages set due_at = now() where status = 'queued' and rule_event = 'key_13'`)
  await send()
  t.same(arrived(phone), [`2 ${first}, ${second} 0`, `Then ${first}`])
  await deliver(toEvent(third, 'key_12', { customer_phone: phone }), toEvent(third, 'key_13'))
  await send()
  await rows(`update messages set due_at = now() where status = 'queued' and rule_event = 'key_13'`)
  await send()
  t.same(arrived(phone).slice(2), [`1 ${third} 0`, `Then ${third}`])
})

t.test('a joined parcel’s later message waits until the joint message has left', async t => {
  const phone = await prepare(perPerson, delivered)
  const [first = '', second = ''] = newParcels(2)
  for (const waybill of [first, second]) await report(waybill, 'key_12', { customer_phone: phone })
  await pass(20)
  const { messages } = await claim()
  t.equal(messages.length, 1)
  await report(second, 'key_13')
  t.same((await claim()).messages, [], 'the joint message is being sent')
  await storeOutcomes(pool, await Promise.all(messages.map(sendOne)), 0)
  await rows(`update messages set due_at = now() where status = 'queued'`)
  await send()
  t.same(arrived(phone), [`2 ${first}, ${second} 0`, `Delivered ${second}`])
})

t.test('after a refusal each parcel waits on its own, with the edits that come meanwhile', async t => {
  const phone = await prepare()
  const other = newPhone()
  const [first = '', moved = '', third = ''] = newParcels(3)
  for (const waybill of [first, moved, third]) await report(waybill, 'key_12', { customer_phone: phone })
  control.script({ call: 'messages', times: 1, trouble: { kind: 'error', code: 131016 } })
  await pass(20)
  await send()
  t.same(arrived(phone), [])
  t.equal((await rows(`select from messages where status = 'queued' and joined_to is null`)).length, 3)
  await report(moved, 'key_12', { customer_phone: other }, 'order.edited')
  await pass(1)
  await send()
  t.same(arrived(phone), [`2 ${first}, ${third} 0`])
  t.same(arrived(other), [`1 ${moved} 0`])
})

t.test('an edit during the send keeps its own parcel out of a repetition', async t => {
  const phone = await prepare()
  const [first = '', edited = ''] = newParcels(2)
  for (const waybill of [first, edited]) await report(waybill, 'key_12', { customer_phone: phone })
  await pass(20)
  const { messages } = await claim()
  await report(edited, 'key_12', { customer_phone: newPhone() }, 'order.edited')
  const meaning = 'again'
  const refused = messages.map(message => ({
    message,
    status: 'queued' as const,
    isAttempt: true,
    dueSeconds: 0,
    meaning,
  }))
  await storeOutcomes(pool, refused, 0)
  await send()
  t.same(arrived(phone), [`1 ${first} 0`])
  t.match(await readMessages(edited), [{ status: 'cancelled' }])
})

t.test('after a crash during the send the message is unknown for each parcel, and is not sent again', async t => {
  const phone = await prepare()
  const [first = '', second = ''] = newParcels(2)
  for (const waybill of [first, second]) await report(waybill, 'key_12', { customer_phone: phone })
  await pass(20)
  const { messages } = await claim()
  await rows(`update messages set due_at = now() where status = 'sending'`)
  t.match(await sweep(pool), { overdue: 1 })
  for (const waybill of [first, second]) t.match(await readMessages(waybill), [{ status: 'unknown' }])
  await send()
  t.same(arrived(phone), [])
  const accepted = { status: 'accepted' as const, isAttempt: false, providerMessageId: 'wamid.late' }
  await storeOutcomes(
    pool,
    messages.map(message => ({ message, ...accepted })),
    0,
  )
  for (const waybill of [first, second]) t.match(await readMessages(waybill), [{ status: 'accepted' }])
  t.same(await rows(`select distinct status from messages where waybill_number = any($1)`, [[first, second]]), [
    { status: 'accepted' },
  ])
})

t.test('a process that is killed in the window leaves one message about all parcels to the next one', async t => {
  const phone = await prepare()
  const waybills = newParcels(3)
  const worker = await spawnWorker(t, built)
  for (const waybill of waybills.slice(0, 2)) await report(waybill, 'key_12', { customer_phone: phone })
  await worker.kill()
  t.same(arrived(phone), [], 'the window has not ended')
  await report(waybills[2] ?? '', 'key_12', { customer_phone: phone })
  await pass(20)
  const next = await spawnWorker(t, built)
  await until('the message has left', async () => arrived(phone).length > 0)
  for (const waybill of waybills)
    await until('it is accepted', async () => (await readMessages(waybill))[0]?.status === 'accepted')
  await next.stop()
  t.same(arrived(phone), [`3 ${waybills.join(', ')} 0`])
  t.equal(new Set(await Promise.all(waybills.map(async waybill => (await readMessages(waybill))[0].id))).size, 1)
})

t.test('staff resend a joint message once, unless a parcel’s phone has changed', async t => {
  const phone = await prepare()
  const [first = '', second = ''] = newParcels(2)
  for (const waybill of [first, second]) await report(waybill, 'key_12', { customer_phone: phone })
  control.script({ call: 'messages', times: 1, trouble: { kind: 'error', code: 131026 } })
  await pass(20)
  await send()
  t.match(await readMessages(second), [{ status: 'failed' }])
  const [id] = await idsOf(second)
  const order = known.get(second) as OrderSnapshot
  known.set(second, { ...order, customer_phone: newPhone() })
  t.match(await call('POST', `/api/messages/${id}/resend`), {
    status: 422,
    body: { errors: { to: [/another phone/] } },
  })
  known.set(second, order)
  t.equal((await call('POST', `/api/messages/${id}/resend`)).status, 200)
  await send()
  t.same(arrived(phone), [`2 ${first}, ${second} 0`])
})

t.test('a person with one parcel waits for the window only, from the event on', async t => {
  const phone = await prepare()
  const [waybill = '', late = ''] = newParcels(2)
  const event = toEvent(waybill, 'key_12', { customer_phone: phone })
  await deliver({ ...event, happened_at: new Date(Date.now() - 15 * 60_000).toISOString() })
  const [{ send_at: sendAt }] = await readMessages(waybill)
  const minutes = (Date.parse(sendAt) - Date.now()) / 60_000
  t.ok(minutes > 4 && minutes <= 5, `${minutes} minutes`)
  await pass(5)
  await send()
  t.same(arrived(phone), [`1 ${waybill} 0`])
  const old = toEvent(late, 'key_12', { customer_phone: phone })
  await deliver({ ...old, happened_at: new Date(Date.now() - 60 * 60_000).toISOString() })
  await send()
  t.same(arrived(phone).length, 2, 'the window of an event that comes late is over')
})

t.test('a window that ends outside the hours waits for them, and a window of 24 hours does not expire', async t => {
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16)
  const phone = await prepare(
    { ...perPerson, send_between: [at(2), at(4)] },
    { ...perPerson, on: 'key_13', within: '24h' },
  )
  const [waybill = ''] = newParcels(1)
  await report(waybill, 'key_12', { customer_phone: phone })
  const [{ send_at: sendAt }] = await readMessages(waybill)
  t.ok(Date.parse(sendAt) - Date.now() > 100 * 60_000, sendAt)
  await report(waybill, 'key_13')
  const [{ left }] = await rows(
    `select extract(epoch from expires_at - due_at)::integer / 3600 as left from messages
     where waybill_number = $1 and rule_event = 'key_13'`,
    [waybill],
  )
  t.ok(left >= 23, `${left} hours`)
})

t.test('an opt-out in the window cancels the message of each parcel', async t => {
  const phone = await prepare()
  const waybills = newParcels(2)
  for (const waybill of waybills) await report(waybill, 'key_12', { customer_phone: phone })
  await rows(
    `insert into conversations (tenant_id, phone_number_id, recipient, opted_out_at) values ('demo', $1, $2, now())
     on conflict (tenant_id, phone_number_id, recipient) do update set opted_out_at = now()`,
    [phoneNumberId, phone.slice(1)],
  )
  await pass(20)
  await send()
  t.same(arrived(phone), [])
  for (const waybill of waybills) t.match(await readMessages(waybill), [{ status: 'cancelled' }])
})

t.test('a list of many waybills is cut to what fits', async t => {
  const phone = await prepare({ ...perPerson, body: ['{{count}}', '{{waybill_numbers}}'] })
  const waybills = newParcels(90)
  await deliver(...waybills.map(waybill => toEvent(waybill, 'key_12', { customer_phone: phone })))
  await pass(20)
  await send()
  const [text = '', ...more] = arrived(phone)
  t.same(more, [])
  t.match(text, /^90 P\d+, .* and \d+ more$/)
  t.ok(text.length <= 303, `${text.length}`)
})

t.test('apply refuses a window that it cannot keep, with the reason', async t => {
  const refusals: [object, string, RegExp][] = [
    [{ within: undefined }, 'within', /both/],
    [{ per: undefined }, 'per', /both/],
    [{ per: 'parcel' }, 'per', /must be person/],
    [{ within: '0m' }, 'within', /1m to 24h/],
    [{ within: '25h' }, 'within', /1m to 24h/],
    [{ within: '20' }, 'within', /1m to 24h/],
    [{ within: '2h', expires_after_hours: 2 }, 'within', /less than expires_after_hours/],
    [{ on: 'invoice.deposited', body: [] }, 'per', /concerns no parcels/],
    [{ buttons: [{ index: 0, action: 'confirm_order' }] }, 'buttons.0.action', /a press concerns one parcel/],
    [{ buttons: [{ index: 0, url: '{{waybill_numbers}}' }] }, 'buttons.0.url', /no field/],
  ]
  for (const [more, path, reason] of refusals) {
    const checked = checkDemo([{ ...perPerson, ...more }])
    t.match(checked, { kind: 'refused', errors: { [`rules.0.${path}`]: [reason] } }, path)
  }
  t.match(checkDemo([{ ...delivered, body: ['{{count}}'] }]), { errors: { 'rules.0.body.0': [/no field \{\{count/] } })
  t.match(checkDemo([perPerson]), { kind: 'accepted' })
})
