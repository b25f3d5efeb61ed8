import type { Test } from 'tap'
import { type ApiResponse, expectRefusal, expectShape, type MerchantClient } from './merchant-client.ts'
import { findStatus } from './merchant-page.ts'

const required = {
  status: 422,
  errors: { waybill_number: /^The waybill number field is required\.$/ },
}
const stranger401 = { status: 401, message: /^Unauthenticated\.$/ }
const unknown = { status: 404, message: /^The requested waybill does not exist in the system$/ }
const customer = {
  customer_name: 'Dilhani Wickramasinghe',
  customer_address: '118/7 Lotus Grove',
  customer_phone: '0771234589',
  customer_secondary_phone: '0719876543',
  customer_email: 'dilhani.w@example.com',
}
const person = { first_name: String, last_name: String }
const event = {
  status: { key: String, name: String, color: String },
  date_time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
  date_time_ago: /^\d+ (second|minute|hour|day|week|month|year)s? ago$/,
  user: person,
}
interface TrackingEvent {
  status: { key: string; name: string; color: string }
  date_time: string
  user: { first_name: string; last_name: string }
}

interface Parties {
  client: MerchantClient
  stranger: MerchantClient
  passerBy: MerchantClient
  /** Moves a parcel as a member of the courier's staff. */
  move: (waybill: string, status_key: string) => Promise<unknown>
}

export const testTracking = async (t: Test, parties: Parties): Promise<void> => {
  const { client, move } = parties
  const { body } = await client.createOrder({
    general_data: { merchant_business_id: 7290, origin_city_id: 1511 },
    order_data: [{ ...customer, destination_city_id: 1525, cod: 1500, weight: 1, initial_status_key: 'key_2' }],
  })
  const [waybill] = body.data as [string]
  for (const key of ['key_9', 'key_10']) await move(waybill, key)
  await t.test('a merchant tracks a parcel', t => testMerchantTracking(t, parties, waybill))
  await t.test('a merchant reads the finance status of a parcel', t => testFinance(t, parties, waybill))
  await t.test('anyone may track a parcel', t => testPublicTracking(t, parties, waybill))
}

/** `more` are fields that only the public timeline has. */
const testEvents = (t: Test, events: TrackingEvent[], more: object = {}): void => {
  expectShape(t, events as never[], { ...event, ...more }, 'tracking')
  for (const { status } of events) t.strictSame(status, findStatus(status.key), 'the status is one of the list')
  t.strictSame(
    events.map(({ status }) => status.key),
    ['key_10', 'key_9', 'key_2'],
    'newest first',
  )
  for (const [index, { user, date_time }] of events.entries()) {
    t.strictSame(Object.keys(user).sort(), ['first_name', 'last_name'])
    t.ok(date_time >= (events[index + 1]?.date_time ?? ''), 'the times are in order too')
    t.ok(Math.abs(Date.now() - Date.parse(date_time)) < 120_000, 'the time is in UTC')
  }
}

const testMerchantTracking = async (t: Test, { client, stranger, passerBy }: Parties, waybill: string) => {
  const { status, body } = await client.tracking(waybill)
  t.equal(status, 200)
  t.strictSame(Object.keys(body), ['data'])
  testEvents(t, body.data)
  const { first_name, last_name } = (await client.currentUser()).body.data
  const ruwan = { first_name: 'Ruwan', last_name: '' }
  t.strictSame(
    body.data.map(({ user }: TrackingEvent) => user),
    [ruwan, ruwan, { first_name, last_name }],
    'each event names the person who caused it',
  )
  const omitAge = ({ body }: ApiResponse) =>
    body.data.map(({ date_time_ago, ...event }: { date_time_ago: string }) => event)
  const inBody = { waybill_number: waybill }
  const path = '/api/public/merchant/order/tracking-info'
  const ways: Record<string, (given?: unknown) => Promise<ApiResponse>> = {
    'by a GET with a body': waybill_number => client.trackingByGetBody({ waybill_number }),
    'by a POST': waybill_number => client.trackingByPost({ waybill_number }),
    'by a POST with the waybill in the query': (waybill_number = '') =>
      client.send(path, { method: 'POST', query: { waybill_number: String(waybill_number ?? '') } }),
    'by a GET': given => client.tracking(given ?? ''),
  }
  for (const [name, ask] of Object.entries(ways)) {
    t.strictSame(omitAge(await ask(waybill)), omitAge({ body } as ApiResponse), name)
    for (const none of [undefined, null, '']) expectRefusal(t, await ask(none), required)
    expectRefusal(t, await ask('DM99999999'), unknown)
  }
  expectRefusal(t, await client.tracking(), required)
  const withMore = { ...inBody, order_no: null, language: 'en' }
  t.equal((await client.trackingByPost(withMore)).status, 200, 'unknown fields are ignored')
  expectRefusal(t, await stranger.tracking(waybill), unknown)
  expectRefusal(t, await passerBy.tracking(waybill), stranger401)
}

const testFinance = async (t: Test, { client, stranger, passerBy }: Parties, waybill: string) => {
  for (const prefix of ['/api/public/merchant', '/api/merchant']) {
    const response = await client.financeStatus(waybill, prefix)
    t.equal(response.status, 200)
    t.strictSame(response.body, {
      data: { waybill_number: waybill, finance_status: 'Pending', invoice_ref_no: null, invoice_no: null },
    })
    expectRefusal(t, await client.financeStatus(undefined, prefix), required)
    expectRefusal(t, await client.financeStatus('DM99999999', prefix), unknown)
    expectRefusal(t, await stranger.financeStatus(waybill, prefix), unknown)
    expectRefusal(t, await passerBy.financeStatus(waybill, prefix), stranger401)
  }
}

const testPublicTracking = async (t: Test, { client, passerBy }: Parties, waybill: string) => {
  for (const anyone of [passerBy, client]) {
    const { status, body } = await anyone.publicTracking({ waybill_number: waybill })
    t.equal(status, 200)
    t.strictSame(Object.keys(body), ['data'])
    t.strictSame(Object.keys(body.data).sort(), ['order', 'timeline'])
    testEvents(t, body.data.timeline, { proofs: Array })
    t.type(body.data.order, Object)
    t.notOk(Array.isArray(body.data.order))
    const text = JSON.stringify(body)
    for (const secret of ['Dilhani', 'Wickramasinghe', 'Lotus', '118/7', '771234589', '719876543', 'example.com'])
      t.notOk(text.includes(secret), `nothing shows ${secret}`)
  }
  for (const none of [{}, { waybill_number: null }, { waybill_number: '' }])
    expectRefusal(t, await passerBy.publicTracking(none), required)
  expectRefusal(t, await passerBy.publicTracking({ waybill_number: 'DM99999999' }), unknown)
}
