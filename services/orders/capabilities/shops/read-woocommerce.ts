import {
  type Company,
  type Json,
  joinItems,
  joinTexts,
  type Mark,
  type Payment,
  type Place,
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

/** Says which of WooCommerce's own statuses are no parcel; a status that a plugin adds is asked. */
const stays: Readonly<Record<string, Stay>> = {
  pending: 'unpaid',
  failed: 'unpaid',
  completed: 'done',
  cancelled: 'cancelled',
  refunded: 'refunded',
  trash: 'cancelled',
  'checkout-draft': 'draft',
  'auto-draft': 'draft',
}

/**
 * Reads the order of a WooCommerce webhook, whose body is the order of its REST API v3; undefined: it is none. Decides
 * by ids, never by a title, which is in the shop's own words.
 */
export const readWooCommerce = (body: Json, company: Company): ShopOrder | undefined => {
  const id = readText(body.id)
  const status = readText(body.status)
  if (!/^[1-9]\d{0,19}$/.test(id) || status === '') return undefined
  const cod = writeCod(readPayment(body), readText(body.currency), company)
  const { place, marks } = readPlace(body)
  const written = writePlace(place, company)
  const values = {
    ...written.values,
    order_no: readText(body.number) || id,
    cod: cod.cod ?? '',
    description: describe(body),
    remark: readText(body.customer_note),
  }
  const all = [...written.marks, ...marks, ...cod.marks, ...askStatus(status)]
  return { id, changedAt: readTime(body.date_modified_gmt), ...say(values, all, stays[status] ?? findCollected(body)) }
}

/** Lists WooCommerce's own ways by which customers collect their orders in the shop. */
const collecting: readonly string[] = ['local_pickup', 'pickup_location']
const findCollected = ({ shipping_lines }: Json): Stay | undefined => {
  const methods = readList(shipping_lines).map(({ method_id }) => readText(method_id))
  return methods.length > 0 && methods.every(method => collecting.includes(method)) ? 'collected' : undefined
}

/** Asks about an order that the shop holds, and about a status that we do not know. */
const askStatus = (status: string): Mark[] =>
  status === 'processing' || stays[status] ? [] : [{ field: '', code: 'status_word', ask: true, text: status }]

/** Returns what is left to pay; cash that was paid before the delivery, and refunds, are asked. */
const readPayment = (body: Json): Payment => {
  const method = readText(body.payment_method)
  const isPaid = readText(body.date_paid_gmt) !== '' || readText(body.date_paid) !== ''
  const amount = readAmount(body.total)
  const isRefunded = readList(body.refunds).length > 0
  if (isRefunded || (method === 'cod' && isPaid)) {
    const text = joinTexts(', ', method, isPaid ? 'paid' : '', isRefunded ? 'refunds' : '')
    return { kind: 'unclear', text, amount: isRefunded ? undefined : amount }
  }
  if (method === 'cod') return { kind: 'collect', amount }
  if (amount === 0) return { kind: 'paid' }
  return isPaid ? { kind: 'paid' } : { kind: 'unclear', text: `${method || '–'}, not paid`, amount }
}

/** Reads the recipient: the billing fields hold it where the shipping fields are blank. */
const readPlace = ({ billing, shipping }: Json): { place: Place; marks: Mark[] } => {
  const [payer, recipient] = [readObject(billing), readObject(shipping)]
  const isOwn = joinTexts('', recipient.address_1, recipient.address_2) !== ''
  const of = isOwn ? recipient : payer
  const ownPhone = readText(recipient.phone)
  const place = {
    name: joinTexts(' ', of.first_name, of.last_name) || readText(of.company),
    phone: ownPhone || readText(payer.phone),
    address: joinTexts(', ', of.company, of.address_1, of.address_2),
    city: readText(of.city),
    state: readText(of.state),
    postalCode: readText(of.postcode),
    country: readText(of.country),
  }
  const nameOf = (person: Json) => joinTexts(' ', person.first_name, person.last_name).toLowerCase()
  const isPayers = isOwn && ownPhone === '' && nameOf(recipient) !== nameOf(payer)
  return { place, marks: isPayers ? [{ field: 'customer_phone', code: 'phone_of_billing' }] : [] }
}

/** Decodes what WordPress writes in the names of products: `Shoes &amp; socks &#8211; red`. */
const decode = (text: string): string =>
  text.replace(/&(?:#(\d{1,6})|(amp|lt|gt|quot));/g, (_, code, name) => named[name] ?? String.fromCodePoint(code))
const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }

const describe = ({ line_items }: Json): string =>
  joinItems(readList(line_items).map(({ quantity, name }) => joinTexts(' × ', quantity, decode(readText(name)))))
