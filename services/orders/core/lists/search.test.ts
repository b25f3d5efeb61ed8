import t from 'tap'
import { refusal, tenantFixture } from '../../test/orders-fixture.ts'
import { batch, order } from '../../test/tenant.ts'
import { listPhoneParts } from './search.ts'

const { get, staffGet, bulk, request, make, makeOfBooks, rows } = await tenantFixture(t)
await make(['DM00000001'], { customer_name: 'Nimali Perera', customer_phone: '+94 (77) 123-4567' })
await make(['DM00000002'], { customer_name: 'ÉLODIE 100%_Sure', customer_phone: '0771234999' })
await make(['DM00000003'], { customer_name: 'நிமாலி', customer_phone: '0112000000', initial_status_key: 'key_2' })
await makeOfBooks(['DM00000009'], { customer_name: 'Nimali Perera', customer_phone: '0771234567' })

const search = async (text: string, rest = '', from = get) => {
  const { status, body } = await from(`/order?filter[search]=${encodeURIComponent(text)}${rest}`)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
const numbers = ({ data }: { data: { waybill_number: string }[] }) =>
  data.map(row => Number(row.waybill_number.slice(2)))

t.test(
  'a search finds parts of names, waybill numbers and phones in any spelling; a merchant finds only its own orders',
  async t => {
    const table: [text: string, own: number[], all?: number[]][] = [
      ['nimali', [1], [9, 1]],
      ['PERERA', [1], [9, 1]],
      [' élodie ', [2]],
      ['நிமாலி', [3]],
      ['0%_s', [2]],
      ['%%%', []],
      ['dm0000000', [3, 2, 1], [9, 3, 2, 1]],
      ['0002', [2]],
      ['0771234567', [1], [9, 1]],
      ['+94771234567', [1], [9, 1]],
      ['077 123', [2, 1], [9, 2, 1]],
      ['+94 77 12', [2, 1], [9, 2, 1]],
      ['009477 12', [2, 1], [9, 2, 1]],
      ['234-567', [1], [9, 1]],
      ['4999', [2]],
      ['nimali 4999', []],
    ]
    for (const [text, own, all = own] of table) {
      t.strictSame(numbers(await search(text)), own, text)
      t.strictSame(numbers(await search(text, '', staffGet)), all, `staff ${text}`)
    }
    t.strictSame(numbers(await search('dm000', '&status=key_2')), [3], 'with other filters')
    t.strictSame(numbers(await search('nimali', '&phone=0771234567&waybill_number=DM00000001')), [1])
  },
)

t.test('a part of a phone number is spelt with and without the country code', async t => {
  t.strictSame(listPhoneParts('077', 'LK'), ['077', '9477'])
  t.strictSame(listPhoneParts('+94', 'LK'), [], 'two digits are too few')
  t.strictSame(listPhoneParts('077', 'XX'), ['077'])
  t.strictSame(listPhoneParts('077a', 'LK'), [])
})

t.test('a search refuses short, long and malformed texts, page numbers, and whole lists', async t => {
  const pages = 'A search is read by pages with a cursor: go on with the next_cursor of a page.'
  const short = 'The search field must be text of 3 to 100 characters.'
  const table: [query: string, field: string, sentence: string][] = [
    ['search=ab', 'search', short],
    [`search=${'x'.repeat(101)}`, 'search', short],
    ['search=a%00c', 'search', short],
    ['search=abc&page=2', 'page', pages],
    ['search=abc&noPagination', 'noPagination', pages],
  ]
  for (const [query, field, sentence] of table)
    t.strictSame((await get(`/order?${query}`)).body, refusal({ [field]: [sentence] }), query)
  t.equal((await get('/order?search=&noPagination')).body.data.length, 3, 'a blank search counts as absent')
})

t.test('a search reads 20,000 orders per request, says where it stopped, and its cursors reach the end', async t => {
  const old = '2026-01-01T00:00:00Z'
  await rows(
    `insert into orders (tenant_id, waybill_number, merchant_id, business_id, status_key, customer_name,
      customer_address, customer_phone, origin_city_id, destination_city_id, cod, weight, delivery_charge, created_at)
    select tenant_id, 'X' || number, merchant_id, business_id, status_key,
      case when number % 15000 = 0 then 'Rare Bird' else 'Common' end, customer_address, customer_phone, origin_city_id,
      destination_city_id, cod, weight, delivery_charge, $1::timestamptz - number * interval '1 s'
    from orders, generate_series(1, 45000) as number where waybill_number = 'DM00000001'`,
    [old],
  )
  let body = await search('rare b')
  t.match(body.meta, { per_page: 15, next_cursor: String, searched_to: '2025-12-31T18:26:43.000000Z' })
  const found = body.data.map(({ waybill_number }: { waybill_number: string }) => waybill_number)
  for (let page = 0; body.meta.next_cursor && page < 9; page++) {
    t.equal(body.links.next.includes(`cursor=${body.meta.next_cursor}`), true)
    body = await search('rare b', `&cursor=${body.meta.next_cursor}`)
    for (const { waybill_number } of body.data) found.push(waybill_number)
  }
  t.strictSame(found, ['X15000', 'X30000', 'X45000'])
  t.strictSame([body.meta.searched_to, body.links.next], [null, null])
  const full = await search('common', '&per_page=2')
  t.strictSame(
    [full.data.length, full.meta.searched_to],
    [2, null],
    'the search continues after the last order of a full page',
  )
})

t.test('names and order numbers are found in any Unicode form, whatever the form they were booked in', async t => {
  const texts = ['Phượng Nguyễn', 'ÉLODIE Müller', 'කෝපි කෞශල්‍යා', 'கௌரி பொன்னி', 'Žofie Ångström']
  let cod = 10_000
  for (const text of texts)
    for (const form of ['NFC', 'NFD'] as const) {
      const [name, order_no] = [text.normalize(form), `${text.slice(0, 7)} ${form}`.normalize(form)]
      const fields = { customer_name: name, order_no, customer_phone: `07755${cod}`, cod: cod++ }
      const [waybill] = (await bulk(batch([order(fields)]))).body.data
      for (const asked of ['NFC', 'NFD'] as const) {
        const label = `${text} ${form} ${asked}`
        for (const from of [get, staffGet]) {
          const found = (await search(text.slice(1).toLowerCase().normalize(asked), '', from)).data
          t.ok(found.map((row: { waybill_number: string }) => row.waybill_number).includes(waybill), label)
          const listed = await from(`/order?order_no=${encodeURIComponent(order_no.normalize(asked))}`)
          t.match(listed.body.data, [{ waybill_number: waybill, customer_name: name }], label)
        }
        const looked = await request('POST', '/api/public/merchant/order/lookup', {
          order_nos: [order_no.normalize(asked)],
        })
        t.match(looked.body, { data: [{ waybill_number: waybill }], missing: [] }, label)
        const again = batch([order({ ...fields, cod: 1, order_no: order_no.normalize(asked) })])
        for (const query of ['', '?dry_run=1'])
          t.match((await bulk(again, { query })).body.warnings, { 'order_data.0.order_no': [/is that of/] }, label)
        await rows('delete from order_events where waybill_number in (select waybill_number from orders where cod = 1)')
        await rows('delete from orders where cod = 1')
      }
      const both = ['NFC', 'NFD'].map(each => order({ ...fields, order_no: `x${order_no}`.normalize(each) }))
      t.match((await bulk(batch(both), { query: '?dry_run=1' })).body.warnings, {
        'order_data.1.order_no': [/too/],
      })
    }
  await rows(`update orders set order_no = normalize(order_no, NFD)`)
  for (const text of texts) {
    const order_no = `${text.slice(0, 7)} NFC`.normalize('NFC')
    t.equal(
      (await get(`/order?order_no=${encodeURIComponent(order_no)}`)).body.data.length,
      1,
      `stored before: ${text}`,
    )
    const { body } = await request('POST', '/api/public/merchant/order/lookup', { order_nos: [order_no] })
    t.match(body, { data: [{}], missing: [] })
  }
})

t.test('a merchant is found by name in any Unicode form and letter case', async t => {
  await rows(`update merchants set name = normalize('ÉLODIE Phượng', NFD) where email = 'books@example.com'`)
  for (const form of ['NFC', 'NFD'])
    t.match((await staffGet(`/merchant?name=${encodeURIComponent('élodie ph'.normalize(form))}`)).body.data, [
      { email: 'books@example.com' },
    ])
})
