// Reads the order exports of web shops, which their headings give away. Several rows of one order are one parcel, a
// paid order is prepaid, a cancelled one is left out, and what is not clearly one of them has no COD.
import { readMoney } from './numbers.js'

/**
 * Describes an export by its headings in lower case. A list names headings of which the first with a value counts, and
 * `+` joins two. `sides` are the receiver and the payer: an order without a shipping address goes to the payer's, if
 * that is described. `state` tells cancelled orders, `payment` or `method` what is paid, `due` and `total` the amounts.
 * @typedef {{ name: string, needs: string[], order: string, receiver: Record<string, string[]>,
 *   payer: Record<string, string[]>, quantity: string[], item: string[], customer_email: string[], remark: string[],
 *   state: string[], payment?: string, unpaid?: RegExp, method?: string, due?: string, total: string,
 *   refund?: string }} Export
 */
/** @type {readonly Export[]} */
const known = [
  {
    name: 'Shopify',
    needs: ['name', 'financial status', 'lineitem name', 'shipping name', 'total'],
    order: 'name',
    receiver: {
      customer_name: ['shipping name'],
      customer_address: ['shipping street', 'shipping address1+shipping address2'],
      destination: ['shipping city'],
      customer_phone: ['shipping phone'],
    },
    payer: { customer_phone: ['billing phone', 'phone'] },
    quantity: ['lineitem quantity'],
    item: ['lineitem name'],
    customer_email: ['email'],
    remark: ['notes'],
    state: ['cancelled at', 'canceled at', 'financial status'],
    payment: 'financial status',
    unpaid: /^pending$/i,
    due: 'outstanding balance',
    total: 'total',
    refund: 'refunded amount',
  },
  {
    name: 'WooCommerce',
    needs: ['order number', 'order status', 'address 1&2 (shipping)', 'payment method title'],
    order: 'order number',
    receiver: {
      customer_name: ['full name (shipping)', 'first name (shipping)+last name (shipping)'],
      customer_address: ['address 1&2 (shipping)'],
      destination: ['city (shipping)'],
      customer_phone: ['phone (shipping)'],
    },
    payer: {
      customer_name: ['full name (billing)', 'first name (billing)+last name (billing)'],
      customer_address: ['address 1&2 (billing)'],
      destination: ['city (billing)'],
      customer_phone: ['phone (billing)'],
    },
    quantity: ['quantity (- refund)', 'quantity'],
    item: ['item name', 'name'],
    customer_email: ['email (billing)'],
    remark: ['customer note'],
    state: ['order status'],
    method: 'payment method title',
    due: 'order total amount (- refund)',
    total: 'order total amount',
    refund: 'order refund amount',
  },
  {
    name: 'BigCommerce',
    needs: ['order id', 'order status', 'order total (inc tax)', 'shipping street 1', 'payment method'],
    order: 'order id',
    receiver: {
      customer_name: ['shipping first name+shipping last name'],
      customer_address: ['shipping street 1+shipping street 2'],
      destination: ['shipping suburb'],
      customer_phone: ['shipping phone'],
    },
    payer: {
      customer_name: ['billing first name+billing last name'],
      customer_address: ['billing street 1+billing street 2'],
      destination: ['billing suburb'],
      customer_phone: ['billing phone', 'customer phone'],
    },
    quantity: [],
    item: ['product details'],
    customer_email: ['customer email'],
    remark: ['customer message'],
    state: ['order status'],
    method: 'payment method',
    total: 'order total (inc tax)',
    refund: 'refund amount',
  },
  {
    name: 'Wix',
    needs: ['order number', 'recipient name', 'delivery address', 'payment status', 'total'],
    order: 'order number',
    receiver: {
      customer_name: ['recipient name'],
      customer_address: ['delivery address'],
      destination: ['delivery city'],
      customer_phone: ['recipient phone'],
    },
    payer: { customer_phone: ['billing phone'] },
    quantity: ['qty'],
    item: ['item'],
    customer_email: ['contact email'],
    remark: ['note from customer'],
    state: ['payment status', 'fulfillment status'],
    payment: 'payment status',
    unpaid: /^(unpaid|not paid)$/i,
    total: 'total',
    refund: 'refunded amount',
  },
]

/** @param {Export} of @returns {Record<string, string[]>} */
const listHeadings = of => ({
  order_no: [of.order],
  ...of.receiver,
  description: of.item,
  cod: [of.due ?? '', of.total],
  remark: of.remark,
  customer_email: of.customer_email,
})

/** Finds the export that has these headings, and the fields of its headings. @param {string[]} headings */
export const recognise = headings => {
  const names = new Set(headings.map(heading => heading.toLowerCase()))
  const of = known.find(({ needs }) => needs.every(name => names.has(name)))
  const fields = Object.entries(of ? listHeadings(of) : {}).flatMap(([field, lists]) =>
    lists.flatMap(list => list.split('+').map(name => /** @type {[string, string]} */ ([name, field]))),
  )
  return of && { name: of.name, fields: new Map(fields) }
}

