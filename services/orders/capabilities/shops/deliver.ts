import { inTenant } from '@courier/shared/postgres/database.ts'
import { wordReason } from '@courier/shared/service-client.ts'
import type pg from 'pg'
import { type Dispatcher, request } from 'undici'
import type { Catalogues } from '../../core/catalogue/catalogue.ts'
import type { Tx } from '../../core/database/tables.ts'
import { writeTrackingUrl } from '../../core/tracking/order-view.ts'
import { findUrlProblem } from '../feed/addresses.ts'
import { type Deliver, none, requestMilliseconds } from '../feed/post.ts'
import type { Attempt } from '../feed/settle.ts'
import { readList, readObject, readText } from './shop-order.ts'
import { type Credentials, nothingToSay } from './write-back.ts'

/** Is the version of Shopify's Admin API, which is kept for a year. */
const shopifyVersion = '2026-10'

interface Linked {
  readonly order_id: string
  readonly is_booking: boolean
}

const linkedSql = `
  select o.order_id, false as is_booking from shop_orders o join shops on shops.tenant_id = o.tenant_id
    and shops.shop_id = o.shop_id and shops.endpoint_id = $3
  where o.tenant_id = $1 and o.waybill_number = $2 and o.state = 'booked'
  union all
  select '', true from shop_bookings where tenant_id = $1 and merchant_id = (
    select merchant_id from shops where tenant_id = $1 and endpoint_id = $3)`

/** Sends one request to the shop; throws what failed. */
type Call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) => Promise<unknown>

/** Is what the shop responded, other than success. */
class Refused extends Error {
  readonly attempt: Pick<Attempt, 'code' | 'responseBody'>
  constructor(code: number, body: string) {
    super('refused')
    this.attempt = { code, responseBody: body.slice(0, 1_024).toWellFormed().replaceAll('\0', '') }
  }
}

interface Fact {
  readonly orderId: string
  readonly waybill: string
  readonly trackingUrl: string
  /** undefined: the order was just booked. */
  readonly statusKey: string | undefined
}

interface DeliverOptions {
  readonly pool: pg.Pool
  readonly catalogues: Catalogues
  /** undefined: notes hold no link. */
  readonly publicUrl?: string | undefined
}

/** Creates the target of the feed that writes to shops. Each request repeats safely: it looks first. */
export const createDeliverToShop =
  ({ pool, catalogues, publicUrl }: DeliverOptions): Deliver =>
  async ({ dispatcher, allowsPrivate }, { url, secrets, body, tenant, endpointId }, aborted) => {
    const { type, data } = readObject(JSON.parse(body)) as { type: string; data: Record<string, unknown> }
    const waybill = readText(data.waybill_number)
    const found = await inTenant(pool, tenant, (tx: Tx) =>
      tx.rows<Linked & object>(linkedSql, [tenant, waybill, endpointId]),
    )
    const linked = found.find(row => !row.is_booking)
    // Until a booking is finished, nobody knows whether the parcel is the shop's.
    if (!linked && found.length > 0) return { ...none, error: 'its booking is not finished' }
    if (!linked) return { ...none, code: nothingToSay }
    const problem = findUrlProblem(url, allowsPrivate)
    if (problem !== undefined) return { ...none, error: `the address ${problem}` }
    const credentials: Credentials = JSON.parse(secrets[0] ?? '{}')
    const statusKey = type === 'order.created' ? undefined : readText(readObject(data.status).key)
    const trackingUrl = publicUrl ? writeTrackingUrl(publicUrl, await catalogues.current(tenant), waybill) : ''
    const fact = { orderId: linked.order_id, waybill, trackingUrl, statusKey }
    const started = performance.now()
    const limit = AbortSignal.timeout(requestMilliseconds)
    const call = createCall({
      dispatcher,
      url,
      credentials,
      signal: aborted ? AbortSignal.any([aborted, limit]) : limit,
    })
    const attempt = await writers[credentials.kind === 'shopify' ? 'shopify' : 'woocommerce'](call, credentials, fact)
      .then(isSaid => ({ ...none, code: isSaid ? 200 : nothingToSay }))
      .catch((error: unknown) => {
        aborted?.throwIfAborted()
        return error instanceof Refused ? { ...none, ...error.attempt } : { ...none, error: wordReason(error) }
      })
    return { ...attempt, milliseconds: Math.round(performance.now() - started) }
  }

