import { createServiceClient } from '@courier/shared/service-client.ts'
import t, { type Test } from 'tap'
import { applyFile } from '../services/notifier/core/provisioning/apply.ts'
import { until } from '../services/notifier/test/fixture.ts'
import { build as buildNotifier, serviceToken } from '../services/notifier/test/portal.ts'
import { checkDemo, giveRules } from '../services/notifier/test/rules-of-demo.ts'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import type { TenantFile } from '../services/orders/core/provisioning/tenant-file.ts'
import { build as buildOrders } from '../services/orders/test/build.ts'
import { batch, order, tenantFile } from '../services/orders/test/tenant.ts'

/** Starts both applications on databases of their own; orders delivers to the notifier over HTTP. */
const buildBoth = async (t: Test, file?: TenantFile, rules?: unknown[]) => {
  const notifier = await buildNotifier(t)
  await giveRules(notifier.pool, rules)
  const baseUrl = await notifier.app.listen({ host: '127.0.0.1', port: 0 })
  const client = createServiceClient({ baseUrl, serviceToken })
  const orders = await buildOrders(t, { ...(file && { file }), notifier: client, serviceToken })
  const { token: staff } = await createTokenFor(orders.pool, { tenant: 'demo', staff: 'Ruwan' })
  const move = async (waybill_numbers: string[], status_key: string, note: string) => {
    const response = await orders.app.inject({
      method: 'POST',
      url: '/api/staff/order/status',
      headers: { authorization: `Bearer ${staff}`, 'x-tenant': 'demo' },
      payload: { waybill_numbers, status_key, note },
    })
    if (response.statusCode !== 200) throw new Error(response.payload)
  }
  const isDelivered = async () => (await orders.rows('select count(*)::int from outbox'))[0].count === 0
  return { notifier, orders, move, isDelivered }
}

/** Makes a text of `units` UTF-16 units, mostly control characters: each is six bytes in JSON. */
const lengthen = (units: number, first = 'x'): string => first.padEnd(units, '\u0001')
const key = 'k'.repeat(63)

/** Makes a tenant file whose names are as long as possible. */
const makeLongNames = (): TenantFile => {
  const file = tenantFile({ waybills: { mode: 'auto', format: `~"\\&<${'%'.repeat(37)}########` } })
  const price = 9_999_999_999.99
  const lengthenName = (entry: { name: string }) => Object.assign(entry, { name: lengthen(255, entry.name) })
  for (const state of file.states) for (const area of [state, ...state.cities]) lengthenName(area)
  for (const merchant of file.merchants) for (const owner of [merchant, ...merchant.businesses]) lengthenName(owner)
  for (const rate of file.rate_cards[0]?.rates ?? []) Object.assign(rate, { first_kg: price, each_extra_kg: price })
  const moves: Record<string, string[]> = { key_1: [key], key_2: [], key_3: [], [key]: [] }
  const statuses = Object.entries(moves).map(([key, moves]) => ({ key, name: lengthen(255), moves }))
  return { ...file, statuses }
}

t.test('the notifier accepts the largest possible events', async t => {
  const { orders, notifier, move, isDelivered } = await buildBoth(t, makeLongNames(), [
    { on: 'order.created', template: 'order_delivered', language: 'en_US', body: ['{{customer_name}}', '{{note}}'] },
    { on: key, template: 'order_delivered', language: 'en_US', body: ['{{description}}', '{{delivery_charge}}'] },
  ])
  const large = order({
    order_no: lengthen(100),
    customer_name: lengthen(255),
    customer_phone: '0770000101'.padEnd(50, ' -'),
    description: lengthen(1000),
    cod: 2147483647,
    weight: 1000,
  })
  const waybills: string[] = []
  for (let part = 0; part < 4; part++) {
    const booked = await orders.bulk(batch(Array.from({ length: 250 }, () => large)))
    t.same(booked.body.errors, undefined)
    waybills.push(...booked.body.data)
  }
  t.equal(waybills[0]?.length, 50)
  await move(waybills, key, lengthen(1000))
  orders.relay.start()
  await until('all events are delivered', isDelivered, 60)
  t.same(await notifier.rows('select type, count(*)::int from events group by type order by type'), [
    { type: 'order.created', count: 1000 },
    { type: 'order.status_changed', count: 1000 },
  ])
  const counts = `select count(*)::int, count(*) filter (where status = 'failed')::int as failed from messages`
  t.same(await notifier.rows(counts), [{ count: 2000, failed: 0 }])
})

