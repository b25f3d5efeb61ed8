import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../dev/settings.ts'

// The type check of portal/ covers these files.
const { parseSheet } = await import(join(root, 'portal/desk/read-sheet.js'))
const { assign, chooseColumns } = await import(join(root, 'portal/desk/upload/columns.js'))
const { toRows } = await import(join(root, 'portal/desk/upload/to-rows.js'))
const { findProblem, readMoney, readWeight } = await import(join(root, 'portal/desk/upload/numbers.js'))

interface Column {
  readonly index: number
  readonly heading: string
  readonly field: string
}
interface Row {
  readonly line: number
  readonly values: Record<string, string>
  readonly marks: { field: string; code: string }[]
  readonly leftOut?: string
  readonly weightUnit: string
}

const choose = (text: string, ...more: unknown[]) => chooseColumns(parseSheet(text), ...more)
const readAll = (text: string): Row[] => toRows(parseSheet(text), choose(text))
const example = (name: string): string => readFileSync(join(root, 'examples/sheets', name), 'utf8')
const codes = ({ marks }: Row): string[] => marks.map(({ field, code }) => `${field} ${code}`)

/** Lists the headings of each field, and the questions, such as `cod?`. */
const fieldsOf = (headings: string, cells = ''): Record<string, string> => {
  const { columns, asked } = choose(`${headings}\n${cells}`)
  const fields: Record<string, string> = {}
  for (const { field, heading } of columns as Column[])
    if (field)
      fields[field.replace('customer_', '')] = [fields[field.replace('customer_', '')], heading]
        .filter(Boolean)
        .join(' + ')
  for (const { field, options } of asked)
    fields[`${field.replace('customer_', '')}?`] = options
      .map((option: number[]) => option.map(index => columns[index].heading).join(' + '))
      .join(' or ')
  return fields
}

t.test('chooses columns by weight, asks at a tie, and takes no price, fee or quantity for the COD', t => {
  const table: [string, Record<string, string>][] = [
    [
      'Order ID,Sender,Sender Contact,From Address,Recipient,Recipient Contact No,To Address,Destination City,Parcel Weight (gms),COD Amount (Rs),Delivery Charge',
      {
        order_no: 'Order ID',
        name: 'Recipient',
        phone: 'Recipient Contact No',
        address: 'To Address',
        destination: 'Destination City',
        weight: 'Parcel Weight (gms)',
        cod: 'COD Amount (Rs)',
      },
    ],
    [
      'Buyer Name,Buyer Phone,Ship To Name,Ship To Phone,Ship To Address,Payable',
      { name: 'Ship To Name', phone: 'Ship To Phone', address: 'Ship To Address', cod: 'Payable' },
    ],
    ['Total Tax,Total Discount,Unit Price,Qty,Subtotal,Total Qty,Shipping,COD Fee', {}],
    ['Name,Subtotal,Total', { name: 'Name', cod: 'Total' }],
    ['Name,Total,C.O.D.', { name: 'Name', cod: 'C.O.D.' }],
    ['Name,Total,Advance,Balance', { name: 'Name', cod: 'Balance' }],
    ['Name,Total,Cash', { name: 'Name', cod: 'Cash' }],
    ['Name,Total incl. delivery,Delivery Fee', { name: 'Name', cod: 'Total incl. delivery' }],
    ['Name,Grand Total (LKR),To collect', { name: 'Name', cod: 'To collect' }],
    ['Name,Item,Amt', { name: 'Name', description: 'Item', cod: 'Amt' }],
    ['Name,Phone,Quantity,Item Price', { name: 'Name', phone: 'Phone' }],
    ['Name,Phone,Mobile,Amount,Amt', { name: 'Name', 'phone?': 'Phone or Mobile', 'cod?': 'Amount or Amt' }],
    ['Name,Address,Contact Name', { address: 'Address', 'name?': 'Name or Contact Name' }],
    [
      'First Name,Last Name,Address Line 1,Address Line 2,Mobile No',
      { name: 'First Name + Last Name', address: 'Address Line 1 + Address Line 2', phone: 'Mobile No' },
    ],
    ['Name,Street,Address 1,Address 2', { name: 'Name', 'address?': 'Street or Address 1 + Address 2' }],
    [
      'Name,Address,Address 2,Phone,WhatsApp',
      { name: 'Name', address: 'Address + Address 2', phone: 'Phone', secondary_phone: 'WhatsApp' },
    ],
    [
      'Full Name,WhatsApp Number,Contact Number 2',
      { name: 'Full Name', phone: 'WhatsApp Number', secondary_phone: 'Contact Number 2' },
    ],
    [
      'shippingName,shippingAddress,shippingPhone,billingName,paidPrice,shippingFee',
      { name: 'shippingName', address: 'shippingAddress', phone: 'shippingPhone' },
    ],
    ['Bill To,Billing Address,Deliver To,Phone', { name: 'Deliver To', phone: 'Phone' }],
    [
      'RecipientName(*),RecipientPhone(*),RecipientAddress(*),AmountToCollect(*),ItemQuantity',
      {
        name: 'RecipientName(*)',
        phone: 'RecipientPhone(*)',
        address: 'RecipientAddress(*)',
        cod: 'AmountToCollect(*)',
      },
    ],
    [
      'ලබන්නාගේ නම,යවන්නාගේ නම,දුරකථන අංකය,ලිපිනය,නගරය,අය කළ යුතු මුදල,භාණ්ඩ මිල,ගාස්තුව,බර',
      {
        name: 'ලබන්නාගේ නම',
        phone: 'දුරකථන අංකය',
        address: 'ලිපිනය',
        destination: 'නගරය',
        cod: 'අය කළ යුතු මුදල',
        weight: 'බර',
      },
    ],
    [
      'பெறுநர் பெயர்,அனுப்புநர் பெயர்,தொலைபேசி எண்,முகவரி,நகரம்,தொகை,விலை,எடை',
      { name: 'பெறுநர் பெயர்', phone: 'தொலைபேசி எண்', address: 'முகவரி', destination: 'நகரம்', cod: 'தொகை', weight: 'எடை' },
    ],
  ]
  for (const [headings, fields] of table) t.strictSame(fieldsOf(headings), fields, headings)
  t.strictSame(fieldsOf('Name,COD,COD Amount', 'A,Yes,4500'), { name: 'Name', cod: 'COD Amount' }, 'Yes is no amount')
  t.end()
})

