import { loadCapabilities } from '@courier/shared/capabilities.ts'
import t from 'tap'
import { launch } from '../../../../dev/service-process.ts'
import { capabilities } from '../../capabilities.ts'
import { serviceToken } from '../../test/build.ts'
import { ordersFixture, tenantFixture } from '../../test/orders-fixture.ts'
import { tenantFile } from '../../test/tenant.ts'

const shop = '/api/public/merchant'
const place = { name: 'Shop', address: '12 Temple Road', city_id: 1500, phone: '0112000100' }
type Fixture = Awaited<ReturnType<typeof tenantFixture>>
const createSenders = ({ request, staffToken }: Fixture) => ({
  post: (path: string, body: unknown, options = {}) => request('POST', `${shop}${path}`, body, options),
  staffPost: (path: string, body: object) => request('POST', `/api/staff${path}`, body, { token: staffToken }),
})

const fixture = await tenantFixture(t)
const { make, get, staffGet, app, token, tenant, booksToken } = fixture
const { today } = await fixture.readFacts()
const { post, staffPost } = createSenders(fixture)

/** Sends a form as the published programs do. */
const sendForm = async (fields: [string, string][], prefix = shop, raw?: string) => {
  const form = new FormData()
  for (const [name, value] of fields) form.append(name, value)
  const packed = new Response(form)
  const type = packed.headers.get('content-type') ?? ''
  const response = await app.inject({
    method: 'POST',
    url: `${prefix}/ticket`,
    headers: { authorization: `Bearer ${token}`, 'x-tenant': tenant, 'content-type': type },
    payload: raw ?? Buffer.from(await packed.arrayBuffer()),
  })
  return { status: response.statusCode, body: response.json() }
}
const pickupForm: [string, string][] = [
  ['ticket_type_id', '4'],
  ['subject', 'Pickup'],
  ['message', 'Please come before noon'],
]

t.test(
  'a ticket of type 4, as a form, is a pickup of all confirmed parcels today, with its text as the note',
  async t => {
    const waybills = await make(['DM00000001', 'DM00000002'], { initial_status_key: 'key_2' })
    await make(['DM00000003'])
    const first = await sendForm(pickupForm)
    t.match(first, { status: 200, body: { message: 'Ticket Created Successfully', data: { id: Number } } })
    const [pickup] = (await staffGet('/pickup')).body.data
    t.match(pickup, { all: true, day: today, address: null, note: 'Pickup\nPlease come before noon', state: 'open' })
    t.strictSame((await staffGet(`/pickup/${pickup.id}`)).body.data.expected, waybills)
    t.equal((await sendForm(pickupForm, '/api/merchant')).status, 200)
    t.equal((await staffGet('/pickup')).body.data.length, 1, 'the second is added to the first')
    t.match(await staffPost(`/pickup/${pickup.id}/done`, { waybill_numbers: waybills }), { status: 200 })
    t.match((await get('/ticket')).body.data, [{ closed_at: String }, { closed_at: String }])
  },
)

t.test('any other ticket is a message, which staff answer and close', async t => {
  const { data } = (await post('/ticket', { ticket_type_id: 2, subject: ' Late ', message: 'When?' })).body
  t.match((await staffGet('/ticket')).body.data[0], { id: data.id, subject: 'Late', merchant: { name: 'Lanka Shoes' } })
  t.match(await staffPost(`/ticket/${data.id}/reply`, { text: 'At noon' }), { status: 200 })
  t.match((await staffPost(`/ticket/${data.id}/close`, {})).body.data, { closed_at: String })
  t.match(await staffPost(`/ticket/${data.id}/close`, {}), { status: 422 })
  t.match(await staffPost(`/ticket/${data.id}/reply`, { text: 'Again' }), { status: 422 })
  t.match(
    (await get('/ticket')).body.data.find((each: { id: number }) => each.id === data.id),
    {
      replies: [{ text: 'At noon', by: 'Kamal Perera' }],
    },
  )
  t.strictSame((await get('/ticket', { token: booksToken })).body.data, [])
  t.equal((await staffPost('/ticket/999/close', {})).status, 404)
})

