import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { deactivateStaff } from '../../core/access/staff-commands.ts'
import { addOther } from '../../test/build-tenant.ts'
import { ridersTenant } from '../../test/riders-fixture.ts'
import { batch, order, shortStatuses, tenantFile } from '../../test/tenant.ts'
import { pickups as capability } from './capability.ts'

const fixture = await ridersTenant(t)
const { make, makeOfBooks, move, cancel, get, request, staffPost, staffGet, readFacts, rows, bulk } = fixture
const { booksToken, staffToken, nimal, pool, tenant, app } = fixture
const { today } = await readFacts()
const shop = '/api/public/merchant'
const post = (path: string, body: unknown, options = {}) => request('POST', `${shop}${path}`, body, options)
const remove = (path: string, options = {}) => request('DELETE', `${shop}${path}`, undefined, options)
const ofBooks = { token: booksToken }

let days = 0
/** Returns a day that no other test asks for. */
const nextDay = () => new Date(Date.parse(today) + ++days * 86_400_000).toISOString().slice(0, 10)
let number = 0
const confirm = async (count: number, fields: Record<string, unknown> = {}) =>
  make(
    Array.from({ length: count }, () => `DM7${String(++number).padStart(7, '0')}`),
    { initial_status_key: 'key_2', ...fields },
  )
const readStatus = async (waybill: string) => (await staffGet(`/order/${waybill}`)).body.data.status.key
const place = { name: 'Shop', address: '12 Temple Road', city_id: 1500, phone: '0112000100' }
const ask = async (rest: object, options = {}) => post('/pickup', { day: nextDay(), ...rest }, options)
const readPickup = async (id: number) => (await staffGet(`/pickup/${id}`)).body.data

// No company has addresses yet.
const before: number[] = []
for (const pickup_address_id of [7, '7', 'x', {}, [], null])
  before.push((await bulk(batch([order()], { pickup_address_id }))).status)
const address = (await post('/pickup-address', place)).body.data
const other = (await post('/pickup-address', { ...place, name: 'Depot', city_id: '2100' })).body.data
const foreign = (await post('/pickup-address', place, ofBooks)).body.data

t.test('a company without addresses ignores the address of a booking, as before', async t => {
  t.strictSame(before, [200, 200, 200, 200, 200, 200])
})

t.test('a merchant keeps its addresses; the first of a business is its default', async t => {
  t.match([address, other], [{ is_default: true, merchant_business_id: 7290, city: 'Kotte' }, { is_default: false }])
  t.strictSame((await get('/pickup-address')).body.data, [address, other])
  t.strictSame((await get('/pickup-address', ofBooks)).body.data, [foreign])
  t.equal((await remove(`/pickup-address/${foreign.id}`)).status, 404)
  for (const phone of ['abc', '12', '—'])
    t.match((await post('/pickup-address', { ...place, phone })).body.errors, { phone: [/phone number/] }, phone)
  const { data } = (await post('/pickup-address', { ...place, is_default: true })).body
  t.match((await get('/pickup-address')).body.data, [
    { is_default: false },
    { is_default: false },
    { is_default: true },
  ])
  t.equal((await remove(`/pickup-address/${data.id}`)).status, 200)
  t.equal((await remove(`/pickup-address/${data.id}`)).status, 404)
  t.match(await ask({ all: true }), { status: 422, body: { errors: { pickup_address_id: [/no default address/] } } })
  await rows('update pickup_addresses set is_default = true where address_id = $1', [address.id])
})

