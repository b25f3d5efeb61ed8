import { inTenant } from '@courier/shared/postgres/database.ts'
import { pino } from 'pino'
import t from 'tap'
import { fillPhones } from './core/database/phone-columns.ts'
import type { Tx } from './core/database/tables.ts'
import { createOrdersHousekeeping } from './housekeeping.ts'
import { allCapabilities, serviceToken } from './test/build.ts'
import { ordersFixture } from './test/orders-fixture.ts'
import { batch, order, tenantFile } from './test/tenant.ts'

const file = tenantFile({ failed_deliveries: { reasons: [{ code: 'not_home', name: 'Nobody at home' }] } })
const { app, get, bulk, move, moveAlong, staffGet, request, rows, apply, pool, createToken } = await ordersFixture(t, {
  file,
})
await rows('update tenants set recipient_history = true')
const edit = (waybill: string, body: object) => request('PATCH', `/api/public/merchant/order/${waybill}`, body)

/** Lists spellings of a number that has `digits` behind 0. */
const spell = (digits: string): string[] => [
  `0${digits}`,
  `\u202a+94 ${digits}\u202c`,
  `0${digits.slice(0, 2)}\u00a0${digits.slice(2)}`,
  `0\u200b${digits}`,
  `0${digits} ext 12`,
  `0${digits} (office)`,
  `="0${digits}"`,
  `0${digits.slice(0, 2)}–${digits.slice(2)}`,
  `0${digits.slice(0, 2)}/${digits.slice(2)}`,
  `0${digits},`,
  `+94 (0) ${digits}`,
  `${digits}.0`,
  ...[0x660, 0xff10, 0x9e6, 0x966, 0xbe6, 0xe50, 0xde6].map(zero =>
    `0${digits}`.replace(/\d/g, digit => String.fromCodePoint(zero + Number(digit))),
  ),
]
const list = async (phone: string, query = 'phone') =>
  (await get(`/order?per_page=100&${query}=${encodeURIComponent(phone)}`)).body.data.map(
    (row: { waybill_number: string }) => row.waybill_number,
  )

t.test('an order is found by every spelling of its phone, and shows the one that the merchant typed', async t => {
  const [first = '', ...others] = spell('771230001')
  for (const typed of others) {
    const { body } = await bulk(batch([order({ customer_phone: typed, cod: 1, order_no: undefined })]))
    const [waybill] = body.data
    t.notOk(JSON.stringify(body.warnings ?? {}).includes('customer_phone'), typed)
    t.ok((await list(first)).includes(waybill), typed)
    t.ok((await list(typed)).includes(waybill), typed)
    t.ok((await list('+94 77 123 00 01', 'search')).includes(waybill), typed)
    t.equal((await get(`/order/${waybill}`)).body.data.customer_phone, typed)
    t.equal((await staffGet(`/order/${waybill}`)).body.data.customer_phone, typed)
  }
  t.equal((await list(first)).length, others.length)
  t.strictSame(await list('0771230002'), [])
})

t.test('a repeat is warned of in whatever spelling it comes, also within a batch and in a dry run', async t => {
  const spellings = spell('771230003')
  const book = (customer_phone: string, query = '') => bulk(batch([order({ customer_phone, cod: 33 })]), { query })
  let [earlier] = (await book(spellings[0] as string)).body.data
  for (const typed of spellings.slice(1)) {
    const alike = [`The order looks like ${earlier} of the last 24 hours: same phone, COD and city.`]
    t.strictSame((await book(typed, '?dry_run=1')).body.warnings, { 'order_data.0': alike }, typed)
    const { body } = await book(typed)
    t.strictSame(body.warnings, { 'order_data.0': alike }, typed)
    earlier = body.data[0]
  }
  const together = spell('771230004').map(customer_phone => order({ customer_phone, cod: 44 }))
  t.strictSame((await bulk(batch(together))).body.warnings, {
    'order_data.1': [
      `The order looks like order_data.0 and ${together.length - 2} more of the batch: same phone, COD and city.`,
    ],
  })
})

t.test('the history of a recipient and the warning of returns know every spelling', async t => {
  const spellings = spell('771230005')
  const { data } = (await bulk(batch(spellings.map((customer_phone, cod) => order({ customer_phone, cod }))))).body
  await rows(`update orders set status_key = 'key_21' where waybill_number = any($1)`, [data])
  for (const typed of spellings) {
    const { status, body } = await get(`/recipient/${encodeURIComponent(typed)}`)
    t.strictSame([status, body.data], [200, { delivered: 0, returned: spellings.length, is_known: true }], typed)
    const dry = await bulk(batch([order({ customer_phone: typed, cod: 999 })]), { query: '?dry_run=1' })
    t.match(dry.body.warnings, { 'order_data.0.customer_phone': [/came back: call before you send it/] }, typed)
  }
  t.equal((await get('/recipient/123456')).status, 422)
})

t.test('two numbers in one field are warned of, and the order is found by the first', async t => {
  for (const typed of [
    '0771230006 / 0719876543',
    '0771230006 0719876543',
    '0771230006/7',
    '0771230006 or 0719876543',
  ]) {
    const { status, body } = await bulk(batch([order({ customer_phone: typed, cod: 1 })]))
    t.equal(status, 200)
    t.match(body.warnings, { 'order_data.0.customer_phone': [/two numbers/] }, typed)
    t.ok((await list('0771230006')).includes(body.data[0]), typed)
    t.equal((await get(`/order/${body.data[0]}`)).body.data.customer_phone, typed)
  }
  const rounded = await bulk(batch([order({ customer_phone: '7.7123E+08' })]))
  t.match(rounded.body.warnings, { 'order_data.0.customer_phone': [/is no phone number of LK/] })
})

