import { readFileSync } from 'node:fs'
import { createServiceClient } from '@courier/shared/service-client.ts'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createOrdersClient } from '../services/notifier/core/orders-client/http-client.ts'
import type { OrdersClient } from '../services/notifier/core/orders-client/orders-client.ts'
import { until } from '../services/notifier/test/fixture.ts'
import { serviceToken } from '../services/notifier/test/portal.ts'
import { callMe, cancel, changeAddress, confirm, prepareWith } from '../services/notifier/test/replies-fixture.ts'
import { giveRules } from '../services/notifier/test/rules-of-demo.ts'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import type { TenantFile } from '../services/orders/core/provisioning/tenant-file.ts'
import { build } from '../services/orders/test/build.ts'
import { preparePayer } from '../services/orders/test/payer.ts'
import { batch, order } from '../services/orders/test/tenant.ts'

/** Starts both services; the notifier has the rules of its fixture. */
const start = async (t: Test, file?: TenantFile) => {
  let client: OrdersClient | undefined
  const late: OrdersClient = {
    find: (...of) => client?.find(...of) ?? Promise.resolve({ kind: 'unavailable' }),
    post: async (...of) => client?.post(...of),
    findStaff: async () => ({ kind: 'found', now: 0, holders: [] }),
  }
  const notifier = await prepareWith(t, late)
  const { control } = notifier
  const orders = await build(t, {
    ...(file && { file }),
    notifier: createServiceClient({ baseUrl: notifier.url, serviceToken }),
    serviceToken,
  })
  const url = await orders.app.listen({ host: '127.0.0.1', port: 0 })
  const reached = createOrdersClient({ url, serviceToken, logger: pino({ level: 'silent' }) })
  client = reached
  t.teardown(() => reached.close())
  orders.relay.start()
  const { token } = await createTokenFor(orders.pool, { tenant: 'demo', staff: 'Ruwan' })
  const staff = async (path: string, payload?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
    const method = payload ? ('POST' as const) : ('GET' as const)
    const response = await orders.app.inject({
      method,
      url: `/api/staff${path}`,
      headers,
      ...(payload && { payload }),
    })
    return response.json()
  }
  const listOffered = () => control.messages().filter(({ template }) => template !== null)
  return { notifier, control, orders, staff, listOffered }
}

t.test('a customer’s button press takes effect in orders, and a message confirms it', async t => {
  const { notifier, control, orders, staff, listOffered } = await start(t)
  const { settled, texts, texted, question } = notifier
  const phones = ['0770000101', '0770000102', '0770000103']
  const booked = await orders.bulk(
    batch(phones.map(customer_phone => order({ customer_phone, initial_status_key: 'key_1' }))),
  )
  t.equal(booked.status, 200)
  const waybills: string[] = booked.body.data
  await until('the customers have their messages', async () => listOffered().length === 3)
  const findMessage = (n: number): string => listOffered().find(({ to }) => to === `9477000010${n + 1}`)?.id ?? ''
  const press = (n: number, index: number, copies = 1) => control.press({ message_id: findMessage(n), index, copies })
  const readStatus = async (n: number): Promise<string> =>
    (await orders.rows('select status_key from orders where waybill_number = $1', [waybills[n]]))[0].status_key

  press(0, confirm, 2)
  await settled(1)
  t.equal(await readStatus(0), 'key_2')
  const entries = (await notifier.call('GET', `/api/timeline/${waybills[0]}`)).body.data.timeline
  t.match(
    entries.find(({ status_key, kind }: Record<string, string>) => kind === 'tracking' && status_key === 'key_2'),
    { by: 'customer' },
  )
  press(1, cancel, 2)
  press(1, cancel)
  t.match((await settled(2))[1], { outcome: 'done' })
  t.equal(await readStatus(1), 'key_3')
  await texted(1)

  const readAddress = async () =>
    (await orders.rows('select customer_address from orders where waybill_number = $1', [waybills[2]]))[0]
  const booking = await readAddress()
  press(2, changeAddress)
  t.match((await settled(3))[2], { outcome: 'asked' })
  control.inbound({ from: '94770000103', text: '12 Matara Road, Galle' })
  t.match((await settled(4))[3], { outcome: 'unconfirmed' })
  t.equal((await readAddress()).customer_address, booking.customer_address, 'nothing is applied yet')
  control.press({ message_id: await question('12 Matara Road'), index: 0 })
  const hasChanged = async () => (await readAddress()).customer_address !== booking.customer_address
  await until('the new address is applied', hasChanged)
  t.match((await settled(4))[3], { outcome: 'done' })
  t.equal((await readAddress()).customer_address, '12 Matara Road, Galle')
  t.match((await staff(`/order/${waybills[2]}`)).data.edits, [
    { by: 'customer', previous: { customer_address: booking.customer_address } },
  ])
  t.match(
    (await notifier.call('GET', `/api/timeline/${waybills[2]}`)).body.data.timeline.find(
      ({ kind }: { kind: string }) => kind === 'edit',
    ),
    { previous: { customer_address: booking.customer_address } },
  )

  press(2, callMe)
  t.match((await settled(5))[4], { outcome: 'requested' })
  const [request] = (await staff('/order/requests')).data
  t.match(request, { waybill_number: waybills[2], status: 'open' })
  await staff(`/order/requests/${request.id}/decision`, { decision: 'declined', note: 'no line there' })
  await texted(5)
  t.same(texts(), [
    'Thank you Nimali Perera.\nSee you tomorrow.',
    'Where to?',
    'The new address is noted.',
    'We will call.',
    'We cannot call: no line there',
  ])
  t.equal((await notifier.stored()).length, 5, 'each press is stored once')
})

