import type { Test } from 'tap'
import { type Courier, readPhoneMessages, request, waitUntil } from './courier.ts'

/** Describes a confirmed order of the demo's merchant, without the fields that a batch shares. */
export const order = {
  customer_name: 'Nimali Perera',
  customer_address: '24/3 Temple Road',
  customer_phone: '077 000 0177',
  destination_city_id: '1525',
  cod: 4950,
  weight: 0.9,
  initial_status_key: 'key_2',
}

/** Lists a parcel's moves: received at the origin, in transit, at the destination, with the rider, delivered. */
const moves = ['key_9', 'key_10', 'key_11', 'key_12', 'key_13']

/** Follows a parcel of the demo tenant from a merchant's login to the customer's phone. */
export const testJourney = async (t: Test, courier: Courier): Promise<void> => {
  const merchantApi = `${courier.orders}/api/public/merchant`
  const login = await request(`${merchantApi}/login`, {
    body: { email: 'shop@example.com', password: 'lanka-shoes-demo' },
  })
  t.equal(login.status, 200, 'the merchant logs in')
  const { token } = login.body

  const general_data = { merchant_business_id: 7290, origin_city_id: 1511 }
  const booked = await request(`${merchantApi}/order/bulk`, { token, body: { general_data, order_data: [order] } })
  t.equal(booked.status, 200, 'the merchant books an order')
  const [waybill] = booked.body.data as [string]

  const staff = { token: courier.ordersStaff }
  const illegal = await request(`${courier.orders}/api/staff/order/status`, {
    ...staff,
    body: { waybill_numbers: [waybill], status_key: 'key_13' },
  })
  t.equal(illegal.status, 422, 'a parcel that was not picked up cannot be delivered')
  t.match(illegal.body.errors, { 'waybill_numbers.0': [/key_9/] })
  for (const status_key of moves) {
    const body = { waybill_numbers: [waybill], status_key, note: `moved to ${status_key}` }
    t.equal((await request(`${courier.orders}/api/staff/order/status`, { ...staff, body })).status, 200, status_key)
  }

  const phone = await waitUntil(
    'the customer has read all messages',
    () => readPhoneMessages(courier.simulator, '94770000177'),
    messages => messages.filter(({ status }) => status === 'read').length >= 3,
  )
  t.strictSame(
    phone.map(({ template }) => template.name),
    ['order_created', 'order_out_for_delivery', 'order_delivered'],
    'the customer got the messages of the rules in order',
  )
  t.equal(phone[0]?.rendered.header, `Parcel ${waybill}`)
  t.match(phone[0]?.rendered.body, /Nimali Perera, .+ To pay the rider: LKR 4950\./)

  const tracked = await request(`${merchantApi}/order/tracking-info?waybill_number=${waybill}`, { token })
  t.strictSame(
    tracked.body.data.map((event: { status: { key: string } }) => event.status.key),
    ['key_2', ...moves].reverse(),
    'the merchant sees every move, newest first',
  )

  await testTimeline(t, courier, waybill)
  await testComponents(t, courier, waybill)
}

/** Checks that a picture and a button are filled with the order's values, and that a button cannot lack its text. */
const testComponents = async (t: Test, courier: Courier, waybill: string): Promise<void> => {
  const token = courier.notifierStaff
  t.equal((await request(`${courier.notifier}/api/templates/sync`, { token, body: {} })).status, 200)
  const send = (name: string, ...components: unknown[]) => {
    const template = { name, language: { code: 'en_US' }, components }
    return request(`${courier.notifier}/api/messages`, { token, body: { waybill_number: waybill, template } })
  }
  const body = { type: 'body', parameters: [{ type: 'text', text: '{{customer_name}}' }] }
  const image = { type: 'image', image: { link: 'https://example.com/{{waybill_number}}.png' } }
  const button = {
    type: 'button',
    sub_type: 'url',
    index: '0',
    parameters: [{ type: 'text', text: '{{waybill_number}}' }],
  }
  t.match(await send('parcel_tracking', body), {
    status: 422,
    body: { errors: { 'template.components': ['The button 0 of parcel_tracking takes a text: none was given.'] } },
  })
  t.equal((await send('parcel_photo', { type: 'header', parameters: [image] }, body)).status, 202)
  t.equal((await send('parcel_tracking', body, button)).status, 202)
  const messages = await waitUntil(
    'both messages arrive',
    () => readPhoneMessages(courier.simulator, '94770000177'),
    messages => messages.length === 5,
  )
  t.match(messages.at(-2)?.components, [
    { parameters: [{ image: { link: `https://example.com/${waybill}.png` } }] },
    {},
  ])
  t.match(messages.at(-1)?.components, [{}, { index: '0', parameters: [{ text: waybill }] }])
}

interface TimelineEntry {
  kind: string
  at: string
  status_key?: string
  template?: string
  status?: string
}

const testTimeline = async (t: Test, { notifier, notifierStaff }: Courier, waybill: string): Promise<void> => {
  const read = async (): Promise<TimelineEntry[]> => {
    const { body } = await request(`${notifier}/api/timeline/${waybill}`, { token: notifierStaff })
    return body.data.timeline
  }
  const isRead = ({ kind, status }: TimelineEntry) => kind === 'message' && status === 'read'
  const timeline = await waitUntil('every message is read', read, entries => entries.filter(isRead).length === 3)
  t.strictSame(
    timeline.flatMap(({ status_key }) => status_key ?? []),
    ['key_2', ...moves].reverse(),
    'one timeline shows every move',
  )
  const messages = Map.groupBy(
    timeline.filter(({ kind }) => kind === 'message'),
    ({ template }) => template,
  )
  for (const [template, entries] of messages)
    t.ok(entries.some(({ status }) => status === 'queued') && entries.some(isRead), `${template} until it is read`)
  t.equal(messages.size, 3)
  // The messaging API sends whole seconds.
  const seconds = timeline.map(({ at }) => at.slice(0, 19))
  t.strictSame(seconds, seconds.toSorted().reverse(), 'newest first')
}
