import { inTenant } from '@courier/shared/postgres/database.ts'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { recordInbound } from '../../core/conversations/queries.ts'
import type { Tx } from '../../core/database/tables.ts'
import { holdTemplate } from '../../core/templates/queries.ts'
import { syncTemplates } from '../../core/templates/sync.ts'
import { messageTo, phoneNumberId, until } from '../../test/fixture.ts'
import { standIn } from '../../test/orders-stand-in.ts'
import { build, buildTenant } from '../../test/portal.ts'
import { applyTariffs } from '../costs/apply.ts'
import type { Preflight } from './view.ts'

const [stopped, noMarketing, writer, early, stranger] = [
  '94770000111',
  '94770000112',
  '94770000113',
  '94770000114',
  '94770000115',
]
const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString()
const clock = (hours: number): string => inHours(hours).slice(11, 16)

const listed = (name: string, components: unknown[], more: object = {}) => ({
  ...{ id: '1', name, language: 'en_US', status: 'APPROVED', category: 'UTILITY' },
  ...{ parameter_format: 'POSITIONAL', components },
  ...more,
})
const bodyOfTwo = { type: 'BODY', text: 'Hello {{1}}, parcel {{2}} of {{1}}.' }
const catalogue = [
  listed('order_delivered', [bodyOfTwo]),
  listed('offer', [bodyOfTwo, { type: 'FOOTER', text: 'Reply STOP' }], { category: 'MARKETING' }),
  listed('rejected', [bodyOfTwo], { status: 'REJECTED' }),
  listed('held', [bodyOfTwo]),
  listed(
    'everything',
    [
      { type: 'HEADER', format: 'DOCUMENT' },
      { type: 'BODY', text: 'Dear {{name}}: {{amount}}, {{day}}. {{nobody' },
      { type: 'FOOTER', text: 'Reply STOP' },
      {
        type: 'BUTTONS',
        buttons: [
          { type: 'QUICK_REPLY', text: 'Stop' },
          { type: 'URL', text: 'Track', url: 'https://courier.example/{{1}}' },
          { type: 'COPY_CODE', text: 'Copy' },
        ],
      },
    ],
    { parameter_format: 'NAMED' },
  ),
]

/** Prepares a paid channel, a free one, and a paused one without a catalogue, and people who wrote or opted out. */
const prepare = async (t: Test, sendBetween: [string, string] = [clock(-2), clock(2)]) => {
  const { client, state } = await standIn(
    t,
    {},
    { waybill_number: 'DM2', customer_phone: stranger, status_key: 'key_2' },
  )
  const built = await buildTenant(t, { wabaId: 'waba' }, { orders: client })
  const { pool, rows, call, tenant, phoneNumberId } = built
  state.tenant = tenant
  const [free, paused] = [`${phoneNumberId}2`, `${phoneNumberId}3`]
  await syncTemplates(pool, tenant, 'waba', async () => ({ kind: 'received', value: catalogue, servedVersion: null }))
  await rows(
    `insert into channels (tenant_id, phone_number_id, name, plan, waba_id, is_default, verify_token_hash, proven_at,
      rate, state, paused_reason)
    values ($1, $2, 'Free', 'free', 'waba', false, '', now(), 1000, 'active', null),
      ($1, $3, 'Paused', 'paid', null, false, '', now(), 1000, 'paused', 'The token is refused.')`,
    [tenant, free, paused],
  )
  const setHours = (sendBetween: [string, string]) =>
    rows(
      `update tenants set send_between = $1, time_zone = 'UTC', opt_out_exempt = 'parcel_under_way'
      where tenant_id = $2`,
      [sendBetween, tenant],
    )
  await setHours(sendBetween)
  await inTenant(pool, tenant, async (tx: Tx) => {
    await holdTemplate(tx, { tenant, phoneNumberId }, { name: 'held', language: 'en_US', code: 132015 })
    for (const number of [phoneNumberId, free]) {
      const from = (recipient: string, hours: number) => ({
        ...{ tenant, phoneNumberId: number, recipient, at: new Date(inHours(hours)) },
      })
      await recordInbound(tx, [
        { ...from(stopped, -1), keyword: 'stop' },
        { ...from(noMarketing, -1), keyword: 'stop', scope: 'marketing' },
        from(writer, -1),
        from(early, -22),
      ])
    }
  })
  const preflight = async (body: unknown): Promise<Preflight> => {
    const { status, body: response } = await call('POST', '/api/messages/preflight', body)
    if (status !== 200) throw new Error(JSON.stringify(response))
    return response.data[0]
  }
  return { ...built, preflight, state, setHours, free, paused }
}