t.test('refuses what is not understood, each with its reason', async t => {
  const [draft] = await make(['DM70000901'])
  const [theirs] = await makeOfBooks(['DM70000902'], { initial_status_key: 'key_2' })
  const cases: [object, string, RegExp][] = [
    [{ all: true, pickup_address_id: foreign.id }, 'pickup_address_id', /invalid/],
    [{ all: true, pickup_address_id: 999_999 }, 'pickup_address_id', /invalid/],
    [{ all: true, merchant_business_id: 7300 }, 'merchant_business_id', /invalid/],
    [{ all: true, merchant_business_id: 7291, pickup_address_id: address.id }, 'pickup_address_id', /invalid/],
    [{ all: true, day: '2020-01-01' }, 'day', /over/],
    [{ all: true, day: '2099-01-01' }, 'day', /ahead/],
    [{ all: true, day: `${today.slice(0, 4)}-02-30` }, 'day', /no day/],
    [{ all: true, day: 'tomorrow' }, 'day', /day such as/],
    [{ all: true, from: '09:00' }, 'to', /later/],
    [{ all: true, from: '12:00', to: '09:00' }, 'to', /later/],
    [{ all: true, from: '25:00', to: '26:00' }, 'from', /time/],
    [{}, 'waybill_numbers', /one of/],
    [{ all: true, parcels: 3 }, 'waybill_numbers', /one of/],
    [{ parcels: -1 }, 'parcels', /./],
    [{ parcels: 1.5 }, 'parcels', /./],
    [{ all: true, note: '\u0000' }, 'note', /text/],
    [{ all: true, nonsense: 1 }, 'nonsense', /./],
    [{ waybill_numbers: [draft] }, 'waybill_numbers.0', /DRAFT/],
    [{ waybill_numbers: [theirs] }, 'waybill_numbers.0', /does not exist/],
    [{ waybill_numbers: ['DM00000000'] }, 'waybill_numbers.0', /does not exist/],
  ]
  for (const [body, path, sentence] of cases) {
    const response = await ask(body)
    t.equal(response.status, 422, JSON.stringify(body))
    t.match(response.body.errors?.[path]?.join(), sentence, JSON.stringify([body, response.body]))
  }
  for (const [body, path] of [
    [{ ...place, city_id: 9 }, 'city_id'],
    [{ ...place, name: ' ' }, 'name'],
    [{ ...place, phone: 'x'.repeat(51) }, 'phone'],
    [{ ...place, merchant_business_id: 7300 }, 'merchant_business_id'],
  ] as const)
    t.ok((await post('/pickup-address', body)).body.errors[path], path)
  for (const path of ['/pickup/x/assign', '/pickup/999999999999999/assign', '/pickup/0/done'])
    t.ok([404, 422].includes((await staffPost(path, { rider: nimal.name, waybill_numbers: ['DM1'] })).status), path)
})

t.test('eight requests at once for an address and day are one row; a repeated key adds once', async t => {
  const waybills = await confirm(8)
  const day = nextDay()
  const sent = await Promise.all(
    waybills.map((waybill, index) =>
      post(
        '/pickup',
        { day, waybill_numbers: [waybill], note: `Note ${index}` },
        { headers: { 'idempotency-key': waybill } },
      ),
    ),
  )
  t.strictSame(new Set(sent.map(({ status }) => status)), new Set([200]))
  t.equal(new Set(sent.map(({ body }) => body.data.id)).size, 1)
  await post('/pickup', { day, parcels: 3, from: '09:00', to: '12:00' }, { headers: { 'idempotency-key': 'three' } })
  await post('/pickup', { day, parcels: 3, from: '09:00', to: '12:00' }, { headers: { 'idempotency-key': 'three' } })
  const found = (await get('/pickup')).body.data.filter((each: { day: string }) => each.day === day)
  t.match(found, [{ parcels: 3, from: '09:00', note: /Note 7/, state: 'open', address: { id: address.id } }])
  t.strictSame([...found[0].waybill_numbers].sort(), waybills)
  t.strictSame((await readPickup(found[0].id)).expected, waybills)
})

t.test('withdrawn pickups end; other merchants and tenants see none', async t => {
  const { id, day } = (await ask({ all: true })).body.data
  t.equal((await remove(`/pickup/${id}`, ofBooks)).status, 404)
  t.equal((await remove(`/pickup-address/${address.id}`)).status, 422, 'an open pickup needs it')
  t.equal((await remove(`/pickup/${id}`)).status, 200)
  t.match(await remove(`/pickup/${id}`), { status: 422, body: { errors: { pickup: [/withdrawn already/] } } })
  t.not((await post('/pickup', { day, all: true })).body.data.id, id)
  t.notOk((await get('/pickup', ofBooks)).body.data.some((each: { id: number }) => each.id === id))
  const { tenant: other } = await addOther(fixture)
  const options = { tenant: other, token: await fixture.staffOf('Kamal Perera', other) }
  t.equal((await request('GET', `/api/staff/pickup/${id}`, undefined, options)).status, 404)
  t.strictSame((await request('GET', '/api/staff/pickup', undefined, options)).body.data, [])
})

