// Reads the order exports of web shops, which their headings give away. Several rows of one order are one parcel, a
// paid order is prepaid, a cancelled one is left out, and what is not clearly one of them has no COD.
import { readMoney } from './numbers.js'

/**
 * Describes an export by its headings in lower case: of `a|b` the first with a value counts, and `a+b` are joined.
 * `receiver` and `payer` are name, address, city and phone; an order without a receiver goes to the payer, if the payer
 * has a name here. `state` says that an order is cancelled, and `payment` or `method` what is paid already.
 * @typedef {{ name: string, order_no: string, receiver: string[], payer: string[], quantity?: string, item?: string,
 *   email: string, remark: string, state: string[], payment?: string, unpaid?: RegExp, method?: string, due?: string,
 *   total: string, refund: string, needs: string[] }} Export
 */
const known = [
  {
    name: 'Shopify',
    fields: 'order_no=name; quantity=lineitem quantity; item=lineitem name; email=email; remark=notes',
    money: 'payment=financial status; due=outstanding balance; total=total; refund=refunded amount',
    unpaid: /^pending$/i,
    receiver: 'shipping name; shipping street|shipping address1+shipping address2; shipping city; shipping phone',
    payer: '; ; ; billing phone|phone',
    state: 'cancelled at; canceled at; financial status',
    needs: 'shipping name; lineitem name',
  },
  {
    name: 'WooCommerce',
    fields: `order_no=order number; quantity=quantity (- refund)|quantity; item=item name|name; email=email (billing);
      remark=customer note`,
    money: `method=payment method title; due=order total amount (- refund); total=order total amount;
      refund=order refund amount`,
    receiver: `full name (shipping)|first name (shipping)+last name (shipping); address 1&2 (shipping);
      city (shipping); phone (shipping)`,
    payer: `full name (billing)|first name (billing)+last name (billing); address 1&2 (billing); city (billing);
      phone (billing)`,
    state: 'order status',
    needs: 'address 1&2 (shipping)',
  },
  {
    name: 'BigCommerce',
    fields: 'order_no=order id; email=customer email; remark=customer message',
    money: 'method=payment method; total=order total (inc tax); refund=refund amount',
    receiver: `shipping first name+shipping last name; shipping street 1+shipping street 2; shipping suburb;
      shipping phone`,
    payer: 'billing first name+billing last name; billing street 1+billing street 2; billing suburb; billing phone',
    state: 'order status',
    needs: 'shipping street 1',
  },
  {
    name: 'Wix',
    fields: 'order_no=order number; quantity=qty; item=item; email=contact email; remark=note from customer',
    money: 'payment=payment status; total=total; refund=refunded amount',
    unpaid: /^(unpaid|not paid)$/i,
    receiver: 'recipient name; delivery address; delivery city; recipient phone',
    payer: '; ; ; billing phone',
    state: 'payment status; fulfillment status',
    needs: 'recipient name; delivery address',
  },
].map(({ fields, money, receiver, payer, state, needs, ...rest }) => {
  const split = (/** @type {string} */ text) => text.split(/;\s*/)
  const named = Object.fromEntries([...split(fields), ...split(money)].map(each => each.split('=')))
  const all = [named.order_no, named.payment ?? named.method, ...split(state).slice(-1), ...split(needs)]
  const lists = { receiver: split(receiver), payer: split(payer), state: split(state), needs: all }
  return /** @type {Export} */ ({ ...rest, ...named, ...lists })
})
const person = ['customer_name', 'customer_address', 'destination', 'customer_phone']

/** Finds the export that has these headings, and the fields of its headings. @param {string[]} headings */
export const recognise = headings => {
  const names = new Set(headings.map(heading => heading.toLowerCase()))
  const of = known.find(({ needs }) => needs.every(name => names.has(name)))
  if (!of) return undefined
  const { order_no, item: description = '', total, due = total, remark, email: customer_email } = of
  const lists = { order_no, description, cod: names.has(due) ? due : total, remark, customer_email }
  const fields = [...Object.entries(lists), ...person.map((field, index) => [field, of.receiver[index]])]
  const choose = (/** @type {string} */ list) => splitList(list).find(each => each.every(name => names.has(name))) ?? []
  return { name: of.name, fields: new Map(fields.flatMap(([field, list]) => choose(list).map(name => [name, field]))) }
}
const splitList = (/** @type {string} */ list) => list.split('|').map(names => names.split('+'))

