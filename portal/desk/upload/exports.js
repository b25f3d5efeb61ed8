// Reads the order exports of web shops, which their headings give away. Several rows of one order are one parcel, a
// paid order is prepaid, a cancelled one is left out, and what is not clearly one of them has no COD.
import { readMoney } from './numbers.js'
import { readState, speaksOfPayment } from './other-cells.js'
import { readWords } from './words.js'

/**
 * Describes an export by its headings in lower case: of `a|b` the first with a value counts, and `a+b` are joined.
 * `receiver` and `payer` are name, address, city, phone, company, state and postal code; an order without a receiver
 * goes to the payer, if the payer has a name here. `state` says that an order is cancelled, `travel` whether it was
 * sent, and `payment` or `method` what is paid already. A `manual` method says nothing; `isDoneOpen` where a completed
 * order may not be sent yet.
 * @typedef {{ name: string, order_no: string, receiver: string[], payer: string[], quantity?: string, item?: string,
 *   email: string, remark: string, state: string[], payment?: string, manual?: RegExp, method?: string, due?: string,
 *   total: string, refund: string, travel: string, isDoneOpen?: true, needs: string[] }} Export
 */
const known = [
  {
    name: 'Shopify',
    fields: 'order_no=name; quantity=lineitem quantity; item=lineitem name; email=email; remark=notes',
    money:
      'payment=financial status; method=payment method; due=outstanding balance; total=total; refund=refunded amount',
    receiver: `shipping name; shipping street|shipping address1+shipping address2; shipping city; shipping phone;
      shipping company; shipping province name|shipping province; shipping zip`,
    payer: '; ; ; billing phone|phone',
    travel: 'fulfillment status',
    state: 'cancelled at; canceled at; financial status',
    needs: 'shipping name; lineitem name',
  },
  {
    name: 'WooCommerce',
    fields: `order_no=order number; quantity=quantity (- refund)|quantity; item=item name|name; email=email (billing);
      remark=customer note`,
    money: `method=payment method|payment method title; due=order total amount (- refund); total=order total amount;
      refund=order refund amount`,
    receiver: `full name (shipping)|first name (shipping)+last name (shipping); address 1&2 (shipping);
      city (shipping); phone (shipping); company (shipping); state name (shipping)|state code (shipping);
      postcode (shipping)`,
    payer: `full name (billing)|first name (billing)+last name (billing); address 1&2 (billing); city (billing);
      phone (billing); company (billing); state name (billing)|state code (billing); postcode (billing)`,
    travel: 'order status',
    isDoneOpen: true,
    state: 'order status',
    needs: 'address 1&2 (shipping)',
  },
  {
    name: 'WooCommerce CSV',
    fields: 'order_no=order_number; email=billing_email; remark=customer_note',
    money: 'method=payment_method|payment_method_title; total=order_total',
    receiver: `shipping_first_name+shipping_last_name; shipping_address_1+shipping_address_2; shipping_city;
      shipping_phone; shipping_company; shipping_state; shipping_postcode`,
    payer: `billing_first_name+billing_last_name; billing_address_1+billing_address_2; billing_city; billing_phone;
      billing_company; billing_state; billing_postcode`,
    travel: 'status',
    isDoneOpen: true,
    state: 'status',
    needs: 'shipping_address_1; billing_address_1; order_total',
  },
  {
    name: 'BigCommerce',
    fields: 'order_no=order id; email=customer email; remark=customer message',
    money: 'method=payment method; total=order total (inc tax); refund=refund amount',
    receiver: `shipping first name+shipping last name; shipping street 1+shipping street 2; shipping suburb;
      shipping phone; shipping company; shipping state; shipping zip`,
    payer: `billing first name+billing last name; billing street 1+billing street 2; billing suburb; billing phone;
      billing company; billing state; billing zip`,
    travel: 'order status',
    state: 'order status',
    needs: 'shipping street 1',
  },
  {
    name: 'Wix',
    fields: 'order_no=order number; quantity=qty; item=item; email=contact email; remark=note from customer',
    money: 'payment=payment status; method=payment method; total=total; refund=refunded amount',
    manual: /^(manual|offline)( payment)?$/i,
    travel: 'fulfillment status',
    receiver: `recipient name; delivery address; delivery city; recipient phone; recipient company name; delivery state;
      delivery zip/postal code|delivery postal code|delivery zip`,
    payer: '; ; ; billing phone',
    state: 'payment status; fulfillment status',
    needs: 'recipient name; delivery address',
  },
].map(({ fields, money, receiver, payer, state, needs, ...rest }) => {
  const split = (/** @type {string} */ text) => text.split(/;\s*/)
  const named = Object.fromEntries([...split(fields), ...split(money)].map(each => each.split('=')))
  const all = [
    named.order_no,
    (named.payment ?? named.method).split('|').at(-1),
    ...split(state).slice(-1),
    ...split(needs),
  ]
  const lists = { receiver: split(receiver), payer: split(payer), state: split(state), needs: all }
  return /** @type {Export} */ ({ ...rest, ...named, ...lists })
})
const person = [
  ...['customer_name', 'customer_address', 'destination', 'customer_phone', 'customer_address', 'state_name'],
  'postal_code',
]