interface CallOptions {
  readonly dispatcher: Dispatcher
  readonly url: string
  readonly credentials: Credentials
  readonly signal: AbortSignal
}

const maxResponse = 262_144

const createCall = ({ dispatcher, url, credentials, signal }: CallOptions): Call => {
  const { kind, key, secret } = credentials
  const basic = `Basic ${Buffer.from(`${key}:${secret}`).toString('base64')}`
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Courier',
    ...(kind === 'shopify' ? { 'x-shopify-access-token': key } : { authorization: basic }),
  }
  return async (method, path, body) => {
    const given = body ? { body: JSON.stringify(body) } : {}
    const response = await request(new URL(path, url), { dispatcher, method, headers, signal, ...given })
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of response.body) {
      bytes += part.length
      if (bytes > maxResponse) throw new Error('the response is too large')
      parts.push(part)
    }
    const text = Buffer.concat(parts).toString('utf8')
    if (response.statusCode < 200 || response.statusCode > 299) throw new Refused(response.statusCode, text)
    try {
      return JSON.parse(text)
    } catch {
      throw new Refused(response.statusCode === 200 ? 502 : response.statusCode, text)
    }
  }
}

/** Returns true if something was said to the shop. */
type Write = (call: Call, credentials: Credentials, fact: Fact) => Promise<boolean>

const writeToWooCommerce: Write = async (call, { statuses }, { orderId, waybill, trackingUrl, statusKey }) => {
  const order = `wp-json/wc/v3/orders/${orderId}`
  if (statusKey !== undefined) {
    const status = statuses[statusKey]
    if (status === undefined) return false
    await call('PUT', order, { status })
    return true
  }
  const notes = await call('GET', `${order}/notes`)
  if (!readList(notes).some(({ note }) => readText(note).includes(waybill)))
    await call('POST', `${order}/notes`, {
      note: [waybill, trackingUrl].filter(Boolean).join(' '),
      customer_note: true,
    })
  return true
}

const openSql = `query ($id: ID!) { order(id: $id) { fulfillmentOrders(first: 20) { nodes { id status } } } }`
const fulfilSql = `mutation ($fulfillment: FulfillmentInput!) {
  fulfillmentCreate(fulfillment: $fulfillment) { fulfillment { id } userErrors { message } } }`

const writeToShopify: Write = async (call, { statuses }, { orderId, waybill, trackingUrl, statusKey }) => {
  if (statusKey === undefined || statuses[statusKey] === undefined) return false
  const ask = async (query: string, variables: object) => {
    const body = readObject(await call('POST', `admin/api/${shopifyVersion}/graphql.json`, { query, variables }))
    const { errors, data } = body
    if (errors !== undefined) throw new Refused(422, JSON.stringify(errors))
    return readObject(data)
  }
  const { order } = await ask(openSql, { id: `gid://shopify/Order/${orderId}` })
  const all = readList(readObject(readObject(order).fulfillmentOrders).nodes)
  const open = all.filter(({ status }) => status === 'OPEN' || status === 'IN_PROGRESS')
  if (open.length === 0) return false
  const trackingInfo = { number: waybill, company: 'Courier', ...(trackingUrl && { url: trackingUrl }) }
  const lineItemsByFulfillmentOrder = open.map(({ id }) => ({ fulfillmentOrderId: id }))
  const fulfillment = { lineItemsByFulfillmentOrder, trackingInfo, notifyCustomer: false }
  const { fulfillmentCreate } = await ask(fulfilSql, { fulfillment })
  const { userErrors } = readObject(fulfillmentCreate)
  if (readList(userErrors).length > 0) throw new Refused(422, JSON.stringify(userErrors))
  return true
}

const writers = { woocommerce: writeToWooCommerce, shopify: writeToShopify }
