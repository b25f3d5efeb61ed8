import type { OpenApi, Operation } from '@courier/shared/api-docs/openapi.ts'

/** Holds the demo's values, so that a run needs no input. */
const values = {
  orders: 'http://127.0.0.1:3000',
  notifier: 'http://127.0.0.1:3001',
  tenant: 'demo',
  email: 'shop@example.com',
  password: 'lanka-shoes-demo',
  staff_email: 'admin@courier.example',
  staff_password: 'courier-demo',
  phone: '94770000101',
  phone_number_id: '106540352242922',
}

/** Names the values that later requests take from the response of each operation. */
const kept: Readonly<Record<string, Record<string, string>>> = {
  logIn: { token: 'token' },
  logInStaff: { staff_token: 'token' },
  listBusinesses: { business: 'data[0].id' },
  listStates: { state: 'data[0].id' },
  listCities: { city: 'data[0].id' },
  createOrders: { waybill: 'data[0]' },
  createOrder: { waybill_2: 'data[0]' },
  addPerson: { person: 'data.id' },
  createToken: { program_token: 'data.id' },
  createWebhook: { webhook: 'data.id' },
  listMerchants: { merchant_id: 'data[0].id' },
  listCustomerRequests: { requests: 'data[0]?.id' },
  sendMessage: { messages: 'data.id' },
}

/** Names the requests to orders that the requests to the notifier need. */
const first: typeof kept = {
  logInStaff: { staff_token: 'token' },
  listAllOrders: { waybill: 'data[0].waybill_number' },
}

/** Lists the requests that end something that others need. They come last, in this order. */
const last = ['cancelOrders', 'deleteWebhook', 'logOut', 'logOutStaff']

interface Entry {
  service: string
  method: string
  path: string
  operation: Operation
}

const findEntries = (service: string, { paths }: OpenApi): Entry[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      // Leaves out the requests that only the services and the messaging API send.
      .filter(() => !/^\/(internal|webhooks)\//.test(path))
      .map(([method, operation]) => ({ service, method: method.toUpperCase(), path, operation })),
  )

/**
 * Builds a collection in Postman's format 2.1, which Bruno and Insomnia import too, with a folder for each tag. The
 * collection runs from top to bottom. The notifier's collection begins with two requests to orders: a login, and the
 * newest parcel.
 */
export const toCollection = (service: string, documents: Readonly<Record<string, OpenApi>>): object => {
  const { orders, [service]: document = orders } = documents
  if (!orders || !document) throw new Error(`There is no document of ${service}.`)
  const entries = findEntries(service, document)
  const readId = ({ operation: { operationId = '' } }: Entry): string => operationId
  const toItems = (all: Entry[], keep = kept) => all.map(entry => toItem(entry, keep[readId(entry)]))
  const folders = document.tags.map(({ name, description }) => ({
    name,
    description,
    item: toItems(entries.filter(entry => entry.operation.tags?.includes(name) && !last.includes(readId(entry)))),
  }))
  const begins = findEntries('orders', orders).filter(entry => readId(entry) in first)
  const start = { name: 'start', description: 'The login and the newest parcel.', item: toItems(begins, first) }
  const ends = last.flatMap(id => entries.filter(entry => readId(entry) === id))
  const end = { name: 'end', description: 'The requests that end the run.', item: toItems(ends) }
  const { title: name, description } = document.info
  return {
    info: { name, description, schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json' },
    variable: Object.entries(values).map(([key, value]) => ({ key, value })),
    item: [...(service === 'orders' ? [] : [start]), ...folders, end].filter(({ item }) => item.length > 0),
  }
}

const toItem = ({ service, method, path, operation }: Entry, keep?: Record<string, string>): object => {
  const { operationId = '', summary = '', description, security = [], parameters = [], requestBody } = operation
  const named = (where: string) => parameters.filter(parameter => parameter.in === where)
  const body = requestBody && findExample(operationId, requestBody.content['application/json'] ?? {})
  const raw = path.replaceAll(/\{(\w+)\}/g, ':$1')
  const headers = named('header').map(({ name, required }) => ({
    key: name,
    value: name === 'X-tenant' ? '{{tenant}}' : name === 'Idempotency-Key' ? '{{$guid}}' : '',
    disabled: !required,
  }))
  const isForMerchant = path.startsWith('/api/public/')
  const auth = { type: 'bearer', bearer: [{ key: 'token', value: isForMerchant ? '{{token}}' : '{{staff_token}}' }] }
  return {
    name: summary,
    ...(keep && { event: [{ listen: 'test', script: { exec: keepIn(keep) } }] }),
    request: {
      method,
      ...(description && { description }),
      auth: security.length === 0 ? { type: 'noauth' } : auth,
      header: [...headers, ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }])],
      url: {
        raw: `{{${service}}}${raw}`,
        host: [`{{${service}}}`],
        path: raw.slice(1).split('/'),
        query: named('query').map(({ name, description = '' }) => {
          const isWaybill = /^waybill_numbers?$/.test(name) && !operationId.startsWith('list')
          return { key: name, value: isWaybill ? '{{waybill}}' : '', description, disabled: !isWaybill }
        }),
        variable: named('path').map(({ name, description = '' }) => ({
          key: name,
          value: `{{${name === 'id' ? nameId(path) : name}}}`,
          description,
        })),
      },
      ...(body !== undefined && { body: { mode: 'raw', raw: body, options: { raw: { language: 'json' } } } }),
    },
  }
}

/** Names an id after its resource: `webhook` for /webhook/{id}. The name `token` belongs to the bearer token. */
const nameId = (path: string): string => {
  const parts = path.split('/')
  const resource = parts[parts.indexOf('{id}') - 1] ?? 'id'
  return resource === 'token' ? 'program_token' : resource
}

/** Replaces the documented examples of these operations. */
const bodies: Readonly<Record<string, object>> = {
  logIn: { email: '{{email}}', password: '{{password}}' },
  logInStaff: { email: '{{staff_email}}', password: '{{staff_password}}' },
  addPerson: { name: 'Kamal Perera', email: 'kamal@shop.example', role: 'clerk', password: 'a-long-password' },
  // Cancels the second parcel, since the first is already in transit.
  cancelOrders: { waybill_numbers: ['{{waybill_2}}'] },
}

const findExample = (id: string, { example, examples = {} }: { example?: unknown; examples?: object }): string => {
  const body = bodies[id] ?? example ?? Object.values(examples)[0]?.value
  const text = JSON.stringify(body, null, 2)
  return text.replaceAll('"DM00000001"', '"{{waybill}}"').replaceAll(/"DM0000000\d"/g, '"{{waybill_2}}"')
}

const keepIn = (variables: Record<string, string>): string[] => [
  'const body = pm.response.json()',
  ...Object.entries(variables).map(([name, from]) => `pm.collectionVariables.set('${name}', body.${from})`),
]
