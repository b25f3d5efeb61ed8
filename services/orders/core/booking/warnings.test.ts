import t from 'tap'
import { build } from '../../test/build.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'

const { apply, bulk, request, rows, createToken } = await build(t)
type Checks = NonNullable<ReturnType<typeof tenantFile>['tenant']['checks']>
const addTenant = async (id: string, checks?: Checks) => {
  await apply(tenantFile({ id, ...(checks && { checks }) }))
  return { tenant: id, token: await createToken('shop@example.com', id) }
}

let made = 0
/** Builds an order with a phone of its own. */
const own = (fields: Record<string, unknown> = {}) => order({ customer_phone: `07${70_000_000 + made++}`, ...fields })
const alike = (waybill: string) => [`The order looks like ${waybill} of the last 24 hours: same phone, COD and city.`]

const today = new Date(Date.now() + 5.5 * 3_600_000).toISOString().slice(0, 10)
const used = (number: string, waybill: string, day = today) =>
  `The order no ${number} is that of ${waybill}, booked on ${day}, too.`

t.test('a response has warnings only when there are any', async t => {
  const { status, body } = await bulk(batch([own(), own()]))
  t.equal(status, 200)
  t.strictSame(Object.keys(body), ['message', 'data'])
})

t.test('warns of an unreachable phone number and of two numbers in one field, and creates the orders', async t => {
  const reachable = [
    '0770000101',
    '+94 77 000 01 01',
    '077-000-0101',
    '94770000101',
    '+1 415 555 2671',
    '0094770000101',
  ]
  t.notOk('warnings' in (await bulk(batch(reachable.map((customer_phone, cod) => own({ customer_phone, cod }))))).body)
  const wrong = [
    '12345',
    'ask the neighbour',
    '077000010',
    '0770000101 / 0112345678',
    '0770000101,0770000102',
    '+44 1111 111111',
  ]
  const { status, body } = await bulk(batch(wrong.map(customer_phone => own({ customer_phone }))))
  t.equal(status, 200)
  t.equal(body.data.length, 6)
  t.match(body.warnings, {
    'order_data.0.customer_phone': [
      /^The customer phone field is no phone number of LK or another country: no message/,
    ],
    'order_data.1.customer_phone': [/no message can reach it\.$/],
    'order_data.2.customer_phone': [/no message can reach it\.$/],
    'order_data.3.customer_phone': [/two numbers/],
    'order_data.4.customer_phone': [/two numbers/],
    'order_data.5.customer_phone': [/no message can reach it\.$/],
  })
})

t.test('names the characters that labels print as code points', async t => {
  const printable = own({ customer_name: 'Łukasz ıŒœ නිමාලි நிமாலி', customer_address: '12 ₹ Nguyễn Road' })
  const odd = own({ customer_name: 'Li 李', customer_address: '😀 中文', description: 'Ж', order_no: '№ 1' })
  const warnings = {
    'order_data.1.customer_name': ['Labels have no letter for 李 (U+674E): they print the code in its place.'],
    'order_data.1.customer_address': [
      'Labels have no letter for 😀 (U+1F600), 中 (U+4E2D), 文 (U+6587): they print the code in its place.',
    ],
    'order_data.1.description': ['Labels have no letter for Ж (U+0416): they print the code in its place.'],
  }
  t.strictSame((await bulk(batch([printable, odd]), { query: '?dry_run=1' })).body.warnings, warnings)
  const { status, body } = await bulk(batch([printable, odd]))
  t.strictSame([status, body.warnings], [200, warnings])
})

t.test('warns of an order like one from the last 24 hours, and names the earlier waybill', async t => {
  const first = own({ order_no: 'LS-1' })
  const { body } = await bulk(batch([first]))
  const [waybill] = body.data
  const number = [`The order no LS-1 is that of ${waybill} of the last 24 hours, too.`]
  const again = await bulk(batch([own(), first]))
  t.strictSame(again.body.warnings, { 'order_data.1': alike(waybill), 'order_data.1.order_no': number })
  const dry = await bulk(batch([first]), { query: '?dry_run=1' })
  t.strictSame(dry.body.warnings, {
    'order_data.0': alike(again.body.data[1]),
    'order_data.0.order_no': [used('LS-1', again.body.data[1])],
  })
  const spelt = { ...first, order_no: undefined, customer_phone: `+94 ${String(first.customer_phone).slice(1)}` }
  t.strictSame((await bulk(batch([spelt]))).body.warnings, { 'order_data.0': alike(again.body.data[1]) })
  for (const other of [{ cod: 1 }, { destination_city_id: 1501 }, { customer_phone: '0719999999' }])
    t.notOk('warnings' in (await bulk(batch([{ ...first, order_no: undefined, ...other }]))).body)
})

