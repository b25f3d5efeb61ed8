import { join } from 'node:path'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import { createServiceClient } from '@courier/shared/service-client.ts'
import t, { type Test } from 'tap'
import { runCommand } from '../dev/run-command.ts'
import { root } from '../dev/settings.ts'
import { markRestored } from '../services/notifier/capabilities/restoring/restored.ts'
import type { Tx } from '../services/notifier/core/database/tables.ts'
import { resendMessage } from '../services/notifier/core/messages/change.ts'
import { messageTo, until } from '../services/notifier/test/fixture.ts'
import { build as buildNotifier, serviceToken } from '../services/notifier/test/portal.ts'
import { giveRules } from '../services/notifier/test/rules-of-demo.ts'
import { bookedMoves } from '../services/orders/capabilities/money/book-moves.ts'
import { repairInvoices } from '../services/orders/capabilities/money/papers/invoice-numbers.ts'
import { recover } from '../services/orders/capabilities/restoring/restored.ts'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import { createWaybillNumbers } from '../services/orders/core/booking/waybill-numbers.ts'
import { createCatalogues } from '../services/orders/core/catalogue/catalogue.ts'
import { WaybillFormat } from '../services/orders/core/catalogue/waybill-format.ts'
import type { Tx as OrdersTx } from '../services/orders/core/database/tables.ts'
import { moveOrders } from '../services/orders/core/moves/move.ts'
import { allCapabilities, build as buildOrders } from '../services/orders/test/build.ts'
import { preparePayer } from '../services/orders/test/payer.ts'
import { batch, order } from '../services/orders/test/tenant.ts'

/** Starts both applications. The tests delete later rows in place of restoring a backup. */
const prepare = async (t: Test) => {
  const notifier = await buildNotifier(t)
  await giveRules(notifier.pool)
  const baseUrl = await notifier.app.listen({ host: '127.0.0.1', port: 0 })
  const client = createServiceClient({ baseUrl, serviceToken })
  const orders = await buildOrders(t, { notifier: client, serviceToken })
  const book = async (count: number): Promise<string[]> =>
    (await orders.bulk(batch(Array.from({ length: count }, () => order({ initial_status_key: 'key_2' }))))).body.data
  const deliver = async (): Promise<void> => {
    orders.relay.start()
    await until('all events are delivered', async () => (await orders.rows('select from outbox')).length === 0)
    await orders.relay.stop()
  }
  const since = new Date(Date.now() - 1000)
  const recoverDemo = async (skip?: number, isDryRun = false) => {
    const [demo] = await recover(orders.pool, { notifier: client, since, skip, isDryRun, loaded: allCapabilities })
    if (!demo) throw new Error('demo is missing')
    return demo
  }
  const readStatuses = async () =>
    Object.fromEntries(
      (await notifier.rows('select waybill_number, status from messages')).map(row => [row.waybill_number, row.status]),
    )
  return { notifier, orders, book, deliver, recoverDemo, readStatuses, baseUrl, client, since }
}

