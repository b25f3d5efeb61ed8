import type { Test } from 'tap'
import { sendBytes, type WireResponse } from './programs/wire.ts'

export type ApiResponse = WireResponse

/** Maps the fields of a query to values; `true` makes the field a bare word: `?noPagination`. */
export type Query = Record<string, string | number | true>

interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  query?: Query | undefined
  body?: unknown
  text?: string | undefined
}

interface Settings {
  base: string
  tenant: string
  /** Holds the header's name as the program's author spelled it. */
  tenantHeader?: string
  token?: string
}

const merchantPrefix = '/api/public/merchant'

/**
 * Creates a client as small as merchants' own programs are: one function per request of the merchant API.
 * The client follows only the description of that API and imports nothing from the services.
 */
export const createMerchantClient = ({ base, tenant, tenantHeader = 'X-tenant', token = '' }: Settings) => {
  const common = { Accept: 'application/json', 'Content-Type': 'application/json', [tenantHeader]: tenant }
  let bearer = token
  const headers = () => ({ ...common, ...(bearer && { Authorization: `Bearer ${bearer}` }) })
  const send = (path: string, { method = 'GET', query, body, text = toJson(body) }: RequestOptions = {}) =>
    sendBytes(base, `${method} ${path}${toQuery(query)}`, Object.entries(headers()), text)
  const get = (path: string, query?: Query) => send(merchantPrefix + path, { query })
  const post = (path: string, body: unknown) => send(merchantPrefix + path, { method: 'POST', body })
  const byWaybill = (waybill?: unknown): Query => (waybill === undefined ? {} : { waybill_number: String(waybill) })
  return {
    send,
    login: async (email: string, password: string): Promise<ApiResponse> => {
      const response = await post('/login', { email, password })
      if (response.status === 200) bearer = response.body.token
      return response
    },
    currentUser: () => get('/user/get-current'),
    businesses: (query?: Query) => get('/business', query),
    states: (query?: Query) => get('/state', query),
    cities: (query?: Query) => get('/city', query),
    createOrder: (body: unknown) => post('/order/single', body),
    createOrders: (body: unknown) => post('/order/bulk', body),
    /** Sends bodies that `JSON.stringify` cannot write, such as `1500.0`. */
    createOrdersText: (text: string) => send(`${merchantPrefix}/order/bulk`, { method: 'POST', text }),
    statuses: (query?: Query) => get('/order/status-list', query),
    tracking: (waybill?: unknown) => get('/order/tracking-info', byWaybill(waybill)),
    /** Sends a GET with a body, as PHP's curl does but `fetch` refuses to do. */
    trackingByGetBody: (body: unknown) => send(`${merchantPrefix}/order/tracking-info`, { body }),
    trackingByPost: (body: unknown) => post('/order/tracking-info', body),
    financeStatus: (waybill?: unknown, prefix = merchantPrefix) =>
      send(`${prefix}/order/waybill-finance-status`, { query: byWaybill(waybill) }),
    publicTracking: (body: unknown) => send('/api/public/order/tracking-info', { method: 'POST', body }),
  }
}

export type MerchantClient = ReturnType<typeof createMerchantClient>

/** Returns the sentences that a client shows to its user: `message`, then every string under `errors`. */
export const listSentences = ({ body }: ApiResponse): string[] => [
  body.message,
  ...Object.values(body.errors ?? {}).flat(),
]

/** Checks an error response: its status and message, and that `errors` has only these fields, with matching texts. */
export const expectRefusal = (
  t: Test,
  response: ApiResponse,
  { status = 422, message = 'The given data was invalid.' as unknown, errors = {} as Record<string, RegExp> },
): void => {
  const fields = Object.keys(errors)
  t.equal(response.status, status)
  t.match(response.body.message, message)
  t.strictSame(Object.keys(response.body), fields.length > 0 ? ['message', 'code', 'errors'] : ['message', 'code'])
  t.strictSame(Object.keys(response.body.errors ?? {}).sort(), fields.sort())
  for (const [field, sentence] of Object.entries(errors)) t.match(response.body.errors?.[field], [sentence], field)
}

export type Row = Record<string, unknown>

/** Checks that every row has exactly these fields, each with its type. A null in the shape admits any value. */
export const expectShape = (t: Test, rows: Row[], shape: Row, what: string): void => {
  const typed = Object.fromEntries(Object.entries(shape).filter(([, type]) => type !== null))
  t.ok(rows.length > 0, what)
  for (const row of rows) {
    t.strictSame(Object.keys(row).sort(), Object.keys(shape).sort(), `a row of ${what}`)
    t.match(row, typed, `a row of ${what}`)
  }
}

const toJson = (body: unknown): string | undefined => (body === undefined ? undefined : JSON.stringify(body))

const toQuery = (query: Query = {}): string => {
  const words = Object.entries(query).map(([name, value]) =>
    value === true ? name : `${name}=${encodeURIComponent(value)}`,
  )
  return words.length > 0 ? `?${words.join('&')}` : ''
}