t.test('reads the templates as before, and a plain Name as the order number beside the recipient', t => {
  const names = (text: string) => choose(text).columns.map(({ field }: Column) => field)
  t.strictSame(names(example('courier-template.csv')), [
    ...['order_no', 'customer_name', 'customer_address', 'destination', 'customer_phone', 'customer_secondary_phone'],
    ...['cod', 'weight', 'description', 'remark'],
  ])
  t.strictSame(names(example('web-shop.csv')), [
    ...['order_no', 'customer_email', 'customer_name', 'customer_address', 'destination', 'customer_phone', 'cod'],
    ...['description', 'remark'],
  ])
  const pasted = choose(example('pasted.tsv'))
  t.equal(pasted.headingRow, -1)
  t.strictSame(names(example('pasted.tsv')), ['', '', 'customer_phone', ''])
  t.end()
})

t.test('finds the headings below a title; the widest row decides the columns', t => {
  const text = 'Orders of November,,\n\nName,Phone,Total\nAnoma,0770000101,100,,extra\n'
  t.equal(choose(text).headingRow, 1)
  t.equal(choose(text).columns.length, 5)
  t.strictSame(
    readAll(text).map(({ line }) => line),
    [4],
  )
  t.strictSame(choose(text, -1).columns.filter(({ field }: Column) => field).length, 1, 'the phone by its cells')
  t.end()
})

t.test('an answer fills a field; a column that cannot share it is left out', t => {
  const choice = choose('Name,Amount,Amt\nA,1,2')
  const answered = assign(choice, [2], 'cod')
  t.strictSame(answered.asked, [])
  t.equal(assign(answered, [1], 'cod').columns[2].field, '')
  t.equal(assign(answered, [1], 'customer_name').columns[0].field, 'customer_name', 'names are joined')
  t.end()
})