t.test('a booking keeps an address of its business, and "all" expects its parcels there alone', async t => {
  for (const pickup_address_id of [foreign.id, 999_999, 'x', { id: 1 }])
    t.match(await bulk(batch([order()], { pickup_address_id })), {
      status: 422,
      body: { errors: { 'general_data.pickup_address_id': [/invalid/] } },
    })
  const wrong = await bulk(batch([order({ cod: -1 })], { pickup_address_id: foreign.id }))
  t.strictSame(
    Object.keys(wrong.body.errors).sort(),
    ['general_data.pickup_address_id', 'order_data.0.cod'],
    'all at once',
  )
  const fields = { initial_status_key: 'key_2' }
  const booked = async (pickup_address_id: unknown) =>
    (await bulk(batch([order(fields)], { pickup_address_id }))).body.data[0]
  const [here, there, anywhere] = [await booked(address.id), await booked(` ${other.id} `), await booked('')]
  const both = await Promise.all([booked(address.id), booked(other.id), booked(null)])
  t.equal(new Set(both).size, 3, 'batches that share a statement keep their own address')
  const [{ id: first }, { id: second }] = [
    (await ask({ all: true })).body.data,
    (await ask({ all: true, pickup_address_id: other.id })).body.data,
  ]
  const expected = [(await readPickup(first)).expected, (await readPickup(second)).expected]
  for (const [waybill, isHere, isThere] of [
    [here, true, false],
    [there, false, true],
    [anywhere, true, true],
    [both[0], true, false],
    [both[1], false, true],
    [both[2], true, true],
  ])
    t.strictSame([expected[0].includes(waybill), expected[1].includes(waybill)], [isHere, isThere])
})

t.test('scanning says what is expected, missing and extra; all parcels are picked up in one act', async t => {
  const waybills = await confirm(4)
  const [one, two, three, four] = waybills as [string, string, string, string]
  const { id } = (await ask({ waybill_numbers: [one, two, three] })).body.data
  await move([two], 'key_5')
  const foreigner = (await makeOfBooks(['DM70000950'], { initial_status_key: 'key_2' }))[0]
  const refused = await staffPost(`/pickup/${id}/done`, { waybill_numbers: [one, foreigner, 'DM70009999'] })
  t.match(refused.body.errors, {
    'waybill_numbers.1': [/no parcel of Lanka Shoes/],
    'waybill_numbers.2': [/no parcel/],
  })
  t.equal(await readStatus(one), 'key_2', 'nothing was moved')
  const done = await staffPost(`/pickup/${id}/done`, { waybill_numbers: [one, two, four] })
  t.match(done.body.data, {
    state: 'done',
    scanned: [one, two, four],
    missing: [three],
    extra: [four],
    ended_by: 'Kamal Perera',
  })
  t.strictSame(await Promise.all(waybills.map(readStatus)), ['key_6', 'key_6', 'key_2', 'key_6'])
  t.match(await staffPost(`/pickup/${id}/done`, { waybill_numbers: [three] }), { status: 422 }, 'once')
  const receipts = [`${shop}/pickup/${id}/receipt`, `/api/staff/pickup/${id}/receipt`]
  const tokens = [fixture.token, staffToken]
  for (const [index, url] of receipts.entries()) {
    const headers = { authorization: `Bearer ${tokens[index]}`, 'x-tenant': tenant }
    const { statusCode, headers: got, rawPayload } = await app.inject({ url, headers })
    t.strictSame([statusCode, got['content-type']], [200, 'application/pdf'])
    t.ok(rawPayload.subarray(0, 5).toString() === '%PDF-' && rawPayload.length > 3000)
  }
  t.equal((await get(`/pickup/${id}/receipt`, ofBooks)).status, 404)
})