t.test('after a failed delivery the demo first asks the customer, whose button press is an instruction', async t => {
  const { notifier, control, orders, staff, listOffered } = await start(t)
  await giveRules(notifier.pool)
  const [waybill = ''] = (await orders.bulk(batch([order({ initial_status_key: 'key_2' })]))).body.data
  for (const status_key of ['key_9', 'key_10', 'key_11', 'key_12', 'key_15']) {
    const reason = status_key === 'key_15' && { reason_code: 'not_home' }
    await staff('/order/status', { waybill_numbers: [waybill], status_key, ...reason })
  }
  const findQuestion = () => listOffered().find(({ template }) => template?.name === 'delivery_failed')
  await until('the customer is asked', async () => findQuestion() !== undefined)
  control.press({ message_id: findQuestion()?.id ?? '', index: 0 })
  t.match(await notifier.settled(1), [{ action: 'tomorrow', outcome: 'done' }])
  t.match((await staff(`/order/${waybill}`)).data.instructions, [
    { action: 'reattempt', date: /^\d{4}-\d\d-\d\d$/, given_as: 'customer' },
  ])
  await notifier.texted(1)
  t.same(notifier.texts(), [`Thank you, Nimali Perera. We will bring ${waybill} tomorrow.`])
  control.press({ message_id: findQuestion()?.id ?? '', index: 3 })
  t.match((await notifier.settled(2))[1], { action: 'return', outcome: 'done' })
  t.match((await staff(`/order/${waybill}`)).data.instructions[0], { action: 'return', given_as: 'customer' })
})

t.test('the merchant of the demo gets a message when its invoice is paid', async t => {
  const file: TenantFile = JSON.parse(readFileSync(new URL('../examples/demo-tenant.json', import.meta.url), 'utf8'))
  const { notifier, orders, staff, listOffered } = await start(t, file)
  await giveRules(notifier.pool)
  const [waybill = ''] = (await orders.bulk(batch([order({ initial_status_key: 'key_2', cod: 4500 })]))).body.data
  for (const status_key of ['key_9', 'key_10', 'key_11', 'key_12', 'key_13'])
    await staff('/order/status', { waybill_numbers: [waybill], status_key })
  await staff('/cash/handover', { collected_by: 'Ruwan', declared: 4500, counted: 4500 })
  const [{ today }] = await orders.rows('select (now() at time zone time_zone)::date::text as today from tenants')
  const [{ id }] = (await staff('/invoice', { all: true, until: today })).data
  const { data: invoice } = await staff(`/invoice/${id}/submit`, {})
  await orders.send('POST', `/api/public/merchant/invoice/${invoice.invoice_no}/approve`, {})
  const staffOf = async (name: string) => (await createTokenFor(orders.pool, { tenant: 'demo', staff: name })).token
  const pay = await preparePayer({ ...orders, staffOf })
  t.equal((await pay([invoice.invoice_no], 'BOC 1', today)).status, 200)
  const findNotice = () => listOffered().find(({ template }) => template?.name === 'invoice_paid')
  await until('the merchant has the message', async () => findNotice() !== undefined)
  const { delivery_charge } = (await staff(`/order/${waybill}`)).data
  const total = `LKR ${(4500 - delivery_charge).toFixed(2)}`
  t.match(findNotice(), {
    to: '94112500700',
    rendered: { body: `Hello Lanka Shoes, your invoice MI-0001 is paid: ${total} on ${today}. Thank you!` },
  })
})
