// Reads the order exports of web shops, which their headings give away. Several rows of one order are one parcel, a
// paid order is prepaid, a cancelled one is left out, and what is not clearly one of them has no COD.
import { readMoney } from './numbers.js'

const ofWoo = (/** @type {string} */ side) => [
  `full name (${side})|first name (${side})+last name (${side})`,
  ...[`address 1&2 (${side})`, `city (${side})`, `phone (${side})`],
]
const ofBigCommerce = (/** @type {string} */ side) => [
  ...[`${side} first name+${side} last name`, `${side} street 1+${side} street 2`, `${side} suburb`, `${side} phone`],
]

/**
 * Describes an export by its headings in lower case: of `a|b` the first with a value counts, and `a+b` are joined.
 * `receiver` and `payer` are name, address, city and phone; an order without a receiver goes to the payer, if the payer
 * has a name here. `state` says that an order is cancelled, and `payment` or `method` what is paid already.
 * @typedef {{ name: string, needs: string[], order: string, receiver: string[], payer: string[], quantity: string,
 *   item: string, email: string, remark: string, state: string[], payment?: string, unpaid?: RegExp, method?: string,
 *   due?: string, total: string, refund: string }} Export
 */
/** @type {readonly Export[]} */
const known = [
  {
    ...{
      name: 'Shopify',
      needs: ['name', 'financial status', 'lineitem name', 'shipping name', 'total'],
      order: 'name',
    },
    receiver: [
      'shipping name',
      'shipping street|shipping address1+shipping address2',
      'shipping city',
      'shipping phone',
    ],
    payer: ['', '', '', 'billing phone|phone'],
    ...{ quantity: 'lineitem quantity', item: 'lineitem name', email: 'email', remark: 'notes' },
    ...{
      state: ['cancelled at', 'canceled at', 'financial status'],
      payment: 'financial status',
      unpaid: /^pending$/i,
    },
    ...{ due: 'outstanding balance', total: 'total', refund: 'refunded amount' },
  },
  {
    ...{
      name: 'WooCommerce',
      needs: ['order number', 'order status', 'address 1&2 (shipping)', 'payment method title'],
    },
    ...{ order: 'order number', receiver: ofWoo('shipping'), payer: ofWoo('billing') },
    ...{ quantity: 'quantity (- refund)|quantity', item: 'item name|name', email: 'email (billing)' },
    ...{ remark: 'customer note', state: ['order status'], method: 'payment method title' },
    ...{ due: 'order total amount (- refund)', total: 'order total amount', refund: 'order refund amount' },
  },
  {
    ...{ name: 'BigCommerce', needs: ['order id', 'order status', 'order total (inc tax)', 'shipping street 1'] },
    ...{ order: 'order id', receiver: ofBigCommerce('shipping'), payer: ofBigCommerce('billing') },
    ...{ quantity: '', item: 'product details', email: 'customer email', remark: 'customer message' },
    ...{ state: ['order status'], method: 'payment method', total: 'order total (inc tax)', refund: 'refund amount' },
  },
  {
    ...{ name: 'Wix', needs: ['order number', 'recipient name', 'delivery address', 'payment status', 'total'] },
    ...{ order: 'order number', payer: ['', '', '', 'billing phone'] },
    receiver: ['recipient name', 'delivery address', 'delivery city', 'recipient phone'],
    ...{ quantity: 'qty', item: 'item', email: 'contact email', remark: 'note from customer' },
    ...{ state: ['payment status', 'fulfillment status'], payment: 'payment status', unpaid: /^(unpaid|not paid)$/i },
    ...{ total: 'total', refund: 'refunded amount' },
  },
]
const person = ['customer_name', 'customer_address', 'destination', 'customer_phone']

/** Finds the export that has these headings, and the fields of its headings. @param {string[]} headings */
export const recognise = headings => {
  const names = new Set(headings.map(heading => heading.toLowerCase()))
  const of = known.find(({ needs }) => needs.every(name => names.has(name)))
  if (!of) return undefined
  const { order: order_no, item: description, total, due = total, remark, email: customer_email } = of
  const lists = { order_no, description, cod: names.has(due) ? due : total, remark, customer_email }
  const fields = [...Object.entries(lists), ...person.map((field, index) => [field, of.receiver[index]])]
  const choose = (/** @type {string} */ list) =>
    list
      .split('|')
      .map(each => each.split('+'))
      .find(each => each.every(name => names.has(name))) ?? []
  return { name: of.name, fields: new Map(fields.flatMap(([field, list]) => choose(list).map(name => [name, field]))) }
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

/** Reads one order from its rows. @param {Export} of @param {((heading: string) => string)[]} rows */
const readOrder = (of, rows) => {
  const get = (name = '') => rows.map(read => read(name)).find(text => text !== '') ?? ''
  const find = (/** @type {string} */ list, /** @type {(name: string) => string} */ read = get, mark = ' ') =>
    list
      .split('|')
      .map(names => names.split('+').map(read).filter(Boolean).join(mark))
      .find(Boolean) ?? ''
  const side = of.payer[0] && !find(of.receiver[0]) && !find(of.receiver[1]) ? of.payer : of.receiver
  const [name, address, city, phone] = side.map(list => find(list, get, list === side[1] ? ', ' : ' '))
  const cod = readCod(of, get)
  const values = {
    ...{ order_no: get(of.order), customer_name: name, customer_phone: phone || find(of.payer[3]) },
    ...{ customer_address: address, destination: city, cod, remark: find(of.remark), customer_email: find(of.email) },
    description: rows.flatMap(read => readItems(find(of.quantity, read), find(of.item, read))).join(', '),
  }
  const isDifferent = [side[0], side[1], of.total]
    .flatMap(list => list.split(/[|+]/))
    .some(heading => new Set(rows.map(read => read(heading)).filter(Boolean)).size > 1)
  const marks = [
    ...(!phone && values.customer_phone ? [{ field: 'customer_phone', code: 'phone_of_billing' }] : []),
    ...(cod === '' ? [{ field: 'cod', code: 'payment_unclear' }] : []),
    ...(cod === '0' ? [{ field: 'cod', code: 'prepaid_by_export' }] : []),
    ...(isDifferent ? [{ field: '', code: 'rows_differ' }] : []),
  ]
  return { values, marks, leftOut: of.state.some(heading => stopped.test(get(heading))) ? 'cancelled' : undefined }
}

/**
 * Reads the rows of an export: the first row of each order is its parcel, the others are parts of it. Wix names the
 * columns of the payer like those of the receiver: the first of equal headings counts.
 * @param {string} name @param {string[]} headings @param {string[][]} rows
 */
export const readExport = (name, headings, rows) => {
  const of = /** @type {Export} */ (known.find(each => each.name === name))
  const names = headings.map(heading => heading.toLowerCase())
  const readers = rows.map(cells => (/** @type {string} */ heading) => cells[names.indexOf(heading)] ?? '')
  const orders = Map.groupBy(readers, read => read(of.order) || read)
  return readers.map(read => {
    const parts = orders.get(read(of.order) || read) ?? []
    const part = { values: { order_no: read(of.order) }, marks: [], leftOut: 'part_of_another' }
    return parts[0] === read ? readOrder(of, parts) : part
  })
}