t.test('a set of statuses without key_6 asks for the status', async t => {
  const short = await ridersTenant(t, { file: { ...tenantFile(), statuses: shortStatuses } })
  const send = (path: string, body: object) => short.request('POST', `${shop}${path}`, body)
  await send('/pickup-address', place)
  const [waybill] = await short.make(['DM00000001'], { initial_status_key: 'key_2' })
  const { id } = (await send('/pickup', { day: today, all: true })).body.data
  const body = { waybill_numbers: [waybill] }
  t.match(await short.staffPost(`/pickup/${id}/done`, body), {
    status: 422,
    body: { errors: { status_key: [/no key_6/] } },
  })
  const [first] = shortStatuses.find(({ key }) => key === 'key_2')?.moves ?? []
  t.match(await short.staffPost(`/pickup/${id}/done`, { ...body, status_key: first }), { status: 200 })
})

t.test('the feed tells each step, and a missed pickup its reason', async t => {
  const { next_cursor: cursor } = (await get('/order/changes?cursor=now')).body
  const { id, day } = (await ask({ parcels: 2, day: today })).body.data
  await staffPost(`/pickup/${id}/assign`, { rider: nimal.name })
  t.match((await staffPost(`/pickup/${id}/assign`, { rider: nimal.name })).body.data.rider, { name: nimal.name })
  t.equal((await get(`/pickup/${id}/receipt`)).status, 404)
  t.match((await staffPost(`/pickup/${id}/missed`, { reason: 'Closed' })).body.data, {
    state: 'missed',
    reason: 'Closed',
  })
  const { data } = (await get(`/order/changes?cursor=${cursor}`)).body
  const details = { pickup_id: String(id), day, business_name: 'Lanka Shoes Online', address_name: 'Shop' }
  t.match(data, [
    { type: 'pickup.requested', waybill_number: null, by: 'merchant', details },
    { type: 'pickup.assigned', by: 'staff', details: { ...details, rider: nimal.name } },
    { type: 'pickup.missed', details: { ...details, rider: nimal.name, reason: 'Closed' } },
  ])
  t.equal(data.length, 3)
  t.match((await staffGet(`/pickup?state=missed&day=${day}&city_id=1500`)).body.data, [{ id }])
  t.strictSame((await staffGet(`/pickup?state=missed&day=${day}&city_id=2100`)).body.data, [])
})

t.test("a pickup cannot be missed before its day has come, by the company's own time", async t => {
  const moveTo = (zone: string) => rows('update tenants set time_zone = $2 where tenant_id = $1', [tenant, zone])
  t.teardown(() => moveTo('Asia/Colombo'))
  // Its day begins 26 hours before that of the other zone.
  await moveTo('Pacific/Kiritimati')
  const { id, day } = (await ask({ parcels: 1, day: (await readFacts()).today })).body.data
  await moveTo('Etc/GMT+12')
  t.match(await staffPost(`/pickup/${id}/missed`, { reason: 'Closed' }), {
    status: 422,
    body: { errors: { pickup: [`The day of the pickup is ${day}: from then on, in Etc/GMT+12, it can be missed.`] } },
  })
  t.match(await readPickup(id), { state: 'open', reason: null })
  await moveTo('Pacific/Kiritimati')
  t.match(await staffPost(`/pickup/${id}/missed`, { reason: 'Closed' }), { status: 200 })
})

t.test('pickup and cancel, edit, confirm later: the parcel that left is said, and cannot be scanned', async t => {
  const [one, two, three] = (await confirm(3)) as [string, string, string]
  const { id } = (await ask({ waybill_numbers: [one, two, three] })).body.data
  await cancel([two])
  await move([three], 'key_5')
  t.equal((await request('PATCH', `${shop}/order/${one}`, { customer_name: 'Somebody Else' })).status, 200)
  t.match(await readPickup(id), { expected: [one, three], gone: [{ waybill_number: two, status: 'key_3 CANCELLED' }] })
  const scanned = await staffPost(`/pickup/${id}/done`, { waybill_numbers: [one, two, three] })
  t.match(scanned.body.errors, { 'waybill_numbers.1': [/CANCELLED: it cannot be picked up/] })
  t.match((await staffPost(`/pickup/${id}/done`, { waybill_numbers: [one, three] })).body.data, {
    missing: [],
    extra: [],
  })
})