t.test('reads the order export of Shopify as a clerk books it', t => {
  const text = example('shopify-orders.csv')
  t.equal(choose(text).export, 'Shopify')
  const rows = readAll(text)
  t.strictSame(
    rows.map(({ line, leftOut }) => [line, leftOut]),
    [
      [2, undefined],
      [3, 'part_of_another'],
      [4, undefined],
      [5, undefined],
      [6, 'cancelled'],
      [7, undefined],
    ],
  )
  t.match(rows[0]?.values, {
    ...{ order_no: '#2001', customer_name: 'Nimali Gunasekara', customer_phone: '0770001302', cod: '6400.00' },
    ...{ customer_address: '7 Lake View, Upper floor', destination: 'Galle' },
    description: '3 x Linen shirt - Blue / M, Belt',
  })
  t.match([rows[2]?.values.cod, codes(rows[2] as Row)], ['0', ['cod prepaid_by_export']])
  t.match(
    [rows[3]?.values, codes(rows[3] as Row)],
    [{ cod: '4400.00', remark: 'Call before', customer_phone: '+94 77 000 1304' }, ['customer_phone phone_of_billing']],
  )
  t.match(
    [rows[5]?.values.cod, codes(rows[5] as Row)],
    ['', ['cod payment_unclear']],
    'authorized is neither paid nor due',
  )
  t.end()
})

t.test('reads the order export of WooCommerce as a clerk books it', t => {
  const text = example('woocommerce-orders.csv')
  t.equal(choose(text).export, 'WooCommerce')
  const rows = readAll(text)
  t.strictSame(
    rows.map(({ leftOut }) => leftOut),
    [undefined, 'part_of_another', undefined, 'cancelled', undefined],
  )
  t.match(rows[0]?.values, {
    ...{ order_no: '701', customer_name: 'Nimali Silva', customer_address: '9 Temple Road', destination: 'Galle' },
    ...{ customer_phone: '0112500701', cod: '3350', remark: 'Leave at the gate', description: 'Shoe, 4 x Sock' },
  })
  t.strictSame(codes(rows[0] as Row), ['customer_phone phone_of_billing'])
  t.match(rows[2]?.values, {
    ...{ order_no: '702', customer_name: 'Kasun Fernando', customer_address: '12 Station Road', destination: 'Kotte' },
    ...{ customer_phone: '0770001401', cod: '0', description: '2 x Sandal' },
  })
  t.strictSame(codes(rows[2] as Row), ['cod prepaid_by_export'], 'the phone is that of the address')
  t.match([rows[4]?.values.cod, codes(rows[4] as Row)], ['', ['cod payment_unclear']], 'the card is not charged yet')
  t.end()
})