t.test('the notifier gets lost events again, and sends neither their messages nor older ones on its own', async t => {
  const { notifier, book, deliver, recoverDemo, readStatuses } = await prepare(t)
  const [kept = '', lost = ''] = await book(2)
  await deliver()
  const [waiting = ''] = await book(1)
  for (const table of ['messages', 'events'])
    await notifier.rows(`delete from ${table} where waybill_number = '${lost}'`)
  const [later = ''] = await notifier.accept(
    messageTo('0770000102', { send_at: new Date(Date.now() + 600_000).toISOString() }),
  )
  t.same((await recoverDemo(0)).requeued, [], 'before the notifier is marked as restored')

  t.match(await markRestored(notifier.pool, new Date(), true), [{ queued: 1 }])
  t.same(await readStatuses(), { [kept]: 'queued', null: 'queued' }, 'after a dry run')
  t.same(await markRestored(notifier.pool, new Date(), false), [
    { tenant: 'demo', queued: 1, held: 0, sending: 0, scheduled: 1 },
  ])
  t.match(await recoverDemo(0, true), { requeued: [{ waybill_number: lost }] })
  t.match(await recoverDemo(0), {
    skipped: 0,
    lost: [],
    dropped: [],
    requeued: [{ waybill_number: lost, status_key: 'key_2' }],
  })
  t.same((await recoverDemo(0)).requeued, [], 'an event that waits in the outbox is not added again')
  const [fresh = ''] = await book(1)
  await deliver()
  t.same(await readStatuses(), {
    [kept]: 'unknown',
    [lost]: 'unknown',
    [waiting]: 'unknown',
    [fresh]: 'queued',
    null: 'queued',
  })
  t.same((await recoverDemo(0)).requeued, [])

  notifier.queue.start()
  await until('the new message is sent', async () => (await readStatuses())[fresh] !== 'queued')
  t.match(await readStatuses(), { [kept]: 'unknown', [lost]: 'unknown', [waiting]: 'unknown' })
  const [{ message_id: id }] = await notifier.rows(`select message_id from messages where waybill_number = $1`, [lost])
  t.equal(await inTenant(notifier.pool, 'demo', (tx: Tx) => resendMessage(tx, 'demo', id)), 'queued')
  t.match(await notifier.rows(`select status from messages where message_id = $1`, [later]), [{ status: 'queued' }])
})

t.test('orders never reuses numbers that it assigned after its backup, and lists the orders that it lost', async t => {
  const { orders, book, deliver, recoverDemo } = await prepare(t)
  const [kept = ''] = await book(1)
  const given = await book(3)
  await deliver()
  await orders.rows('delete from waybill_counters')
  for (const table of ['orders', 'order_events'])
    await orders.rows(`delete from ${table} where waybill_number <> '${kept}'`)
  await orders.rows(`insert into log (tenant_id, type, waybill_numbers, status_keys, happened_at)
    values ('demo', 'order.created', '{${kept}}', '{key_2}', now() - interval '29 days 1 minute')`)

  t.match((await recoverDemo(2)).beyond, given.slice(1), 'too few numbers were left out')
  const { skipped, next_waybill, lost, dropped, beyond, requeued } = await recoverDemo()
  t.equal(skipped, 100 * 10_000 + 10)
  t.same(
    lost.map(event => event.waybill_number),
    given,
  )
  t.match({ beyond, requeued }, { beyond: [], requeued: [] })
  t.match(dropped, [], 'the first run dropped the event')
  const newProcess = createWaybillNumbers(orders.pool)
  t.same(await newProcess.reserve('demo', new WaybillFormat('DM########'), 1), [next_waybill])
  await t.rejects(recoverDemo(200_000_000), { message: /too few numbers/ })
})