const toBody = (name: string, texts: string[], more: object = {}) => ({
  to: stranger,
  template: {
    name,
    language: { code: 'en_US' },
    components: [{ type: 'body', parameters: texts.map(text => ({ type: 'text', text })) }],
  },
  ...more,
})
const two = ['Nimali', 'DM1']

const mostly = <T>(usual: readonly T[], ...odd: T[]) =>
  fc.oneof({ weight: 40, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: fc.constantFrom(...odd) })

const aText = mostly(
  ['Nimali', '😀 {{ cod }}', '{{customer_name}}'],
  '{{phone}}',
  '',
  '{{',
  'a\nb',
  'a\ud800',
  'x'.repeat(1025),
)
const aMessage = fc
  .record({
    name: mostly(
      ['order_delivered', 'offer', 'order_delivered'],
      'rejected',
      'held',
      'everything',
      'unknown',
      'Bad name',
    ),
    language: mostly(['en_US'], 'si', 'x'),
    texts: fc.oneof({ weight: 20, arbitrary: fc.tuple(aText, aText) }, fc.array(aText, { maxLength: 3 })),
    to: mostly<unknown>(
      [stranger, writer, early, '0770000199', stopped, noMarketing],
      '+5511987654321',
      '',
      null,
      '12',
      7,
    ),
    waybill_number: mostly<unknown>(['DM00000001', 'DM2'], 'DM404', 'a\u0000', '', 5),
    more: fc.record(
      {
        channel: mostly<unknown>([null, 'own', 'free', 'paused'], '404'),
        send_at: mostly<unknown>([null, inHours(1), inHours(3)], inHours(-1), inHours(900), 'soon'),
        hold_until_open: mostly<unknown>([true, false, null], 'yes'),
        respect_hours: fc.boolean(),
        messaging_product: mostly(['whatsapp'], 'telegram'),
      },
      { requiredKeys: [] },
    ),
    unknown: mostly([{}], { header: 1 }),
  })
  .map(({ name, language, texts, more, unknown, ...message }) => ({
    ...{ ...message, ...more, ...unknown },
    template: { ...toBody(name, texts).template, language: { code: language } },
  }))
const aBody = fc.oneof(
  { weight: 8, arbitrary: aMessage },
  { weight: 2, arbitrary: fc.array(aMessage, { maxLength: 4 }).map(messages => ({ messages })) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>([], null, { messages: 'x' }, [toBody('order_delivered', two)], 5) },
)

