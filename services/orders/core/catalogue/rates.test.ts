import { createPool } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { build } from '../../test/build.ts'
import { buildTenant } from '../../test/build-tenant.ts'
import { refusal } from '../../test/orders-fixture.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'
import { applyTenant } from '../provisioning/apply.ts'
import type { TenantFile } from '../provisioning/tenant-file.ts'

const quoted = (...data: unknown[]) => ({
  message: 'Nothing was created: this was a dry run',
  dry_run: true,
  data,
})
const quote = (delivery_charge: number, fields: Record<string, unknown> = {}) => ({
  order_no: null,
  destination_city: 'Galle',
  destination_state: 'Galle',
  delivery_charge,
  currency: 'LKR',
  ...fields,
})
const dry = { query: '?dry_run=true' }

t.test('the price is stored with the order', async t => {
  const { bulk, rows } = await buildTenant(t)
  const parcels = [
    { weight: 1 },
    { weight: '1.2' },
    { weight: 3.5 },
    { weight: 1000 },
    { weight: 2.1, destination_city_id: 1501 },
  ]
  t.equal((await bulk(batch(parcels.map(order)))).status, 200)
  const orders = await rows('select weight, delivery_charge::float8 as charge from orders order by waybill_number')
  t.strictSame(orders, [
    { weight: 1, charge: 450 },
    { weight: 1.2, charge: 540.5 },
    { weight: 3.5, charge: 721.5 },
    { weight: 1000, charge: 90_859.5 },
    { weight: 2.1, charge: 400 },
  ])
})

t.test('a dry run returns the prices and writes nothing', async t => {
  const { bulk, rows } = await buildTenant(t)
  const body = batch([order({ order_no: 'A', weight: 3 }), order({ destination_city_id: 1501, cod: 0 })])
  const options = { ...dry, headers: { 'idempotency-key': 'K' } }
  for (const query of ['?dry_run=true', '?dry_run=1']) {
    const response = await bulk(body, { ...options, query })
    t.equal(response.status, 200)
    t.strictSame(
      response.body,
      quoted(quote(631, { order_no: 'A' }), quote(350, { destination_city: 'Dehiwala', destination_state: 'Colombo' })),
    )
  }
  for (const table of ['orders', 'order_events', 'waybill_counters', 'idempotency_keys'])
    t.strictSame(await rows(`select count(*)::int from ${table}`), [{ count: 0 }], table)
  const real = await bulk(batch(), { headers: { 'idempotency-key': 'K' } })
  t.strictSame(real.body.data, ['DM00000001'])
})

t.test('a dry run finds the errors that a real request would', async t => {
  const { bulk, rows, createToken } = await buildTenant(t)
  await bulk(batch([order({ waybill_number: 'DM00000500' })]))
  const known = order({ waybill_number: 'DM00000500' })
  const taken = { 'order_data.1.waybill_number': ['The waybill number has already been taken.'] }
  const lacks = [
    'No rate card is assigned for the combination Kotte to Jaffna. It is from Kotte in Colombo to Jaffna in Jaffna, for order_data.0.',
  ]
  const bodies: [unknown, Record<string, string[]>, string?][] = [
    [batch([order({ customer_name: '' })]), { 'order_data.0.customer_name': ['The customer name field is required.'] }],
    [batch([order(), known]), taken],
    [batch([order({ destination_city_id: 3000 }), known]), { 'rate_card.destination_city_id': lacks, ...taken }],
    [
      batch([order()], { merchant_business_id: 7300 }),
      { merchant_rate_card: ['Please assign a rate card to the merchant.'] },
      await createToken('books@example.com'),
    ],
  ]
  for (const [body, errors, token] of bodies) {
    const response = await bulk(body, { ...dry, ...(token && { token }) })
    t.equal(response.status, 422)
    t.strictSame(response.body, refusal(errors))
  }
  t.strictSame(await rows('select count(*)::int from orders'), [{ count: 1 }])
})

t.test('a bare dry_run makes a dry run, false and 0 do not, and other words are refused', async t => {
  const { bulk, rows } = await buildTenant(t)
  for (const query of ['?dry_run=', '?dry_run'])
    t.strictSame((await bulk(batch(), { query })).body.message, 'Nothing was created: this was a dry run', query)
  for (const query of ['?dry_run=false', '?dry_run=0', '?other=1'])
    t.strictSame((await bulk(batch(), { query })).body.message, 'Orders Created Successfully', query)
  for (const query of ['?dry_run=x', '?dry_run=TRUE', '?dry_run=true&dry_run=false']) {
    const response = await bulk(batch(), { query })
    t.equal(response.status, 422)
    t.strictSame(response.body, refusal({ dry_run: ['The dry run field must be true or false.'] }), query)
  }
  t.strictSame(await rows('select count(*)::int from orders'), [{ count: 3 }])
})

/** Changes the small tenant's file, whose check for duplicates is off: the orders here may look alike. */
const changeFile = (change: (file: TenantFile) => unknown): TenantFile => {
  const file = tenantFile({ checks: { duplicate: 'off' } })
  change(file)
  return file
}
const connectOperator = (t: Test, url: string) => {
  const pool = createPool({ url, name: 'operator', connections: 1 })
  t.teardown(() => pool.end())
  return (file: TenantFile) => applyTenant(pool, file, false)
}
const setPrice = (first_kg: number) =>
  changeFile(file => {
    for (const rate of file.rate_cards[0]?.rates ?? []) rate.first_kg = first_kg
  })

t.test('the very next batch and dry run see the prices that an operator changed elsewhere', async t => {
  const { bulk, database, rows } = await build(t)
  const apply = connectOperator(t, database.url)
  const kilogram = batch([order({ weight: 1 })])
  for (const price of [500, 600.25, 700]) {
    await apply(setPrice(price))
    const { body } = await bulk(kilogram)
    t.strictSame(await rows('select delivery_charge::float8 from orders where waybill_number = $1', body.data), [
      { delivery_charge: price },
    ])
    await apply(setPrice(price + 1))
    t.strictSame((await bulk(kilogram, dry)).body, quoted(quote(price + 1)))
  }
  await apply(changeFile(file => file.rate_cards[0]?.rates.pop()))
  const lacks = [
    'No rate card is assigned for the combination Kotte to Galle. It is from Kotte in Colombo to Galle in Galle, for order_data.0.',
  ]
  t.strictSame((await bulk(kilogram)).body, refusal({ 'rate_card.destination_city_id': lacks }))
})

t.test('a city is known as soon as it is applied, and unknown as soon as it is removed', async t => {
  const { bulk, database } = await build(t)
  const apply = connectOperator(t, database.url)
  const toNewCity = batch([order({ destination_city_id: 2102 })])
  const unknown = refusal({ 'order_data.0.destination_city_id': ['The selected destination city id is invalid.'] })
  for (let round = 0; round < 2; round++) {
    t.strictSame((await bulk(toNewCity)).body, unknown)
    await apply(changeFile(file => file.states[1]?.cities.push({ id: 2102, name: 'Ambalangoda' })))
    t.equal((await bulk(toNewCity)).status, 200)
    await apply(tenantFile())
  }
  t.strictSame((await bulk(toNewCity)).body, unknown)
})