t.test('odd texts in an order do not prevent the delivery of an event', async t => {
  const { orders, notifier, move, isDelivered } = await buildBoth(t)
  const texts = ['\u0001\u007f\u0085', '\u2028 \u2029', '\ufeff\u202eabc', '😀'.repeat(127), 'නිමාලි'.repeat(42)]
  const odd = [
    '{{cod}} {{nothing}}',
    '"\\\'</script>',
    '\u{10ffff}\ufffe\uffff',
    '\ud7ff\ue000',
    '-0',
    'null',
    ...texts,
  ]
  const phones = ['call the office', '+', '☎', '0770000101/0770000102', '9'.repeat(50), '+94 77 000 0101 ext. 7']
  const booked = await orders.bulk(
    batch([
      ...odd.map(text =>
        order({ customer_name: `a${text}`, description: text, order_no: `a${[...text].slice(0, 45).join('')}` }),
      ),
      ...phones.map(customer_phone => order({ customer_phone })),
      order({ cod: 0, weight: Number.MIN_VALUE }),
    ]),
  )
  t.same(booked.body.errors, undefined)
  for (const [index, text] of odd.entries()) await move([booked.body.data[index]], 'key_2', text)
  orders.relay.start()
  await until('all events are delivered', isDelivered, 60)
  t.same(await notifier.rows('select type, count(*)::int from events group by type order by type'), [
    { type: 'order.created', count: odd.length + phones.length + 1 },
    { type: 'order.status_changed', count: odd.length },
  ])
})

t.test(
  'events of a company wait until its notifier file is applied; events from the last 24 hours become messages',
  async t => {
    const { orders, notifier, move, isDelivered } = await buildBoth(t)
    await orders.apply(tenantFile({ id: 'late', waybills: { mode: 'auto', format: 'LT######' } }))
    const late = { tenant: 'late', token: await orders.createToken('shop@example.com', 'late') }
    const book = async (options = {}): Promise<string> => (await orders.bulk(batch([order()]), options)).body.data[0]
    const old = await book(late)
    await orders.rows(`update outbox set happened_at = now() - interval '25 hours'`)
    const waybill = await book(late)
    orders.relay.start()
    const own = await book()
    await move([own], 'key_2', 'meanwhile')
    const left = `select tenant_id, cardinality(waybill_numbers) as events from outbox`
    const waiting = [1, 2].map(() => ({ tenant_id: 'late', events: 1 }))
    const isWaiting = async () => JSON.stringify(await orders.rows(left)) === JSON.stringify(waiting)
    await until('only the events of the other company are delivered', isWaiting)
    t.match(await notifier.rows('select distinct tenant_id from events'), [{ tenant_id: 'demo' }])

    const checked = checkDemo([{ on: 'order.created', template: 'order_created', language: 'en_US' }])
    if (checked.kind === 'refused') throw new Error(JSON.stringify(checked.errors))
    const channels = checked.file.channels.map(channel => ({ ...channel, phoneNumberId: '200' }))
    const tenant = { ...checked.file.tenant, id: 'late' }
    const file = { ...checked.file, tenant, channels, given: { ...checked.file.given, tenant } }
    t.equal((await applyFile(notifier.pool, notifier.keyring, file, false)).kind, 'applied')
    await until('all events are delivered', isDelivered)
    const events = `select waybill_number from events where tenant_id = 'late' order by taken_at, event_id`
    t.same(new Set((await notifier.rows(events)).map(row => row.waybill_number)), new Set([old, waybill]))
    t.same(await notifier.rows(`select waybill_number from messages where tenant_id = 'late'`), [
      { waybill_number: waybill },
    ])
  },
)

t.test('the new customer of an edited order gets a message with the new amount', async t => {
  const { notifier, orders, isDelivered } = await buildBoth(t, undefined, [
    { on: 'order.created', template: 'order_delivered', language: 'en_US', body: ['{{customer_name}}', '{{cod}}'] },
  ])
  const { data } = (await orders.bulk(batch([order({ cod: 4500 }), order({ customer_phone: '0770000103' })]))).body
  orders.relay.start()
  await until('both events are delivered', isDelivered)
  const edited = await orders.app.inject({
    method: 'PATCH',
    url: `/api/public/merchant/order/${data[0]}`,
    headers: { authorization: `Bearer ${orders.token}`, 'x-tenant': 'demo' },
    payload: { customer_phone: '0711000102', customer_name: 'Kamala', cod: 90 },
  })
  t.equal(edited.statusCode, 200)
  await until('the edit is delivered', isDelivered)
  notifier.queue.start()
  await until('both messages are sent', async () => notifier.control.messages().length === 2)
  const sent = notifier.control.messages().map(({ to, rendered }) => [to, rendered.body])
  t.match(sent.find(([to]) => to === '94711000102')?.[1], /Kamala.*90/s)
  t.notOk(sent.some(([to]) => to === '94770000101'))
})
