import {
  type Company,
  type Json,
  joinItems,
  joinTexts,
  type Mark,
  type Payment,
  readAmount,
  readList,
  readObject,
  readText,
  readTime,
  type ShopOrder,
  type Stay,
  say,
  writeCod,
  writePlace,
} from './shop-order.ts'

/**
 * Reads the order of a Shopify webhook; undefined: the body is none. A test of Shopify's own is an order like any
 * other, which says that it is a test.
 */
export const readShopify = (body: Json, company: Company): ShopOrder | undefined => {
  const id = readText(body.id)
  const status = readText(body.financial_status)
  if (!/^[1-9]\d{0,19}$/.test(id) || !Array.isArray(body.line_items)) return undefined
  const cod = writeCod(readPayment(body, status), readText(body.currency), company)
  const address = readObject(body.shipping_address)
  const ownPhone = readText(address.phone)
  const customer = readObject(body.customer)
  const others = [body, readObject(body.billing_address), customer, readObject(customer.default_address)]
  const phone = [ownPhone, ...others.map(each => readText(each.phone))].find(text => text !== '') ?? ''
  const place = {
    name: readText(address.name) || joinTexts(' ', address.first_name, address.last_name),
    phone,
    address: joinTexts(', ', address.company, address.address1, address.address2),
    city: readText(address.city),
    state: readText(address.province),
    postalCode: readText(address.zip),
    country: readText(address.country_code),
  }
  const written = writePlace(place, company)
  const values = {
    ...written.values,
    order_no: readText(body.name) || id,
    cod: cod.cod ?? '',
    weight: readWeight(body),
    description: describe(body),
    remark: readText(body.note),
  }
  const marks: Mark[] = ownPhone || !phone ? [] : [{ field: 'customer_phone', code: 'phone_of_billing' }]
  const all = [...written.marks, ...marks, ...cod.marks, ...askOrder(body)]
  return { id, changedAt: readTime(body.updated_at), ...say(values, all, findStay(body, status)) }
}

const findStay = (body: Json, status: string): Stay | undefined => {
  if (readText(body.cancelled_at) !== '') return 'cancelled'
  if (status === 'refunded' || status === 'voided') return 'refunded'
  if (readText(body.fulfillment_status) === 'fulfilled') return 'done'
  // Shopify names no address for orders that are collected in the shop.
  return body.shipping_address === null || body.shipping_address === undefined ? 'collected' : undefined
}

const askOrder = (body: Json): Mark[] => {
  const ask = (text: string): Mark => ({ field: '', code: 'status_word', ask: true, text })
  const fulfilled = readText(body.fulfillment_status)
  return [
    ...(body.test === true ? [ask('test')] : []),
    ...(fulfilled !== '' && fulfilled !== 'fulfilled' ? [ask(fulfilled)] : []),
  ]
}

/** Is the name that Shopify gives its own manual gateway, in every language of the shop. */
const codGateway = /^cash on delivery( \(cod\))?$/i

/** Returns what is left to pay: the outstanding amount where Shopify's gateway for cash on delivery is the only one. */
const readPayment = (body: Json, status: string): Payment => {
  const gateways = Array.isArray(body.payment_gateway_names) ? body.payment_gateway_names.map(readText) : []
  const outstanding = readAmount(body.total_outstanding)
  if (status === 'paid' && outstanding === 0) return { kind: 'paid' }
  const isCod = gateways.length > 0 && gateways.every(name => codGateway.test(name))
  const amount = outstanding ?? readAmount(body.current_total_price)
  if (status === 'pending' && isCod && outstanding !== undefined) return { kind: 'collect', amount: outstanding }
  return { kind: 'unclear', text: joinTexts(', ', status, ...gateways), amount }
}

/** Returns the items that are left after edits: Shopify keeps removed items in the list. */
const readItems = ({ line_items }: Json) =>
  readList(line_items)
    .map(item => ({ ...item, quantity: item.current_quantity ?? item.quantity }) as Json)
    .filter(({ quantity }) => readAmount(quantity) !== 0)

/** Returns kilograms; '' where the shop weighs nothing, or not every item. */
const readWeight = (body: Json): string => {
  const items = readItems(body)
  const grams = items.map(item => (readAmount(item.grams) ?? 0) * (readAmount(item.quantity) ?? 0))
  return items.length > 0 && grams.every(each => each > 0)
    ? String(grams.reduce((sum, each) => sum + each, 0) / 1000)
    : ''
}

const describe = (body: Json): string =>
  joinItems(
    readItems(body).map(({ quantity, name, title }) => joinTexts(' × ', quantity, readText(name) || readText(title))),
  )