t.test('reads the order exports of Wix, whose columns have equal names, and of BigCommerce', t => {
  const wix = `Order number,Date created,Contact email,Note from customer,Item,Variant,SKU,Qty,Price,Weight,\
Recipient name,Recipient phone,Delivery country,Delivery city,Delivery address,Billing name,Billing phone,\
Delivery country,Delivery city,Delivery address,Payment status,Payment method,Shipping rate,Total tax,Total,Currency,\
Refunded amount,Net amount,Fulfillment status
10001,"Nov 25, 2026",a@example.com,Ring twice,Mug,Blue,M-1,2,500,0.4,Anoma Herath,0770001601,LKA,Galle,15 Lake Road,\
Payer,0770001699,LKA,Kotte,1 Payer Road,Unpaid,Manual,350,0,1850,LKR,0,1850,Not fulfilled
10001,,,,Spoon,,S-1,1,500,0.1,,,,,,,,,,,,,,,,,,,
10002,"Nov 25, 2026",b@example.com,,Mug,,M-1,1,500,0.4,Card Payer,0770001602,LKA,Kotte,2 Card Street,Card Payer,\
0770001602,LKA,Kotte,2 Card Street,Paid,Visa,350,0,850,LKR,0,850,Not fulfilled
10003,"Nov 25, 2026",,,Mug,,M-1,1,500,0.4,Gone Away,0770001603,LKA,Kotte,4 Hill Street,,,,,,Unpaid,Manual,350,0,850,\
LKR,0,850,Canceled`
  t.equal(choose(wix).export, 'Wix')
  t.match(
    readAll(wix).map(({ values, leftOut }) => ({ ...values, leftOut })),
    [
      {
        order_no: '10001',
        customer_name: 'Anoma Herath',
        customer_phone: '0770001601',
        customer_address: '15 Lake Road',
        destination: 'Galle',
        cod: '1850',
        description: '2 x Mug, Spoon',
        remark: 'Ring twice',
      },
      { leftOut: 'part_of_another' },
      { order_no: '10002', cod: '0' },
      { leftOut: 'cancelled' },
    ],
  )
  const bigCommerce = `Order ID,Customer ID,Customer Name,Customer Email,Customer Phone,Order Date,Order Status,\
Subtotal (inc tax),Subtotal (ex tax),Tax Total,Shipping Cost (inc tax),Order Total (inc tax),Order Total (ex tax),\
Payment Method,Total Quantity,Order Notes,Customer Message,Billing First Name,Billing Last Name,Billing Street 1,\
Billing Street 2,Billing Suburb,Billing Phone,Shipping First Name,Shipping Last Name,Shipping Street 1,\
Shipping Street 2,Shipping Suburb,Shipping Phone,Product Details
118,7,Amal Payer,a@example.com,0770001701,25/11/2026,Awaiting Fulfillment,3000,3000,0,450,3450,3450,Cash on Delivery,\
3,,Ring twice,Amal,Payer,1 Payer Road,,Kotte,0770001701,Nimali,Silva,9 Temple Road,Upper floor,Galle,0770001702,\
"Product ID: 77, Product Qty: 2, Product SKU: M-1, Product Name: Mug, Product Weight: 0.4|Product ID: 78,\
 Product Qty: 1, Product SKU: S-1, Product Name: Spoon"
119,7,Card Payer,b@example.com,0770001703,25/11/2026,Awaiting Payment,3000,3000,0,450,3450,3450,Credit Card,1,,,Card,\
Payer,2 Card Street,,Kotte,0770001703,Card,Payer,2 Card Street,,Kotte,0770001703,
120,7,Card Payer,b@example.com,0770001703,25/11/2026,Awaiting Shipment,3000,3000,0,450,3450,3450,Credit Card,1,,,\
Card,Payer,2 Card Street,,Kotte,0770001703,Card,Payer,2 Card Street,,Kotte,0770001703,`
  t.equal(choose(bigCommerce).export, 'BigCommerce')
  t.match(
    readAll(bigCommerce).map(({ values }) => values),
    [
      {
        order_no: '118',
        customer_name: 'Nimali Silva',
        customer_address: '9 Temple Road, Upper floor',
        destination: 'Galle',
        customer_phone: '0770001702',
        cod: '3450',
      },
      { cod: '' },
      { cod: '0' },
    ],
  )
  t.end()
})

t.test('rows of one order that contradict each other are marked, and a refund makes the COD unclear', t => {
  const [head, first, second] = example('woocommerce-orders.csv').split('\n') as [string, string, string]
  const other = readAll([head, first, second.replace('9 Temple Road', '10 Temple Road')].join('\n'))
  t.strictSame(codes(other[0] as Row), ['customer_phone phone_of_billing', ' rows_differ'])
  const refunded = readAll([head, first.replace(',450,0,3350', ',450,500,3350')].join('\n'))
  t.match([refunded[0]?.values.cod, codes(refunded[0] as Row)], ['', [/phone/, 'cod payment_unclear']])
  t.end()
})

t.test('reads a sheet with sender and receiver, and leaves an empty COD empty', t => {
  const rows = readAll(example('sender-and-receiver.csv'))
  t.match(rows[0], {
    ...{ line: 4, weightUnit: 'g' },
    values: {
      order_no: 'A-11',
      customer_name: 'Anoma Herath',
      customer_phone: '077-000 1507',
      customer_address: '15 Lake Road, Galle',
      weight: '500',
      cod: '4,450/-',
    },
  })
  t.match(rows[1], { line: 6, values: { customer_name: 'R. M. Bandara', cod: '' } })
  const text = example('sender-and-receiver.csv')
  t.strictSame(
    toRows(parseSheet(text), { ...choose(text), allPrepaid: true }).map(({ values }: Row) => values.cod),
    ['0', '0'],
  )
  t.end()
})

