// Books a batch: node book.ts FILE
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import createClient from 'openapi-fetch'
import type { components, paths } from './orders.d.ts'

const { COURIER_URL = 'http://127.0.0.1:3000', COURIER_TENANT = 'demo', COURIER_CITY = 'Kotte' } = process.env
const { COURIER_EMAIL = 'shop@example.com', COURIER_PASSWORD = 'lanka-shoes-demo' } = process.env
const courier = createClient<paths>({ baseUrl: COURIER_URL })
const header = { 'X-tenant': COURIER_TENANT }

/** Prints each error with its field, and exits. */
const fail = ({ message, errors = {} }: components['schemas']['Error']): never => {
  console.error(message)
  for (const [field, sentences] of Object.entries(errors))
    for (const sentence of sentences) console.error(`${field}: ${sentence}`)
  process.exit(1)
}

const login = await courier.POST('/api/public/merchant/login', {
  params: { header },
  body: { email: COURIER_EMAIL, password: COURIER_PASSWORD },
})
const { token } = login.data ?? fail(login.error)
courier.use({
  onRequest({ request }) {
    request.headers.set('Authorization', `Bearer ${token}`)
  },
})

const cities = await courier.GET('/api/public/merchant/city', {
  params: { header, query: { 'filter[name]': COURIER_CITY } },
})
const [city] = (cities.data ?? fail(cities.error)).data
if (!city) throw new Error('There is no such city.')
console.log(`The parcels start in ${city.name}, ${city.state.name}`)

const text = await readFile(process.argv[2] ?? '', 'utf8')
const batch: components['schemas']['Batch'] = JSON.parse(text)
batch.general_data.origin_city_id = String(city.id)
// The same file gets the same key: a second run books nothing.
const key = `typescript-${createHash('sha256').update(text).digest('hex')}`
const booked = await courier.POST('/api/public/merchant/order/bulk', {
  params: { header: { ...header, 'Idempotency-Key': key } },
  body: batch,
})
const created = booked.data ?? fail(booked.error)
if (created.dry_run) throw new Error(created.message)
const [waybill = ''] = created.data
console.log(`First waybill: ${waybill}`)

const tracking = await courier.GET('/api/public/merchant/order/tracking-info', {
  params: { header, query: { waybill_number: waybill } },
})
const [event] = (tracking.data ?? fail(tracking.error)).data
console.log(`Its status: ${event?.status.name}`)