t.test(
  'a dry run finds an order number among all parcels of the business, and names the parcel and its day',
  async t => {
    const at = await addTenant('used')
    const made = await bulk(batch(['U-1', 'U-2', 'U-3', 'U-4', 'Nimalī'].map(order_no => own({ order_no }))), at)
    const [old, cancelled, , , accented] = made.body.data
    await rows(
      `update orders set created_at = '2026-01-31T20:00:00Z' where tenant_id = 'used' and waybill_number <> all($1)`,
      [[]],
    )
    const leave = (waybills: string[]) => request('/order/cancel', { waybill_numbers: waybills }, at)
    t.equal((await leave([cancelled])).status, 200)
    await rows(`update orders set business_id = 7 where tenant_id = 'used' and order_no = 'U-3'`)
    await rows(`update orders set merchant_id = 7, business_id = 8 where tenant_id = 'used' and order_no = 'U-4'`)
    const numbers = ['U-1', 'U-2', 'U-3', 'U-4', 'Nimalī'.normalize('NFD'), 'U-6', undefined]
    const asked = batch(numbers.map(order_no => own({ order_no })))
    const dry = await bulk(asked, { ...at, query: '?dry_run=1' })
    t.strictSame(dry.body.warnings, {
      'order_data.0.order_no': [used('U-1', old, '2026-02-01')],
      'order_data.1.order_no': [`The order no U-2 was that of ${cancelled}, booked on 2026-02-01 and cancelled since.`],
      'order_data.4.order_no': [used(numbers[4] ?? '', accented, '2026-02-01')],
    })
    t.notOk('warnings' in (await bulk(asked, at)).body, 'a booking looks at the last 24 hours')
    const off = await addTenant('unused', { duplicate: 'off' })
    for (const query of ['', '?dry_run=1'])
      t.notOk('warnings' in (await bulk(batch([own({ order_no: 'U-1' })]), { ...off, query })).body)
    const refusing = await addTenant('used-refused', { duplicate: 'refuse' })
    const [first] = (await bulk(batch([own({ order_no: 'U-1' })]), refusing)).body.data
    await rows(`update orders set created_at = '2026-01-31T20:00:00Z' where tenant_id = 'used-refused'`)
    t.strictSame(
      (await bulk(batch([own({ order_no: 'U-1' })]), { ...refusing, query: '?dry_run=1' })).body.warnings,
      { 'order_data.0.order_no': [used('U-1', first, '2026-02-01')] },
      'what a booking would not refuse is a warning',
    )
  },
)

t.test('orders of another tenant, older orders and cancelled orders are not duplicates', async t => {
  const [old, cancelled] = [own(), own()]
  const { body } = await bulk(batch([old, cancelled]))
  await rows(`update orders set created_at = now() - interval '25 hours' where waybill_number = $1`, [body.data[0]])
  t.equal((await request('/order/cancel', { waybill_numbers: [body.data[1]] })).status, 200)
  t.notOk('warnings' in (await bulk(batch([old, cancelled]))).body)
  const elsewhere = await addTenant('elsewhere')
  t.notOk('warnings' in (await bulk(batch([old]), elsewhere)).body)
})

t.test("finds the merchant's earlier order number behind many newer ones of another merchant", async t => {
  const at = await addTenant('numbers')
  const [first] = (await bulk(batch([own({ order_no: '1001' })]), at)).body.data
  const others = (await bulk(batch(Array.from({ length: 50 }, () => own({ order_no: '1001' }))), at)).body.data
  await rows(
    `update orders set merchant_id = (select merchant_id from merchants where tenant_id = 'numbers'
      and email = 'books@example.com') where tenant_id = 'numbers' and waybill_number = any($1)`,
    [others],
  )
  t.strictSame((await bulk(batch([own({ order_no: '1001' })]), at)).body.warnings, {
    'order_data.0.order_no': [`The order no 1001 is that of ${first} of the last 24 hours, too.`],
  })
})

t.test('a group of similar orders in one batch gives one warning of each kind', async t => {
  const same = own({ order_no: 'LS-7' })
  const { body } = await bulk(batch([own(), same, own(), same, same, same]))
  t.strictSame(body.warnings, {
    'order_data.3': ['The order looks like order_data.1 and 2 more of the batch: same phone, COD and city.'],
    'order_data.3.order_no': ['The order no LS-7 is that of order_data.1 and 2 more of the batch, too.'],
  })
})

t.test('a repeated request gets the warnings of the first response, and no refusal', async t => {
  for (const [tenant, duplicate] of [
    ['warning', 'warn'],
    ['refusing', 'refuse'],
  ] as const) {
    const at = await addTenant(tenant, { duplicate, phone: 'warn' })
    const body = batch([own({ customer_phone: '12345' })])
    const options = { ...at, headers: { 'idempotency-key': 'again' } }
    const first = await bulk(body, options)
    t.match(first.body.warnings, { 'order_data.0.customer_phone': [/no message/] })
    const again = await bulk(body, options)
    t.equal(again.headers['idempotency-replayed'], 'true')
    t.strictSame(again.body, first.body)
  }
})