const paidStates = /^(processing|completed?|shipped|delivered|awaiting (fulfillment|shipment|pickup))$/i
const stopped = /cancel|void|declined|^refunded$|failed|trash|^\d{4}-/i
const cash = /\bcash\b|\bcod\b|c\.o\.d|on delivery/i
const isZero = (/** @type {string} */ text) => readMoney(text).value === 0

/** Returns what is to be collected: '0' for a paid order, '' where the export does not say it clearly. */
const readCod = (/** @type {Export} */ of, /** @type {(name?: string) => string} */ get) => {
  const [state, method, due, total] = [get(of.payment).replace('_', ' '), get(of.method), get(of.due), get(of.total)]
  const refund = get(of.refund)
  if (of.payment ? /^paid$/i.test(state) : method !== '' && !cash.test(method))
    return of.payment || of.state.some(name => paidStates.test(get(name))) ? '0' : ''
  if (of.payment && /^partially (paid|refunded)$/i.test(state)) return due
  if (of.payment ? !of.unpaid?.test(state) : method === '') return ''
  if (due !== '') return isZero(due) && !isZero(total) ? '' : due
  return refund === '' || isZero(refund) ? total : ''
}

const describe = (/** @type {string} */ quantity, /** @type {string} */ item) =>
  /^[2-9]$|^[1-9]\d+$/.test(quantity) ? `${quantity} x ${item}` : item
/** Reads all products of an order that BigCommerce writes into one cell. */
const readItems = (/** @type {string} */ quantity, /** @type {string} */ item) => {
  const products = [...item.matchAll(/Product Qty: (\d+).*?Product Name: ([^,|]*)/g)]
  return products.length > 0
    ? products.map(([, count, name]) => describe(count, name.trim()))
    : [describe(quantity, item)]
}

/**
 * Reads one order from its rows.
 * @template Row @param {Export} of @param {Row[]} rows @param {(row: Row, heading: string) => string} cell
 */
const readOrder = (of, rows, cell) => {
  const get = (name = '') => rows.map(row => cell(row, name)).find(text => text !== '') ?? ''
  const find = (/** @type {string[]} */ lists = [], mark = ' ') =>
    lists.map(list => list.split('+').map(get).filter(Boolean).join(mark)).find(text => text !== '') ?? ''
  const isAtPayer = of.payer.customer_address && !find(of.receiver.customer_name) && !find(of.receiver.customer_address)
  const side = isAtPayer ? of.payer : of.receiver
  const phone = find(side.customer_phone)
  const cod = readCod(of, get)
  const items = rows.flatMap(row => {
    const [item, quantity] = [of.item, of.quantity].map(names => names.map(name => cell(row, name)).find(Boolean) ?? '')
    return item ? readItems(quantity, item) : []
  })
  const values = {
    order_no: get(of.order),
    customer_name: find(side.customer_name),
    customer_phone: phone || find(of.payer.customer_phone),
    customer_address: find(side.customer_address, ', '),
    destination: find(side.destination),
    cod,
    description: items.join(', '),
    remark: find(of.remark),
    customer_email: find(of.customer_email),
  }
  const isDifferent = [...side.customer_name, ...side.customer_address, of.total]
    .flatMap(list => list.split('+'))
    .some(name => new Set(rows.map(row => cell(row, name)).filter(Boolean)).size > 1)
  const marks = [
    !phone && values.customer_phone && { field: 'customer_phone', code: 'phone_of_billing' },
    cod === '' && { field: 'cod', code: 'payment_unclear' },
    cod === '0' && { field: 'cod', code: 'prepaid_by_export' },
    isDifferent && { field: '', code: 'rows_differ' },
  ].filter(Boolean)
  const leftOut = of.state.some(name => stopped.test(get(name))) ? 'cancelled' : undefined
  return { values, marks: /** @type {{ field: string, code: string }[]} */ (marks), leftOut }
}

/**
 * Reads the rows of an export: the first row of each order is its parcel, the others are parts of it. Wix names the
 * columns of the payer like those of the receiver: the first of equal headings counts.
 * @template {{ cells: string[] }} Row @param {string} name @param {string[]} headings @param {Row[]} rows
 */
export const readExport = (name, headings, rows) => {
  const of = /** @type {Export} */ (known.find(each => each.name === name))
  const at = new Map(
    headings.map((heading, index) => /** @type {[string, number]} */ ([heading.toLowerCase(), index])).reverse(),
  )
  const cell = (/** @type {Row} */ row, /** @type {string} */ heading) => row.cells[at.get(heading) ?? -1] ?? ''
  const orders = Map.groupBy(rows, row => cell(row, of.order) || row)
  return rows.map(row => {
    const parts = /** @type {Row[]} */ (orders.get(cell(row, of.order) || row))
    const part = { values: { order_no: cell(row, of.order) }, marks: [], leftOut: 'part_of_another' }
    return { row, ...(parts[0] === row ? readOrder(of, parts, cell) : part) }
  })
}