t.test('marks what is doubtful: lost characters, high amounts and weights, paid or cancelled orders', t => {
  const rows = readAll(`Name,Phone,Address,COD,Weight,Payment status
????? ??????,="0770000101",1 Road,1000,1,
Nim\uFFFDli,'0770000102,1 Road,1200,31,unpaid
Saman,9.477E+10,1 Road,#N/A,1,Paid
Kamal,0770000104,1 Road,"12,500",2,Cancelled
Mala,0770000105,1 Road,0,1,Paid`)
  t.strictSame(
    rows.map(row => codes(row)),
    [
      ['customer_name replaced_characters'],
      ['customer_name replaced_characters', 'weight high'],
      ['cod maybe_paid', 'customer_phone scientific', 'cod error_cell'],
      [' maybe_cancelled', 'cod high'],
      [],
    ],
  )
  t.strictSame(
    rows.slice(0, 2).map(({ values }) => values.customer_phone),
    ['0770000101', '0770000102'],
  )
  t.end()
})

t.test('reads amounts, or refuses them; none is misread', t => {
  const read: [string, number][] = [
    ['4500', 4500],
    ['٤٥٠٠', 4500],
    ['4,500.00', 4500],
    ['Rs. 1250', 1250],
    ['LKR 1,990', 1990],
    ['Rs.4500/=', 4500],
    ['4500/-', 4500],
    ['4,450/-', 4450],
    ['4500 LKR', 4500],
    ['1,50,000', 150_000],
    ['1.500,00', 1500],
    ['1,234,567', 1_234_567],
    ['1 500', 1500],
    ['1\u00a0500,00', 1500],
    ["1'500", 1500],
    ['４５００', 4500],
    ['රු. 4500', 4500],
    ['ரூ 4500', 4500],
    ['0', 0],
  ]
  for (const [text, value] of read) t.strictSame(readMoney(text), { value }, text)
  const refused: Record<string, string[]> = {
    missing: ['', ' '],
    error_cell: ['#N/A', '#REF!'],
    ambiguous: ['1.500', '4,50', '45,00'],
    fraction: ['4500.50'],
    unit: ['$45', 'USD 45', '45 EUR'],
    too_large: ['99999999999'],
    unreadable: ['free', '-500', '(500)', '0770001202', '4.5E+3', '4500 + 350', '1,500,0', '4500/350'],
  }
  for (const [problem, texts] of Object.entries(refused))
    for (const text of texts) t.strictSame(readMoney(text), { problem }, text)
  t.end()
})

t.test('reads weights with their unit, or refuses them', t => {
  const read: [string, string, number][] = [
    ['0,500', 'kg', 0.5],
    ['.5', 'kg', 0.5],
    ['1,5', 'kg', 1.5],
    ['1.2 kg', 'kg', 1.2],
    ['500', 'g', 0.5],
    ['500g', 'kg', 0.5],
    ['500 gms', 'kg', 0.5],
    ['1,500', 'g', 1.5],
    ['2 kg', 'g', 2],
    ['1.1250', 'kg', 1.125],
  ]
  for (const [text, unit, value] of read) t.strictSame(readWeight(text, unit), { value }, `${text} (${unit})`)
  const refused: [string, string, string][] = [
    ['2.000', 'kg', 'ambiguous'],
    ['1,500', 'kg', 'ambiguous'],
    ['1.500', 'g', 'ambiguous'],
    ['2 lbs', 'kg', 'unit'],
    ['2', 'other', 'unit'],
    ['half', 'kg', 'unreadable'],
    ['1kg 200g', 'kg', 'unreadable'],
    ['', 'kg', 'missing'],
  ]
  for (const [text, unit, problem] of refused) t.strictSame(readWeight(text, unit), { problem }, `${text} (${unit})`)
  const unitOf = (heading: string) => readAll(`Name,${heading}\nA,1`)[0]?.weightUnit
  t.strictSame(['Weight (g)', 'Weight gms', 'Weight (lbs)', 'Weight', 'Wt (KG)'].map(unitOf), [
    'g',
    'g',
    'other',
    'kg',
    'kg',
  ])
  t.end()
})

t.test('a phone in scientific notation is no phone', t => {
  const table = {
    '9.477E+10': 'scientific',
    '9.4770e10': 'scientific',
    '9,477E+10': 'scientific',
    '0770000101': undefined,
  }
  for (const [text, problem] of Object.entries(table)) t.equal(findProblem('customer_phone', text), problem, text)
  t.end()
})