t.test('a preflight predicts a send of the same body', async t => {
  const { call, rows, createQueue, phoneNumberId, free, paused } = await prepare(t)
  const numbers: Record<string, string> = { own: phoneNumberId, free, paused }
  const predicted: { id: string; as: Preflight }[] = []
  let refusals = 0
  const property = fc.asyncProperty(aBody, async body => {
    const isList = Array.isArray(body) || (typeof body === 'object' && body !== null && 'messages' in body)
    const toPath = (index: number) => (isList ? `messages.${index}.` : '')
    const text = JSON.stringify(body, (key, value) => (key === 'channel' ? (numbers[value] ?? value) : value))
    const seen = await call('POST', '/api/messages/preflight', text)
    const sent = await call('POST', isList ? '/api/messages/bulk' : '/api/messages', text)
    if (seen.status !== 200) return t.strictSame([seen.status, seen.body], [sent.status, sent.body])
    const messages: Preflight[] = seen.body.data
    const errors = messages.flatMap(({ status, errors }, index) =>
      status === 'refused' ? Object.entries(errors).map(([path, sentences]) => [toPath(index) + path, sentences]) : [],
    )
    refusals += Number(errors.length > 0)
    if (messages.some(({ status }) => status === 'refused'))
      return t.strictSame([sent.status, sent.body.errors], [422, Object.fromEntries(errors)])
    const accepted = [sent.body.data].flat()
    t.strictSame([sent.status, accepted.map(({ status }) => status)], [202, messages.map(({ status }) => status)])
    for (const [index, as] of messages.entries()) predicted.push({ id: accepted[index].id, as })
  })
  await fc.assert(property, { numRuns: 110, seed: 3 })
  t.ok(predicted.length > 40 && refusals > 15, `${predicted.length} accepted, ${refusals} refused`)
  const queue = createQueue({ send: async message => ({ message, status: 'accepted', isAttempt: false }) })
  queue.start()
  const due = `select 1 from messages m join channels c using (tenant_id, phone_number_id)
    where c.state = 'active' and m.status in ('queued', 'sending') and m.due_at <= now() + interval '1 minute'`
  await until('all that is due has left', async () => (await rows(due)).length === 0)
  await queue.stop()
  const became = new Map((await rows('select * from messages')).map(row => [row.message_id, row]))
  for (const { id, as } of predicted) {
    const row = became.get(id)
    const later = as.leaves_at && as.leaves_at > inHours(0.5)
    if (later) t.equal(row.due_at.toISOString(), as.leaves_at)
    else if (as.leaves_at) t.equal(row.status, 'accepted')
    else if (as.status === 'held') t.equal(row.status, 'held')
    t.equal(row.recipient, as.to)
    t.equal(row.phone_number_id, as.channel?.phone_number_id)
  }
})

t.test('shows the message as the customer reads it', async t => {
  const { preflight, paused } = await prepare(t)
  const parameters = [
    { type: 'text', text: '{{customer_name}}', parameter_name: 'name' },
    {
      type: 'currency',
      currency: { fallback_value: 'Rs 450', code: 'LKR', amount_1000: 450_000 },
      parameter_name: 'amount',
    },
    { type: 'date_time', date_time: { fallback_value: 'Monday' }, parameter_name: 'day' },
  ]
  const components = [
    {
      type: 'header',
      parameters: [
        { type: 'document', document: { link: 'https://x.example/{{waybill_number}}.pdf', filename: 'Bill {{cod}}' } },
      ],
    },
    { type: 'body', parameters },
    { type: 'button', sub_type: 'url', index: '1', parameters: [{ type: 'text', text: '{{waybill_number}}' }] },
    { type: 'button', sub_type: 'copy_code', index: 2, parameters: [{ type: 'coupon_code', coupon_code: 'AB12' }] },
  ]
  const { text, errors, to, channel, leaves_at } = await preflight({
    waybill_number: 'DM00000001',
    template: { name: 'everything', language: { code: 'en_US' }, components },
  })
  t.strictSame(errors, {})
  t.strictSame(text, {
    header: null,
    media: { kind: 'document', link: 'https://x.example/DM00000001.pdf', name: 'Bill 4500' },
    body: 'Dear Nimali Perera: Rs 450, Monday. {{nobody',
    footer: 'Reply STOP',
    buttons: [
      { kind: 'quick_reply', label: 'Stop', url: null, code: null },
      { kind: 'url', label: 'Track', url: 'https://courier.example/DM00000001', code: null },
      { kind: 'copy_code', label: 'Copy', url: null, code: 'AB12' },
    ],
  })
  t.strictSame([to, channel?.name], ['94770000101', 'Demo Couriers'])
  t.ok(leaves_at && leaves_at <= inHours(0))
  const short = await preflight(toBody('order_delivered', ['Nimali']))
  t.match(short, { status: 'refused', errors: { 'template.components.0.parameters': [/takes 2 parameters/] } })
  t.equal(short.text?.body, 'Hello Nimali, parcel {{2}} of Nimali.')
  t.equal((await preflight(toBody('order_delivered', two, { channel: paused }))).text, null, 'no catalogue')
})