t.test('an edit gives the order another number, in any spelling, and edits of other fields keep it', async t => {
  const [waybill] = (await bulk(batch([order({ customer_phone: '0771230007 (office)' })]))).body.data
  t.equal((await edit(waybill, { weight: 3 })).status, 200)
  t.equal((await get(`/order/${waybill}`)).body.data.customer_phone, '0771230007 (office)')
  t.strictSame(await list('0771230007'), [waybill])
  t.strictSame((await edit(waybill, { customer_phone: '٠٧٧١٢٣٠٠٠٨' })).body.data.fields, ['customer_phone'])
  t.equal((await get(`/order/${waybill}`)).body.data.customer_phone, '٠٧٧١٢٣٠٠٠٨')
  t.strictSame([await list('0771230007'), await list('0771230008')], [[], [waybill]])
  await edit(waybill, { customer_phone: '0771230009' })
  t.equal((await get(`/order/${waybill}`)).body.data.customer_phone, '0771230009')
  t.strictSame([await list('0771230008'), await list('0771230009')], [[], [waybill]])
  t.match(await rows('select phone_as_typed from orders where waybill_number = $1', [waybill]), [
    { phone_as_typed: null },
  ])
})

t.test('a press by the person with the number changes the address, and keeps the spelling and the number', async t => {
  const fields = { customer_phone: '0771230010 ext 12', initial_status_key: 'key_2' }
  const [waybill] = (await bulk(batch([order(fields)]))).body.data
  await moveAlong(waybill, [9, 10, 11, 12])
  t.equal((await move([waybill], 'key_15', { reason_code: 'not_home' })).status, 200)
  const press = async (id: string, recipient: string) => {
    const action = { id, waybill_number: waybill, recipient, action: 'change_address', address: '7 Beach Road, Galle' }
    const payload = { tenant: 'demo', actions: [{ ...action, happened_at: '2026-02-19T19:06:23.000Z' }] }
    const headers = { authorization: `Bearer ${serviceToken}` }
    return (await app.inject({ method: 'POST', url: '/internal/customer-actions', headers, payload })).json().data[0]
  }
  t.match(await press('press 1', '94771230099'), { outcome: 'refused', detail: /another phone number/ })
  t.match(await press('press 2', '94771230010'), { outcome: 'done' })
  const { data } = (await get(`/order/${waybill}`)).body
  t.match(data, { customer_phone: fields.customer_phone, customer_address: '7 Beach Road, Galle' })
  t.strictSame(await list('0771230010'), [waybill])
})

t.test('the country of the company completes a number without a country code', async t => {
  await apply(tenantFile({ id: 'lion', country: 'SG' }))
  const at = { tenant: 'lion', token: await createToken('shop@example.com', 'lion') }
  const { body } = await bulk(batch([order({ customer_phone: '8123 4567' })]), at)
  t.notOk('warnings' in body)
  for (const phone of ['81234567', '+65 8123-4567', '6581234567', '٨١٢٣٤٥٦٧']) {
    const found = await request('GET', `/api/public/merchant/order?phone=${encodeURIComponent(phone)}`, undefined, at)
    t.match(found.body.data, [{ waybill_number: body.data[0], customer_phone: '8123 4567' }], phone)
  }
})

t.test('housekeeping reads the numbers that the version before stored, once', async t => {
  const spellings = spell('771230011')
  const { data } = (await bulk(batch(spellings.map((_, cod) => order({ cod, customer_phone: '0719999999' }))))).body
  await rows(
    `update orders set customer_phone = typed, created_at = now() - interval '1 hour'
     from unnest($1::text[], $2::text[]) as given (waybill, typed) where waybill_number = waybill`,
    [data, spellings],
  )
  const { clean } = createOrdersHousekeeping(pool, pino({ level: 'silent' }), allCapabilities)
  await clean()
  t.strictSame((await list('0771230011')).toSorted(), data.toSorted())
  for (const [index, typed] of spellings.entries())
    t.equal((await get(`/order/${data[index]}`)).body.data.customer_phone, typed)
  t.equal(await inTenant(pool, 'demo', (tx: Tx) => fillPhones()(tx, 'demo')), 0, 'nothing is left to read')
})

t.test('housekeeping reads what an earlier version took for another number again, and keeps the spelling', async t => {
  const typed = ['+375 8 29 1234567', '+375 8 29 1234567 (office)']
  const { data } = (await bulk(batch(typed.map((_, cod) => order({ cod, customer_phone: '0719999999' }))))).body
  const [before, stored] = [typed[0], '+3758291234567']
  await rows(
    `update orders set customer_phone = phone, phone_as_typed = spelt, created_at = now() - interval '1 hour'
     from unnest($1::text[], $2::text[], $3::text[]) as given (waybill, phone, spelt) where waybill_number = waybill`,
    [data, [before, stored], [null, `${stored} ${typed[1]}`]],
  )
  await rows('update tenants set phones_read_at = null, phones_read_waybill = null')
  const { clean } = createOrdersHousekeeping(pool, pino({ level: 'silent' }), allCapabilities)
  await clean()
  t.strictSame((await list('+375 29 123-45-67')).toSorted(), data.toSorted())
  for (const [index, spelling] of typed.entries())
    t.equal((await get(`/order/${data[index]}`)).body.data.customer_phone, spelling)
})

t.test('a number that a process of the version before edits is shown, not the spelling of the one before', async t => {
  const [waybill] = (await bulk(batch([order({ customer_phone: '0771230012 (office)' })]))).body.data
  await rows(`update orders set customer_phone = '0771230013' where waybill_number = $1`, [waybill])
  t.equal((await get(`/order/${waybill}`)).body.data.customer_phone, '0771230013')
  t.strictSame(await list('0771230013'), [waybill])
})