t.test('no invoice gets a number that one made after the backup had', async t => {
  const { orders, recoverDemo } = await prepare(t)
  const move = { mover: { staffName: 'Kamal' }, statusKey: 'key_13', note: null, tenant: 'demo' }
  const deliver = async () => {
    const [waybill = ''] = (await orders.bulk(batch([order({ initial_status_key: 'key_2', cod: 1000 })]))).body.data
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = $1`, [waybill])
    const options = { pool: orders.pool, movePoints: [bookedMoves], catalogues: createCatalogues(orders.pool, 2 ** 20) }
    t.match(await moveOrders(options, { ...move, waybills: [waybill] }), { kind: 'moved' })
  }
  await orders.rows(`update tenants set payable_when = 'delivered', invoice_mask = 'I-YYMMDD-##'`)
  const { token } = await createTokenFor(orders.pool, { tenant: 'demo', staff: 'Chamari' })
  const invoice = async () => {
    await deliver()
    const [{ today }] = await orders.rows(`select (now() at time zone time_zone)::date::text as today from tenants`)
    const { body } = await orders.send('POST', '/api/staff/invoice', { all: true, until: today }, { token })
    const path = `/api/staff/invoice/${body.data[0].id}/submit`
    const submitted = (await orders.send('POST', path, {}, { token })).body.data
    return [submitted.invoice_no, submitted.invoice_ref_no]
  }
  const before = await invoice()
  const backup = await orders.rows('select * from invoice_counters')
  const lost = [...(await invoice()), ...(await invoice())]
  await orders.rows(`delete from invoices where invoice_no <> $1`, [before[0]])
  await orders.rows('update money_lines set invoice_id = null')
  for (const { series, last_number } of backup)
    await orders.rows(`update invoice_counters set last_number = $2 where series = $1`, [series, last_number])
  t.match(await recoverDemo(0), { repaired: { skipped_invoices: 0 } })
  t.match(await recoverDemo(undefined, true), { repaired: { skipped_invoices: 40 } })
  t.match(await recoverDemo(), { repaired: { skipped_invoices: 40 } })
  const after = await invoice()
  t.match(after, [/^I-\d{6}-42$/, 'MI-0042'])
  for (const number of after) t.notOk([...before, ...lost].includes(number))
})

t.test('no batch of payments gets a number twice, and those that the bank may have paid since are shown', async t => {
  const { orders, recoverDemo } = await prepare(t)
  const staffOf = async (staff: string) => (await createTokenFor(orders.pool, { tenant: 'demo', staff })).token
  await preparePayer({ ...orders, staffOf })
  const [token, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = (path: string, body: object, by = token) => orders.send('POST', `/api/staff${path}`, body, { token: by })
  const [{ today }] = await orders.rows(`select (now() at time zone time_zone)::date::text as today from tenants`)
  await orders.rows(`update tenants set payable_when = 'delivered', objection_hours = 0`)
  const approve = async () => {
    const [waybill = ''] = (await orders.bulk(batch([order({ initial_status_key: 'key_2', cod: 1000 })]))).body.data
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = $1`, [waybill])
    await post('/order/status', { waybill_numbers: [waybill], status_key: 'key_13' })
    const [{ id: invoice_no }] = (await post('/invoice', { all: true, until: today })).body.data
    for (const step of ['submit', 'approve']) await post(`/invoice/${invoice_no}/${step}`, {})
  }
  const makeBatch = async (): Promise<string> => {
    await approve()
    return (await post('/payout', { all: true })).body.data.batch_no
  }
  const release = async (batch: string) => {
    await orders.send('GET', `/api/staff/payout/${batch}/lines`, undefined, { token: second })
    await post(`/payout/${batch}/release`, {}, second)
  }
  const [released, made] = [await makeBatch(), await makeBatch()]
  await release(released)
  const [{ last_number: before }] = await orders.rows(`select last_number from invoice_counters where series = 'PAY-#'`)
  const lost = await makeBatch()
  for (const table of ['payout_batches', 'payout_items'])
    await orders.rows(`delete from ${table} where batch_no = $1`, [lost])
  await orders.rows(`update invoice_counters set last_number = $1 where series = 'PAY-#'`, [before])
  t.match(await recoverDemo(0), { repaired: { skipped_batches: 0, batches_in_doubt: 0 } })
  t.match(await recoverDemo(), { repaired: { skipped_batches: 200, batches_in_doubt: 2 } })
  t.equal(await makeBatch(), 'PAY-00203')
  const { batches } = (await orders.send('GET', '/api/staff/payout', undefined, { token })).body.data
  t.match(
    batches.map((found: { batch_no: string; in_doubt: boolean }) => [found.batch_no, found.in_doubt]),
    [
      ['PAY-00203', false],
      [made, true],
      [released, true],
    ],
  )
  const cancelled = await post(`/payout/${made}/cancel`, { reason: 'x' })
  t.match(cancelled.body.errors, { batch_no: [/^The bank may have paid it since the backup/] })
  await release(made)
  const settled = await post(`/payout/${made}/settle`, { bank_reference: 'B1', paid_on: today })
  t.match(settled.body.data, { state: 'settled', in_doubt: false })
})

