// Books a batch: node book.ts FILE
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import createClient from 'openapi-fetch'
import type { components, paths } from './orders.d.ts'

// npm start keeps its addresses in its data folder.
const started = await readFile(`${process.env.DATA_DIR ?? '.data'}/start.pid`, 'utf8').catch(() => '')
const address = /orders +(\S+)/.exec(started)?.[1] ?? 'http://127.0.0.1:3000'
const { COURIER_URL = address, COURIER_TENANT = 'demo', COURIER_CITY = 'Kotte' } = process.env
const { COURIER_EMAIL = 'shop@example.com', COURIER_PASSWORD = 'lanka-shoes-demo' } = process.env
const courier = createClient<paths>({ baseUrl: COURIER_URL })
const header = { 'X-tenant': COURIER_TENANT }

const findValue = (body: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], body)

/** Prints each error of what was sent with its value and similar places, and exits. */
const fail = ({ message, errors = {}, suggestions = {} }: components['schemas']['Error'], sent?: unknown): never => {
  console.error(message)
  for (const [path, sentences] of Object.entries(errors)) {
    const value = findValue(sent, path)
    // A city of the same name is in another state.
    const isSame = (name: string) => name.toLowerCase() === String(value).toLowerCase()
    const places = (suggestions[path] ?? [])
      .map(({ name, state }) => (isSame(name) ? `${name} in ${state}` : name))
      .join(' or ')
    for (const sentence of sentences) {
      const named = value === undefined ? sentence : sentence.replace(/(?= (is|has|must) )/, () => ` ${value}`)
      console.error(`${path}: ${named}${places && ` Did you mean ${places}?`}`)
    }
  }
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
const created = booked.data ?? fail(booked.error, batch)
if (created.dry_run) throw new Error(created.message)
const [waybill = ''] = created.data
console.log(`First waybill: ${waybill}`)

const tracking = await courier.GET('/api/public/merchant/order/tracking-info', {
  params: { header, query: { waybill_number: waybill } },
})
const [event] = (tracking.data ?? fail(tracking.error)).data
console.log(`Its status: ${event?.status.name}`)