t.test('shows why a message waits, and why it will fail', async t => {
  // Takes the time once: a minute may begin meanwhile.
  const [from, to] = [clock(2), clock(4)]
  const { preflight, rows, call, createQueue, free, paused } = await prepare(t, [from, to])
  const seen = (more: object) => preflight(toBody('order_delivered', two, more))
  t.match(await seen({ channel: paused }), {
    status: 'queued',
    channel: { state: 'paused' },
    errors: { channel: ['The channel is paused: The token is refused.'] },
    leaves_at: null,
  })
  t.match(await seen({ channel: free, hold_until_open: true }), {
    ...{
      status: 'held',
      leaves_at: null,
      waits_for: 'waits for the customer to write',
      window: { open: false, until: null },
    },
  })
  const respecting = await seen({ respect_hours: true })
  t.equal(String(respecting.leaves_at).slice(11), `${from}:00.000Z`)
  t.match(respecting, { waits_for: /^waits: /, hours: { between: [from, to], time_zone: 'UTC' } })
  const marketing = await preflight(toBody('offer', two, { to: noMarketing }))
  t.match(marketing, {
    status: 'refused',
    errors: { to: [/no marketing/] },
    opt_out: { scope: 'marketing', exempt: false },
  })
  const exempt = await seen({
    to: stopped,
    waybill_number: 'DM2',
    template: toBody('order_delivered', ['{{cod}}', 'x']).template,
  })
  t.match(exempt, { status: 'queued', errors: {}, opt_out: { scope: 'all', exempt: true } })
  t.match(await preflight(toBody('offer', ['x'.repeat(1024), 'DM1'])), {
    status: 'refused',
    errors: { 'template.components.0.parameters': [/at most 1,024 are allowed/] },
  })
  const later = { to: early, channel: free, send_at: inHours(3) }
  t.match(await seen(later), {
    status: 'queued',
    errors: { to: ['No conversation was open when it was due.'] },
    leaves_at: null,
  })
  const { body } = await call('POST', '/api/messages', toBody('order_delivered', two, later))
  await rows(`update messages set due_at = now() where message_id = $1`, [body.data.id])
  await rows(`update conversations set last_inbound_at = last_inbound_at - interval '3 hours'`)
  const queue = createQueue()
  queue.start()
  const failed = `select 1 from messages where status = 'failed'
    and error_meaning = 'No conversation was open when it was due.'`
  await until('the message failed', async () => (await rows(failed)).length === 1)
  await queue.stop()
})

t.test('shows the cost of a delivery, and an exhausted budget', async t => {
  const { preflight, rows, pool, tenant, free } = await prepare(t)
  const price = async (name: string, to: string) => (await preflight(toBody(name, two, { to }))).price
  t.match(await price('order_delivered', stranger), { amount: null, reason: 'no_tariff' })
  await inTenant(pool, tenant, async (tx: Tx) => {
    await tx.client.query(`update tenants set currency = 'USD' where tenant_id = $1`, [tenant])
    await applyTariffs(tx, tenant, [{ category: 'utility', country: 'LK', from: '2020-01-01', price: '0.0165' }])
  })
  const tariff = { amount: '0.0165', currency: 'USD', category: 'utility', is_free: false, reason: 'tariff' }
  t.strictSame(await price('order_delivered', stranger), tariff)
  t.strictSame(await price('order_delivered', writer), tariff, 'an open window makes nothing free any more')
  const held = toBody('order_delivered', two, { channel: free, hold_until_open: true })
  t.match(await preflight(held), { status: 'held', price: { amount: '0.0165', is_free: false } })
  await rows(
    `update templates set category_to = 'MARKETING', category_at = now() + interval '2 hours',
      category_reported_at = now()
     where name = 'order_delivered'`,
  )
  t.match(await price('order_delivered', stranger), { category: 'utility' })
  const afterwards = await preflight(toBody('order_delivered', two, { send_at: inHours(3) }))
  t.match(afterwards.price, { category: 'marketing', amount: null, reason: 'no_tariff' })
  t.match(await price('unknown', stranger), { amount: null, reason: 'no_category' })
  await rows(`update templates set budget_paused_at = now() where category = 'MARKETING'`)
  t.match(await preflight(toBody('offer', two)), {
    status: 'queued',
    leaves_at: null,
    waits_for: "waits: the month's budget is used up",
  })
  const parcel = await preflight(toBody('offer', two, { waybill_number: 'DM1' }))
  t.match(parcel, { status: 'queued', leaves_at: String, waits_for: null })
})