const paidStates = /^(processing|completed?|shipped|delivered|awaiting (fulfillment|shipment|pickup))$/i
const stopped = /cancel|void|declined|^refunded$|failed|trash|^\d{4}-/i
/** Returns true where a method of payment is cash at the door; eZ Cash and mCash are paid online. */
export const isCash = (/** @type {string} */ text) =>
  /(?<!\be-?z? ?)\bcash\b(?! ?app)|\bcod\b|c\.o\.d|on ?delivery/i.test(text)
const isZero = (/** @type {string} */ text) => readMoney(text).value === 0

/** Names a state in which a shop may have collected the cash: WooCommerce counts a completed order as paid. */
export const isCompleted = (/** @type {string} */ state) => /^(wc-)?(completed?|delivered|shipped)$/i.test(state)

/** Returns what is to be collected: '0' for a paid order, '' where the export does not say it clearly. */
const readCod = (/** @type {Export} */ of, /** @type {(name?: string) => string} */ get) => {
  const [state, method, due, total] = [get(of.payment).replace('_', ' '), get(of.method), get(of.due), get(of.total)]
  const refund = get(of.refund)
  if (of.payment ? /^paid$/i.test(state) : method !== '' && !isCash(method))
    return of.payment || of.state.some(name => paidStates.test(get(name))) ? '0' : ''
  if (of.payment && /^partially (paid|refunded)$/i.test(state)) return due
  if (of.payment ? !of.unpaid?.test(state) : method === '' || of.state.some(name => isCompleted(get(name)))) return ''
  if (due !== '') return isZero(due) && !isZero(total) ? '' : due
  return refund === '' || isZero(refund) ? total : ''
}

/** Reads one order from its rows. @param {Export} of @param {((heading: string) => string)[]} rows */
const readOrder = (of, rows) => {
  const get = (name = '') => rows.map(read => read(name)).find(text => text !== '') ?? ''
  const find = (list = '', read = get, mark = ' ') =>
    splitList(list).flatMap(names => names.map(read).filter(Boolean).join(mark) || [])[0] ?? ''
  const side = of.payer[0] && !find(of.receiver[0]) && !find(of.receiver[1]) ? of.payer : of.receiver
  const [name, address, city, phone] = side.map(list => find(list, get, list === side[1] ? ', ' : ' '))
  const describe = (/** @type {any} */ read) =>
    `${find(of.quantity, read)} x ${find(of.item, read)}`.replace(/^1? x |^.* x $/, '')
  const values = {
    ...{ order_no: get(of.order_no), customer_name: name, customer_phone: phone || find(of.payer[3]) },
    ...{ customer_address: address, destination: city, cod: readCod(of, get), remark: find(of.remark) },
    ...{ customer_email: find(of.email), description: rows.flatMap(read => describe(read) || []).join(', ') },
  }
  const isDifferent = splitList([side[0], side[1], of.total].join('|'))
    .flat()
    .some(heading => rows.some(read => read(heading) && read(heading) !== get(heading)))
  const marks = [
    ...(!phone && values.customer_phone ? [{ field: 'customer_phone', code: 'phone_of_billing' }] : []),
    ...(values.cod === '' ? [{ field: 'cod', code: 'payment_unclear' }] : []),
    ...(values.cod === '0' ? [{ field: 'cod', code: 'prepaid_by_export' }] : []),
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
  const orders = Map.groupBy(readers, read => read(of.order_no) || read)
  return readers.map(read => {
    const parts = orders.get(read(of.order_no) || read) ?? []
    const part = { values: { order_no: read(of.order_no) }, marks: [], leftOut: 'part_of_another' }
    return parts[0] === read ? readOrder(of, parts) : part
  })
}