t.test('a tenant may turn a warning into an error, or turn it off', async t => {
  const strict = await addTenant('strict', { phone: 'refuse', duplicate: 'refuse' })
  const first = own()
  const [waybill] = (await bulk(batch([first]), strict)).body.data
  const mistakes = batch([first, own({ customer_phone: '12345' }), own()])
  for (const query of ['', '?dry_run=true']) {
    const { status, body } = await bulk(mistakes, { ...strict, query })
    t.equal(status, 422)
    t.match(body, { message: 'The given data was invalid.', code: 'validation_failed', data: undefined })
    t.strictSame(body.errors['order_data.0'], alike(waybill))
    t.match(body.errors['order_data.1.customer_phone'], [/no message can reach it/])
  }
  t.match(await rows(`select count(*)::int as orders from orders where tenant_id = 'strict'`), [{ orders: 1 }])
  const off = await addTenant('off', { phone: 'off', duplicate: 'off', unusual: 'off' })
  for (let time = 0; time < 2; time++) t.notOk('warnings' in (await bulk(mistakes, off)).body)
})

t.test('a request sent twice at once is a duplicate', async t => {
  for (const duplicate of ['refuse', 'warn'] as const) {
    const at = await addTenant(`twice-${duplicate}`, { duplicate })
    const twice = batch([own({ order_no: 'LS-9' }), own()])
    const responses = await Promise.all([bulk(twice, at), bulk(twice, at)])
    const [first, second] = responses.toSorted((a, b) => a.status - b.status)
    t.strictSame([first?.status, second?.status], [200, duplicate === 'refuse' ? 422 : 200])
    const paths = responses.flatMap(({ body }) => Object.keys(body.warnings ?? body.errors ?? {}))
    t.strictSame(paths, ['order_data.0', 'order_data.0.order_no', 'order_data.1'])
  }
})

t.test('checks a large batch for similar earlier orders only if the tenant asks, or in a dry run', async t => {
  const asking = await addTenant('asking', { duplicate: 'warn' })
  const many = batch(Array.from({ length: 101 }, () => own()))
  const usual = { tenant: 'demo' }
  for (const at of [asking, usual]) t.notOk('warnings' in (await bulk(many, at)).body)
  const counts = async (at: { tenant: string }, query = '') =>
    Object.keys((await bulk(many, { ...at, query })).body.warnings ?? {}).length
  t.equal(await counts(asking), 101)
  t.equal(await counts(usual), 0)
  t.equal(await counts(usual, '?dry_run=1'), 101)
})

t.test('warns of a new city, and of a weight above those of the earlier orders', async t => {
  const at = await addTenant('unusual')
  await rows(`update orders o set tenant_id = 'unusual', merchant_id = m.merchant_id from merchants m
    where o.tenant_id = 'asking' and m.tenant_id = 'unusual' and m.email = 'shop@example.com'`)
  const orders = [
    own(),
    own({ destination_city_id: 1501 }),
    own({ destination_city_id: 1501 }),
    own({ weight: 12 }),
    own({ weight: 12, destination_city_id: 2101, cod: 0 }),
  ]
  t.strictSame((await bulk(batch(orders), at)).body.warnings, {
    'order_data.1': [
      'None of your last 202 orders went to Dehiwala in Colombo: check the city before COD is collected there.',
    ],
    'order_data.3.weight': ['None of your last 202 orders weighed more than 1.2 kg: check the weight.'],
  })
})

t.test('a dry run warns of a phone number to which most parcels came back, where the company allows it', async t => {
  const phones = ['0779990011', '0779990012', '0779990013']
  const back = own({ customer_phone: phones[0] })
  const { data } = (await bulk(batch(Array.from({ length: 4 }, (_, cod) => ({ ...back, cod }))))).body
  const some = await bulk(batch([1, 2].map(cod => own({ customer_phone: phones[1], cod }))))
  await rows(
    `update orders set status_key = case when waybill_number = $1 then 'key_13' else 'key_21' end
    where waybill_number = any($2)`,
    [data[0], [...data, ...some.body.data]],
  )
  const asked = batch(phones.map(customer_phone => own({ customer_phone: customer_phone.replace('0', '+94 ') })))
  const readWarnings = async (query = '?dry_run=1') => (await bulk(asked, { query })).body.warnings
  t.strictSame(await readWarnings(), undefined)
  await rows(`update tenants set recipient_history = true where tenant_id = 'demo'`)
  t.strictSame(await readWarnings(), {
    'order_data.0.customer_phone': ['3 of the last 4 parcels to this phone number came back: call before you send it.'],
  })
  t.match(await rows(`select actor_kind, object_id from audit where action = 'recipient.read'`), [
    { actor_kind: 'merchant', object_id: 'dry run' },
  ])
  t.strictSame(await readWarnings(''), undefined, 'a booking does not look up returns')
})