t.test('refuses forms and tickets that it does not understand', async t => {
  t.equal(
    (
      await sendForm([
        ['ticket_type_id', '4'],
        ['ticket_type_id', '2'],
        ['subject', 'x'],
      ])
    ).status,
    400,
  )
  t.equal((await sendForm([], shop, 'no form at all')).status, 400)
  for (const body of [
    {},
    { ticket_type_id: 'x', subject: 'a' },
    { ticket_type_id: 2 },
    { ticket_type_id: 2, subject: ' ' },
  ])
    t.equal((await post('/ticket', body)).status, 422, JSON.stringify(body))
  t.equal((await post('/ticket', { ticket_type_id: 2, subject: 'a', message: '\u0000' })).status, 422)
  t.equal(
    (
      await sendForm([
        ['ticket_type_id', '2'],
        ['subject', 'a\u0000b'],
      ])
    ).status,
    422,
  )
})

t.test('pickups work where riders are left out, and a company whose pickups are open keeps them', async t => {
  const loaded = await loadCapabilities(capabilities, 'labels,pickups,people')
  const own = await ordersFixture(t, { file: tenantFile(), capabilities: loaded })
  const senders = createSenders(own)
  await senders.post('/pickup-address', place)
  const [waybill] = await own.make(['DM00000001'], { initial_status_key: 'key_2' })
  const { id } = (await senders.post('/pickup', { day: today, all: true })).body.data
  t.match(await senders.staffPost(`/pickup/${id}/assign`, { rider: 'Nimal' }), { status: 422 }, 'nobody has the role')
  t.match((await senders.staffPost(`/pickup/${id}/done`, { waybill_numbers: [waybill] })).body.data, { missing: [] })
})

t.test('a process killed while a pickup is counted leaves all of it or nothing', async t => {
  const own = await ordersFixture(t)
  const senders = createSenders(own)
  await senders.post('/pickup-address', place)
  const waybills = Array.from({ length: 300 }, (_, n) => `DM${String(n + 1).padStart(8, '0')}`)
  await own.make(waybills, { initial_status_key: 'key_2' })
  const { id } = (await senders.post('/pickup', { day: today, waybill_numbers: waybills })).body.data
  for (const milliseconds of [15, 30, 60, 120]) {
    const service = launch(t, 'services/orders/main.ts', {
      ...{
        ORDERS_DATABASE_URL: own.database.url,
        ORDERS_MIGRATE_DATABASE_URL: own.database.ownerUrl,
        ORDERS_PORT: '0',
      },
      ...{ SERVICE_TOKEN: serviceToken },
    })
    const address = await service.listening()
    const headers = {
      authorization: `Bearer ${own.staffToken}`,
      'x-tenant': tenant,
      'content-type': 'application/json',
    }
    const body = JSON.stringify({ waybill_numbers: waybills })
    const sent = fetch(`${address}/api/staff/pickup/${id}/done`, { method: 'POST', headers, body }).catch(
      () => undefined,
    )
    await new Promise(resolve => setTimeout(resolve, milliseconds))
    service.child.kill('SIGKILL')
    await Promise.all([service.ended, sent])
    const [found] = await own.rows(
      `select state, cardinality(scanned) as scanned,
        (select count(*)::int from orders where status_key = 'key_6') as moved,
        (select count(*)::int from log where type = 'pickup.done') as entries from pickups`,
    )
    t.ok(
      [
        ['open', null, 0, 0],
        ['done', 300, 300, 1],
      ].some(each => JSON.stringify(each) === JSON.stringify(Object.values(found))),
      JSON.stringify(found),
    )
  }
  const last = await senders.staffPost(`/pickup/${id}/done`, { waybill_numbers: waybills })
  t.ok([200, 422].includes(last.status))
  t.match((await own.rows('select state, scanned from pickups'))[0], { state: 'done', scanned: waybills })
})