t.test('a message at the end of its hours leaves when they begin again', async t => {
  const { preflight, rows, setHours } = await prepare(t)
  const read = async (): Promise<Date> => (await rows('select now()'))[0].now
  const now = await read()
  const end = new Date(Math.floor(now.getTime() / 60_000 + 1) * 60_000).toISOString().slice(11, 16)
  await setHours([clock(-2), end])
  const { leaves_at } = await preflight(toBody('order_delivered', two, { respect_hours: true }))
  const isTomorrow = (leaves_at ?? '') > inHours(20)
  t.ok(now.getUTCSeconds() < 30 || isTomorrow, `${now.toISOString()} ${leaves_at}`)
  t.ok((await read()).getUTCSeconds() >= 30 || !isTomorrow, `${now.toISOString()} ${leaves_at}`)
})

t.test('stores nothing, and needs orders as a send does', async t => {
  const { call, preflight, rows, state } = await prepare(t)
  const count = `select (select count(*) from messages) + (select count(*) from conversations) + (select count(*)
    from recipients)
    + (select count(*) from audit) + (select count(*) from message_events) + (select count(*) from idempotency_keys)
      as rows`
  const before = await rows(count)
  t.match(await preflight(toBody('order_delivered', two, { to: '0770000999' })), { status: 'queued', errors: {} })
  t.strictSame(await rows(count), before)
  state.isBroken = true
  const about = toBody('order_delivered', ['{{cod}}', 'x'], { waybill_number: 'DM2' })
  const { status, headers } = await call('POST', '/api/messages/preflight', {
    messages: [about, toBody('rejected', two)],
  })
  t.strictSame([status, headers['retry-after']], [503, '2'])
})

t.test('refuses a thousand messages as a whole if their errors exceed the limit, as a send does', async t => {
  const { call, paused } = await prepare(t)
  const wrong = toBody('order_delivered', [], {
    to: 'x',
    send_at: '2020-01-01T00:00:00Z',
    channel: paused,
    respect_hours: true,
  })
  const some = {
    messages: Array(1000).fill(toBody('order_delivered', ['one'], { to: 'x', send_at: '2020-01-01T00:00:00Z' })),
  }
  const { status, body } = await call('POST', '/api/messages/preflight', some)
  t.strictSame([status, body.data.length, Object.keys(body.data[999].errors).length], [200, 1000, 3])
  const components = [{ type: 'body', parameters: Array(6).fill({ type: 'text' }) }]
  const many = { messages: Array(1000).fill({ ...wrong, template: { ...wrong.template, components } }) }
  const refused = await call('POST', '/api/messages/preflight', many)
  const sent = await call('POST', '/api/messages/bulk', many)
  t.strictSame([refused.status, refused.body], [422, sent.body])
})

t.test('preflight says how many people may still be reached, and that a message waits', async t => {
  const { call, control, rows } = await build(t, undefined, undefined, { wabaId: '102290129340398' })
  control.behave({ portfolio_limit: 250 })
  await call('POST', `/api/channels/${phoneNumberId}/check`)
  const template = { name: 'order_created', language: { code: 'en_US' }, components: [] }
  const ask = async () => (await call('POST', '/api/messages/preflight', { to: '0770000101', template })).body.data[0]
  await rows('update portfolios set used = 31 returning used')
  await rows(`insert into conversations (tenant_id, phone_number_id, recipient) values ('demo', $1, '94770000101')`, [
    phoneNumberId,
  ])
  t.match(await ask(), { limit: { max_people: 250, left: 219 } })
  await rows('update portfolios set used = 250 returning used')
  const full = await ask()
  t.match(full, { limit: { left: 0 }, leaves_at: String, waits_for: /messaging limit is reached/ })
  await rows('update conversations set last_inbound_at = now() returning recipient')
  t.match(await ask(), { limit: null, waits_for: null })
})

t.test('finds a new template, as a send does', async t => {
  const { call, rows } = await build(t, undefined, undefined, { wabaId: '102290129340398' })
  t.equal((await call('POST', '/api/templates/sync')).status, 200)
  await rows(`delete from templates where name = 'order_created'`)
  await rows(`update channels set catalogue_tried_at = now() - interval '11 seconds'`)
  t.match((await call('POST', '/api/messages/preflight', messageTo('0770000101'))).body.data, [{ status: 'queued' }])
})