t.test('no handover of cash gets an id twice', async t => {
  const { orders, recoverDemo } = await prepare(t)
  const { token } = await createTokenFor(orders.pool, { tenant: 'demo', staff: 'Chamari' })
  const handOver = async (): Promise<number> => {
    const [waybill = ''] = (await orders.bulk(batch([order({ initial_status_key: 'key_2', cod: 1000 })]))).body.data
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = $1`, [waybill])
    const post = (path: string, body: object) => orders.send('POST', `/api/staff${path}`, body, { token })
    await post('/order/status', { waybill_numbers: [waybill], status_key: 'key_13', collected_by: 'Chamari' })
    return (await post('/cash/handover', { collected_by: 'Chamari', declared: 1000, counted: 1000 })).body.data
      .handover_id
  }
  const kept = await handOver()
  const lost = await handOver()
  await orders.rows('delete from cash_handovers where handover_id = $1', [lost])
  await orders.rows(`select setval(pg_get_serial_sequence('cash_handovers', 'handover_id'), $1)`, [kept])
  t.match(await recoverDemo(), { repaired: { skipped_ids: 2_000 } })
  const next = await handOver()
  t.ok(next > lost, `${next} follows ${lost}`)
})

t.test('numbers of a month that began after the backup are left out, too', async t => {
  const { orders } = await prepare(t)
  const since = new Date(Date.now() - 40 * 86_400_000)
  await orders.rows(`update tenants set invoice_mask = 'CFX-YY-MM-#####'`)
  const skipped = await inTenant(orders.pool, 'demo', (tx: OrdersTx) => repairInvoices(tx, 'demo', since))
  const series = (await orders.rows('select series, last_number from invoice_counters')).filter(row =>
    row.series.startsWith('CFX'),
  )
  t.ok(series.length >= 2)
  t.ok(series.every(row => row.last_number === skipped.skipped_invoices))
})

t.test('an order that is created and delivered while the services are compared is not lost', async t => {
  const { orders, book, deliver, client, since } = await prepare(t)
  await book(1)
  const get = async (path: string) => {
    await book(1)
    await deliver()
    return client.get(path)
  }
  const [demo] = await recover(orders.pool, {
    notifier: { ...client, get },
    since,
    skip: 0,
    isDryRun: false,
    loaded: allCapabilities,
  })
  t.same(demo?.lost, [])
})

t.test('an edit that the notifier lost updates a message that waits in the backup', async t => {
  const { notifier, orders, book, deliver, recoverDemo } = await prepare(t)
  const [waybill = ''] = await book(1)
  await deliver()
  await notifier.rows(`update messages set send_at = now() + interval '1 hour', due_at = now() + interval '1 hour'`)
  const response = await orders.app.inject({
    method: 'PATCH',
    url: `/api/public/merchant/order/${waybill}`,
    payload: { customer_phone: '0711000199' },
    headers: { authorization: `Bearer ${orders.token}`, 'x-tenant': 'demo' },
  })
  t.equal(response.statusCode, 200)
  await orders.rows('update log set is_relayed = true')
  await markRestored(notifier.pool, new Date(), false)
  await recoverDemo(0)
  await deliver()
  t.match(await notifier.rows('select recipient, status from messages'), [
    { recipient: '94711000199', status: 'queued' },
  ])
})

t.test('a lost take-back is redelivered as a take-back, after the move that it takes back', async t => {
  const { notifier, orders, book, deliver, recoverDemo } = await prepare(t)
  const [waybill = ''] = await book(1)
  const headers = {
    'x-tenant': 'demo',
    authorization: `Bearer ${(await createTokenFor(orders.pool, { tenant: 'demo', staff: 'Kamal' })).token}`,
  }
  const post = async (path: string, payload: object) =>
    t.equal((await orders.app.inject({ method: 'POST', url: `/api/staff${path}`, payload, headers })).statusCode, 200)
  for (const status_key of ['key_5', 'key_6']) await post('/order/status', { waybill_numbers: [waybill], status_key })
  await post(`/order/${waybill}/take-back`, { reason: 'Wrong parcel' })
  await deliver()
  await markRestored(notifier.pool, new Date(), false)
  t.same((await recoverDemo(0)).requeued, [], 'the notifier knows everything')
  await notifier.rows(`delete from events where type = 'take_back.accepted' or status_key = 'key_6'`)
  t.match((await recoverDemo(0)).requeued, [{ status_key: 'key_6' }, { status_key: 'key_5' }])
  t.same(await orders.rows('select type from outbox order by outbox_id'), [
    { type: 'order.status_changed' },
    { type: 'take_back.accepted' },
  ])
  t.same((await recoverDemo(0)).requeued, [], 'both events wait')
})

t.test('the notifier gets a lost payment of an invoice again', async t => {
  const { notifier, orders, deliver, recoverDemo } = await prepare(t)
  await orders.rows(`update merchants set phone = '0770000101' where email = 'shop@example.com'`)
  const details = { invoice_no: 'CFX-1', invoice_ref_no: 'MI-1', paid_on: '2026-02-19', total: '1.00', currency: 'LKR' }
  await orders.rows(
    `insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, details)
      select 'demo', merchant_id, 'invoice.deposited', '{""}', '{""}', $1 from merchants where phone is not null`,
    [JSON.stringify(details)],
  )
  const deliverPayment = async () => {
    orders.relay.start()
    const isDelivered = async () => (await orders.rows('select from log where not is_relayed')).length === 0
    await until('the payment is delivered', isDelivered)
    await orders.relay.stop()
    return (await notifier.rows(`select from events where type = 'invoice.deposited'`)).length
  }
  t.equal(await deliverPayment(), 1)
  await notifier.rows('delete from events')
  await markRestored(notifier.pool, new Date(), false)
  await recoverDemo(0)
  t.equal(await deliverPayment(), 1)
  await recoverDemo(0)
  await deliver()
  t.equal(await deliverPayment(), 1, 'the payment is delivered once')
})

t.test("a decision about a customer's request is neither lost nor redelivered", async t => {
  const { notifier, orders, book, deliver, recoverDemo } = await prepare(t)
  const [waybill] = await book(1)
  const insert = `insert into log (tenant_id, type, waybill_numbers, status_keys)
    values ('demo', 'call_me.accepted', '{${waybill}}', '{key_2}')`
  await orders.rows(insert)
  await deliver()
  t.match(await notifier.rows('select type from events order by type'), [{ type: 'call_me.accepted' }, {}])
  await orders.rows(insert)
  await markRestored(notifier.pool, new Date(), false)
  t.match(await recoverDemo(0), { requeued: [], lost: [], dropped: [] })
  t.match(await orders.rows('select type from outbox'), [{ type: 'call_me.accepted' }], 'the decision still waits')
})

t.test('the commands refuse to run while the service runs, and print their changes', async t => {
  const { notifier, orders, book, deliver, baseUrl } = await prepare(t)
  await book(1)
  await deliver()
  const env = {
    ORDERS_DATABASE_URL: orders.database.url,
    NOTIFIER_DATABASE_URL: notifier.url,
    NOTIFIER_URL: baseUrl,
    SERVICE_TOKEN: serviceToken,
  }
  const command = async (service: 'orders' | 'notifier', ...words: string[]): Promise<string> => {
    const ran = await runCommand(join(root, `services/${service}/admin.ts`), env, ['restored', ...words])
    return ran.status === 0 ? ran.stdout : ran.stderr
  }
  const service = createPool({ url: orders.database.url, name: 'orders', connections: 1 })
  await service.query('select 1')
  const since = new Date(Date.now() - 1000).toISOString()
  t.match(await command('orders', '--since', since), /orders runs on this database: stop all its processes first/)
  await service.end()
  t.match(await command('orders', '--since', 'tomorrow'), /--since must be a past time such as/)
  t.match(
    await command('orders', '--since', since, '--dry-run'),
    /demo +1000010 +40 +200 +0 +2000 +DM01\d+ +0 +0 +0\n.*ask the merchants.*\nNothing was written/,
  )
  t.match(
    await command('notifier'),
    /demo +1 +0 +0 +0\nThe messages that were queued, held or sending have the status unknown/,
  )
  const audited = `select action, object_id from audit where action = 'database.restored'`
  t.same(await notifier.rows(audited), [{ action: 'database.restored', object_id: 'demo' }])
  t.same(await orders.rows(audited), [])
})