/** Finds the export that has these headings, and the fields of its headings. @param {string[]} headings */
export const recognise = headings => {
  const names = new Set(headings.map(heading => heading.toLowerCase()))
  const of = known.find(({ needs }) => needs.every(name => names.has(name)))
  if (!of) return undefined
  const { order_no, item: description = '', total, due = total, remark, email: customer_email } = of
  const lists = { order_no, description, cod: names.has(due) ? due : total, remark, customer_email }
  const fields = [...Object.entries(lists), ...person.map((field, index) => [field, of.receiver[index] ?? ''])]
  const choose = (/** @type {string} */ list) => splitList(list).find(each => each.every(name => names.has(name))) ?? []
  return { name: of.name, fields: new Map(fields.flatMap(([field, list]) => choose(list).map(name => [name, field]))) }
}
const splitList = (/** @type {string} */ list) => list.split('|').map(names => names.split('+'))

const stopped = /cancel|void|declined|^refunded$|trash|^\d{4}-/i
const isZero = (/** @type {string} */ text) => readMoney(text).value === 0

/**
 * Returns what is to be collected: '0' for a paid order, and '' with a question where the export does not say it
 * clearly.
 * @param {Export} of @param {(names?: string) => string} find
 */
const readCod = (of, find) => {
  const [state, method, total, refund] = [of.payment, of.method, of.total, of.refund].map(each => find(each))
  const [paid, by, order] = [state, method, find(of.travel)].map(readWords)
  const due = find(of.due)
  const full = due !== '' ? (isZero(due) && !isZero(total) ? '' : due) : refund === '' || isZero(refund) ? total : ''
  const doubt = (/** @type {string[]} */ ...words) => {
    const text = words.filter(Boolean).join(', ') || '–'
    return {
      cod: '',
      mark: { field: 'cod', code: 'payment_unclear', ask: true, text, amount: paid === 'part' ? '' : full },
    }
  }
  if (of.payment) {
    if (paid === 'paid') return of.due && due !== '' && !isZero(due) ? doubt(state, due) : { cod: '0' }
    if (paid === 'part') return due === '' ? doubt(state) : { cod: due }
    const isManual = of.manual?.test(method)
    if (!/^(due|pending)$/.test(paid) || !(isManual || /^(cod|due|)$/.test(by))) return doubt(state, method)
  } else if (/^(online|paid)$/.test(by))
    return order === 'go' || order === 'done' ? { cod: '0' } : doubt(method, find(of.travel))
  else if (by !== 'cod' || order === 'done') return doubt(method, find(of.travel))
  if (speaksOfPayment(find(of.remark))) return doubt(find(of.remark).slice(0, 60))
  return full === '' ? doubt(state, method) : { cod: full }
}

/** Reads one order from its rows. @param {Export} of @param {((heading: string) => string)[]} rows */
const readOrder = (of, rows) => {
  const get = (name = '') => rows.map(read => read(name)).find(text => text !== '') ?? ''
  const find = (list = '', read = get, mark = ' ') =>
    splitList(list).flatMap(names => names.map(read).filter(Boolean).join(mark) || [])[0] ?? ''
  const side = of.payer[0] && !find(of.receiver[0]) && !find(of.receiver[1]) ? of.payer : of.receiver
  const [name, address, city, phone, company = '', state_name = '', postal_code = ''] = side.map((list, at) =>
    find(list, get, at === 1 ? ', ' : ' '),
  )
  const describe = (/** @type {any} */ read) =>
    `${find(of.quantity, read)} x ${find(of.item, read)}`.replace(/^1? x |^.* x $/, '')
  const { cod, mark } = readCod(of, find)
  const values = {
    ...{ order_no: get(of.order_no), customer_name: name, customer_phone: phone || find(of.payer[3]) },
    ...{ customer_address: address && [company, address].filter(Boolean).join(', ') },
    ...{ destination: city, state_name, postal_code, cod, remark: find(of.remark) },
    ...{ customer_email: find(of.email), description: rows.flatMap(read => describe(read) || []).join(', ') },
  }
  const isDifferent = splitList([side[0], side[1], of.total].join('|'))
    .flat()
    .some(heading => rows.some(read => read(heading) && read(heading) !== get(heading)))
  const marks = [
    ...(!phone && values.customer_phone ? [{ field: 'customer_phone', code: 'phone_of_billing' }] : []),
    ...(mark ? [mark] : []),
    ...(values.cod === '0' ? [{ field: 'cod', code: 'prepaid_by_export' }] : []),
    ...(isDifferent ? [{ field: '', code: 'rows_differ' }] : []),
  ]
  if (of.state.some(heading => stopped.test(get(heading)))) return { values, marks, leftOut: 'cancelled' }
  const text = find(of.travel)
  const says = of.isDoneOpen && readWords(text) === 'done' ? 'go' : readState(text)
  const isAsked = says === 'unknown' || (says === 'hold' && mark)
  if (isAsked) marks.push({ field: '', code: 'status_word', ask: true, text })
  return { values, marks, leftOut: says === 'go' || isAsked ? undefined : text }
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
  const orders = new Map()
  for (const read of readers) {
    const key = read(of.order_no) || read
    orders
      .set(key, orders.get(key) ?? [])
      .get(key)
      .push(read)
  }
  return readers.map(read => {
    const parts = orders.get(read(of.order_no) || read) ?? []
    const part = { values: { order_no: read(of.order_no) }, marks: [], leftOut: 'part_of_another' }
    return parts[0] === read ? readOrder(of, parts) : part
  })
}