t.test('pickup and a parcel that the warehouse received first: it counts, and is not moved back', async t => {
  const [one, two] = (await confirm(2)) as [string, string]
  const { id } = (await ask({ waybill_numbers: [one, two] })).body.data
  await move([two], 'key_9')
  t.match((await staffPost(`/pickup/${id}/done`, { waybill_numbers: [one, two] })).body.data, {
    scanned: [one, two],
    missing: [],
    extra: [],
  })
  t.strictSame([await readStatus(one), await readStatus(two)], ['key_6', 'key_9'])
})

t.test('pickup and undo of its move: the receipt stays as it was, the next pickup expects the parcel', async t => {
  const [one] = (await confirm(1)) as [string]
  const { id } = (await ask({ waybill_numbers: [one] })).body.data
  await staffPost(`/pickup/${id}/done`, { waybill_numbers: [one] })
  t.match(await staffPost(`/order/${one}/take-back`, { reason: 'Wrong parcel' }), { status: 200 })
  t.match(await readPickup(id), { state: 'done', scanned: [one] })
  const next = (await ask({ waybill_numbers: [one] })).body.data
  t.strictSame((await readPickup(next.id)).expected, [one])
})

t.test('pickup, a rider, and the rider leaves: the pickup shows it and gets another', async t => {
  const gone = await fixture.addPerson('Gamini', 'rider')
  const { id } = (await ask({ parcels: 1 })).body.data
  t.match(await staffPost(`/pickup/${id}/assign`, { rider: 'Nobody' }), { status: 422 })
  t.match(await staffPost(`/pickup/${id}/assign`, { rider: gone.name }), { status: 200 })
  await deactivateStaff(pool, { tenant, email: gone.email })
  t.match(await readPickup(id), { rider: { name: gone.name, is_active: false } })
  t.equal((await staffPost(`/pickup/${id}/assign`, { rider: gone.name })).status, 422)
  t.match((await staffPost(`/pickup/${id}/assign`, { rider: nimal.name })).body.data.rider, { name: nimal.name })
})

t.test('two members of staff end a pickup at once: one does', async t => {
  const waybills = await confirm(2)
  const { id } = (await ask({ waybill_numbers: waybills, day: today })).body.data
  const ends = await Promise.all([
    ...[0, 1, 2].map(() => staffPost(`/pickup/${id}/done`, { waybill_numbers: waybills })),
    staffPost(`/pickup/${id}/missed`, { reason: 'Closed' }),
    remove(`/pickup/${id}`),
  ])
  t.strictSame(ends.map(({ status }) => status).filter(status => status === 200).length, 1)
  t.ok(ends.every(({ status }) => [200, 422].includes(status)))
})

t.test('pickups that ended and closed messages are deleted after 400 days; open ones stay', async t => {
  const pickups: number[] = []
  for (const ends of [true, true, false]) {
    const { id } = (await ask({ parcels: 1, day: today })).body.data
    pickups.push(id)
    if (ends) await staffPost(`/pickup/${id}/missed`, { reason: 'Closed' })
  }
  const tickets = []
  for (const subject of ['old', 'new', 'open'])
    tickets.push((await post('/ticket', { ticket_type_id: 2, subject })).body.data.id)
  for (const id of tickets.slice(0, 2)) await staffPost(`/ticket/${id}/close`, {})
  await rows(`update pickups set ended_at = now() - interval '401 days' where pickup_id = $1`, pickups.slice(0, 1))
  await rows(`update tickets set closed_at = now() - interval '401 days' where ticket_id = $1`, tickets.slice(0, 1))
  for (const remove of capability.housekeeping ?? []) t.equal(await inTenant(pool, tenant, tx => remove(tx, tenant)), 1)
  const left = async (path: string, ids: number[]) =>
    (await staffGet(path)).body.data.filter((row: { id: number }) => ids.includes(row.id)).length
  t.strictSame([await left('/pickup', pickups), await left('/ticket', tickets)], [2, 2])
})
