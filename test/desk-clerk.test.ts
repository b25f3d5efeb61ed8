import { join } from 'node:path'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { launchBrowser } from './browser.ts'
import { bookRows, checkSheet, openDesk } from './desk.ts'

// The type check of portal/ covers these files.
const { parseSheet } = await import(join(root, 'portal/desk/read-sheet.js'))
const { chooseColumns } = await import(join(root, 'portal/desk/upload/columns.js'))
const { toRows } = await import(join(root, 'portal/desk/upload/to-rows.js'))
const { readMoney, readWeight } = await import(join(root, 'portal/desk/upload/numbers.js'))

interface Row {
  readonly line: number
  readonly values: Record<string, string>
  readonly marks: { field: string; code: string }[]
  readonly weightUnit: string
  readonly leftOut?: string
}
const read = (text: string, currency?: string): Row[] =>
  toRows(parseSheet(text), chooseColumns(parseSheet(text)), currency)
const cods = (text: string, currency?: string): string[] =>
  read(text, currency).map(({ values, marks }) =>
    [values.cod, ...marks.flatMap(({ field, code }) => (field === 'cod' ? code : []))].join(' '),
  )

const person = 'Nimal,0770000001,1 Road,Galle'
const head = 'Name,Phone,Address,City'

t.test('a total is no COD where the sheet says that the order is paid, or paid in part', t => {
  const sheet = (headings: string, ...cells: string[]) =>
    [`${head},${headings}`, ...cells.map(each => `${person},${each}`)].join('\n')
  const table: [string, string[]][] = [
    [sheet('Amount,Mode', '1500,COD', '1500,Prepaid', '1500,Cash on delivery'), ['1500', ' maybe_paid', '1500']],
    [
      sheet('order_total,payment_method', '1500,cod', '1500,payhere', '1500,bacs'),
      ['1500', ' maybe_paid', ' maybe_paid'],
    ],
    [
      sheet('Total,Payment Method', '1500,CC', '1500,eZ Cash', '1500,cashondelivery'),
      [' maybe_paid', ' maybe_paid', '1500'],
    ],
    [sheet('COD,Amount', 'Yes,1500', 'No,1500'), ['1500', ' maybe_paid']],
    [sheet('Total,Paid', '1500,Yes', '1500,No', '1500,'), [' maybe_paid', '1500', '1500']],
    [sheet('Total,Advance', '1500,500', '1500,0', '1500,'), [' payment_unclear', '1500', '1500']],
    [sheet('Total,Payment status', '1500,Partially paid', '1500,Pending'), [' payment_unclear', '1500']],
    [sheet('මුළු මුදල,අත්තිකාරම්', '1500,500'), [' payment_unclear']],
    [sheet('COD,Total,Advance,Payment status', '1000,1500,500,Partially paid'), ['1000']],
    [
      sheet('COD Amount,Payment Mode,Transport Mode', '1500,Prepaid,Surface', '1500,COD,Air'),
      ['1500 maybe_paid', '1500'],
    ],
  ]
  for (const [text, expected] of table) t.strictSame(cods(text), expected, text)
  t.end()
})

t.test('a sheet of prepaid parcels has no doubts about its COD', t => {
  const sheet = parseSheet(`${head},Total,Payment Mode\n${person},1500,Prepaid`)
  const rows: Row[] = toRows(sheet, { ...chooseColumns(sheet), allPrepaid: true })
  t.match(rows, [{ values: { cod: '0' }, marks: { length: 0 } }])
  t.end()
})

t.test('all parcels are prepaid, also where a column holds what was paid and none the COD', t => {
  const sheet = parseSheet(`${head},Paid price,Pay method\n${person},1500,COD\n${person},1500,Card`)
  const rows: Row[] = toRows(sheet, { ...chooseColumns(sheet), allPrepaid: true })
  t.strictSame(
    rows.map(({ values }) => values.cod),
    ['0', '0'],
  )
  t.end()
})

t.test('an advance is asked in Arabic and Bengali too, and so is what a wallet or a gift card paid', t => {
  const table: [string, string[]][] = [
    ['মোট টাকা,অগ্রিম\n৪৫০০,৫০০\n৪৫০০,', [' payment_unclear', '৪৫০০']],
    ['মোট টাকা,পরিশোধিত\n৪৫০০,৫০০\n৪৫০০,০', [' payment_unclear', '৪৫০০']],
    ['المبلغ,مقدم\n٤٥٠٠,٥٠٠\n٤٥٠٠,٠', [' payment_unclear', '٤٥٠٠']],
    ['المبلغ,طريقة الدفع\n٤٥٠٠,بطاقة\n٤٥٠٠,', [' payment_unclear', '٤٥٠٠']],
    ['Total,Gift card\n4500,1000\n4500,0\n4500,', [' payment_unclear', '4500', '4500']],
    ['Total,Wallet used\n4500,1000', [' payment_unclear']],
    ['Total,Store credit amount\n4500,1000', [' payment_unclear']],
    ['COD,Total,Gift card\n3500,4500,1000', ['3500']],
    ['Total,Item\n4500,Gift card', ['4500']],
  ]
  for (const [text, expected] of table) {
    const [headings, ...rows] = text.split('\n')
    const sheet = [`${head},${headings}`, ...rows.map(each => `${person},${each}`)].join('\n')
    t.strictSame(cods(sheet), expected, text)
  }
  t.end()
})

t.test('two columns that name the COD and hold other amounts are asked; one without the delivery is none', t => {
  const one = (headings: string, cells: string) => cods(`${head},${headings}\n${person},${cells}`)[0]
  t.equal(one('COD,COD + Delivery', '4000,4350'), '4000 payment_unclear')
  t.equal(one('COD,Advance,Balance', '4500,2000,2500'), '4500 payment_unclear')
  t.equal(one('COD,Balance', '4500,"4,500.00"'), '4500')
  t.equal(one('COD,Balance', '4500,'), '4500')
  for (const heading of ['COD (without delivery)', 'COD excl. delivery', 'Amount to collect excluding delivery']) {
    t.equal(one(heading, '4000'), '', heading)
    t.equal(one(`${heading},COD incl. delivery`, '4000,4350'), '4350', heading)
  }
  t.end()
})

t.test('what is due beats a total, and a total after discounts is no equal of the total', t => {
  const chosen = (headings: string) =>
    chooseColumns(parseSheet(`${head},${headings}`)).columns.find(({ field }: { field: string }) => field === 'cod')
      ?.heading
  t.equal(chosen('Invoice Amount,Discount Amount,Net Amount'), 'Net Amount')
  t.equal(chosen('Total,Total after discount'), 'Total after discount')
  t.equal(chosen('මුළු මුදල,අත්තිකාරම්,ශේෂය'), 'ශේෂය')
  t.equal(chosen('மொத்த தொகை,முன்பணம்,மீதி'), 'மீதி')
  t.equal(chosen('Booked Packet Collect Amount,Declared Value'), 'Booked Packet Collect Amount')
  t.equal(chosen('COD Commission,COD Settled'), undefined)
  t.end()
})

t.test('an amount in a currency that is not the company’s is refused, wherever the sheet names it', t => {
  t.strictSame(cods(`${head},COD (USD)\n${person},15`), ['USD 15'])
  t.strictSame(cods(`${head},Total,Currency\n${person},15,USD\n${person},1500,LKR`), ['USD 15', '1500'])
  t.strictSame(cods(`${head},COD (LKR)\n${person},15`), ['15'])
  t.strictSame(cods(`${head},COD (USD)\n${person},15`, 'USD'), ['15'])
  t.strictSame(cods(`${head},COD (cents)\n${person},150000`), ['cents 150000'])
  for (const text of ['USD 15', 'cents 150000']) t.strictSame(readMoney(text), { problem: 'unit' }, text)
  const export_ = 'Name,Financial Status,Currency,Total,Lineitem name,Shipping Name\n#1,pending,USD,45.00,Mug,Nimal'
  t.strictSame(cods(export_), ['USD 45.00'])
  t.end()
})

t.test('the company’s own currency is read in each of its spellings, and no other', t => {
  const table: [string, string, object][] = [
    ['INR', '₹4,500', { value: 4500 }],
    ['INR', 'Rs. 4500/-', { value: 4500 }],
    ['INR', 'LKR 4500', { problem: 'unit' }],
    ['BDT', '৳ 4500', { value: 4500 }],
    ['BDT', '4500 Tk', { value: 4500 }],
    ['USD', '$45', { value: 45 }],
    ['USD', '45 USD', { value: 45 }],
    ['KES', 'KES 500', { value: 500 }],
    ['KES', 'Rs 500', { problem: 'unit' }],
    ['LKR', '$45', { problem: 'unit' }],
  ]
  for (const [currency, text, reading] of table) t.strictSame(readMoney(text, currency), reading, `${currency} ${text}`)
  t.end()
})

t.test('a sign of another currency is refused in a cell and a heading, and one of the company’s own is read', t => {
  for (const heading of [
    'COD (KSh)',
    'COD KSh.',
    'COD in Tk',
    'Amount (KSh)',
    'Total RM',
    'COD (US$)',
    'COD (in USD)',
    'COD $',
  ])
    for (const cod of cods(`${head},${heading}\n${person},"4,500"`)) {
      t.match(cod, / 4,500$/, heading)
      t.strictSame(readMoney(cod, 'LKR'), { problem: 'unit' }, heading)
    }
  t.strictSame(cods(`${head},COD (KSh)\n${person},"4,500"`, 'KES'), ['4,500'])
  t.strictSame(cods(`${head},COD (Rs.)\n${person},"4,500"`, 'LKR'), ['4,500'])
  t.strictSame(cods(`${head},COD (optional)\n${person},"4,500"`, 'LKR'), ['4,500'])
  const others = ['KSh 4,500', 'Ksh.4500/-', '4500ksh', 'GH₵4,500', 'US$45', 'A$ 45', 'R 4,500', 'R4500', '450 F CFA']
  for (const text of [...others, 'L.E. 450', '450 د.إ', 'रू450', 'P450', '450,- kr', '4.5k', 'about 4500'])
    t.strictSame(readMoney(text, 'LKR'), { problem: 'unit' }, text)
  const own: [string, string][] = [
    ...(['KSh 4,500', 'Ksh.4500/=', '4,500 kshs', 'KES 4500'] as const).map(text => ['KES', text] as [string, string]),
    ...[['UGX', 'USh 4,500'] as [string, string], ['TZS', 'TSh 4500/='] as [string, string]],
    ...[['GHS', 'GH₵4,500'] as [string, string], ['ZAR', 'R 4,500'] as [string, string]],
    ...[['AED', 'Dhs. 4500'] as [string, string], ['NGN', '₦4,500'] as [string, string]],
  ]
  for (const [currency, text] of own) t.strictSame(readMoney(text, currency), { value: 4500 }, `${currency} ${text}`)
  t.strictSame(readMoney('Rs 4500', 'ZAR'), { problem: 'unit' }, 'R is no part of another sign')
  t.end()
})

t.test('a unit in a column of its own is read with the weight, or the weight is refused', t => {
  const weigh = (headings: string, ...cells: string[]) =>
    read([`${head},${headings}`, ...cells.map(each => `${person},${each}`)].join('\n')).map(
      ({ values, weightUnit }) => readWeight(values.weight ?? '', weightUnit).value,
    )
  t.strictSame(weigh('Weight,Unit', '500,g', '0.5,kg', '2,lbs', '500,'), [0.5, 0.5, undefined, undefined])
  t.strictSame(weigh('Weight,Weight Unit', '500,Grams', '1,pcs', '2 kg,lbs'), [0.5, undefined, 2])
  t.strictSame(weigh('Wt,UOM', '2,LB', '3,LB'), [undefined, undefined])
  t.strictSame(weigh('Unit,Weight', 'gms,500'), [0.5])
  t.strictSame(weigh('Weight,', '500,g', '250,g'), [0.5, 0.25], 'a column of units needs no heading')
  t.strictSame(weigh('Weight (kg),Unit', '500,g', '2,kg'), [undefined, 2], 'the heading and the column differ')
  t.strictSame(weigh('Weight,Packer', '2,Nimali G', '3,Kamal G'), [2, 3], 'a name is no unit')
  const byHand = chooseColumns(parseSheet(`${head},Mass (g)\n${person},500`))
  byHand.columns[4].field = 'weight'
  t.match(
    toRows(parseSheet(`${head},Mass (g)\n${person},500`), byHand),
    [{ weightUnit: 'g' }],
    'a column chosen by hand',
  )
  t.strictSame(weigh('Weight,Unit', '2,pcs', '3,box'), [2, 3], 'a unit of the items')
  for (const text of ['500 grammes', '2 pcs', '5 #', '500 ml', '1 unit'])
    t.match(readWeight(text), text === '500 grammes' ? { value: 0.5 } : { problem: 'unit' }, text)
  t.end()
})

t.test('a completed order with cash on delivery does not say whether the cash was collected', t => {
  const woo = (status: string, title: string) => `Order Number,Order Status,First Name (Shipping),\
Address 1&2 (Shipping),City (Shipping),Phone (Billing),Payment Method Title,Order Total Amount
501,${status},Nimal,1 Road,Galle,0770000001,${title},3350`
  const plain = (status: string, method: string) =>
    `${head},order_total,status,payment_method\n${person},3350,${status},${method}`
  for (const sheet of [woo, plain]) {
    t.match(cods(sheet('Completed', 'cod')), [/^ payment_unclear/], 'completed')
    t.match(cods(plain('wc-completed', 'cod')), [/^ payment_unclear/])
    t.match(cods(sheet('completed', 'Cash on delivery')), [/^ payment_unclear/])
    t.match(cods(sheet('Processing', 'cod')), [/^3350/])
  }
  t.match(cods(woo('Completed', 'Visa')), [/^0 prepaid/])
  t.strictSame(cods(`${head},Total,Payment status\n${person},3350,Completed`), [' maybe_paid'])
  t.strictSame(cods(`${head},COD,Status\n${person},3350,Completed`), ['3350'], 'a COD is what is due')
  t.end()
})

t.test('a row of totals below the data is left out and says so', t => {
  const left = (...rows: string[]) =>
    read([`Ref,${head},Total`, `A-1,${person},1500`, `A-2,${person},1600`, ...rows].join('\n')).map(
      ({ leftOut }) => leftOut ?? '',
    )
  for (const row of [
    'Total,,,,,3100',
    ',,,,Grand Total:,"3,100.00"',
    ',TOTAL,,,,3100',
    ',Total (LKR),,,,9',
    ',,,,,3100',
    'Totals,2 parcels,,,,3100',
    'Total: 2,,,,,',
    ',,,මුළු එකතුව,,3100',
    'மொத்தம்,,,,,3100',
    ',,,,,Total = 3100',
    'Sum,,,,,#REF!',
  ])
    t.strictSame(left(row), ['', '', 'total'], row)
  t.strictSame(left(',,,,,1500'), ['', '', ''], 'an amount without a person is no sum')
  t.strictSame(left(`,Total Lanka,0770000001,1 Road,Galle,3100`), ['', '', ''], 'a company of that name')
  t.strictSame(left(',Total,0770000001,,,3100'), ['', '', ''], 'somebody with a phone')
  t.strictSame(left('Total,,,,,3100', `A-3,${person},900`, 'Grand total,,,,,4000'), ['', '', 'total', '', 'total'])
  t.end()
})

t.test('no part of the receiver is taken from another person, or lost', t => {
  const table: [string, Record<string, string>][] = [
    [
      'Sender Contact*,Sender Email,Receiver Name*,Receiver Contact*,Receiver Alt Contact,Receiver Email,Receiver Address*,Receiver City*,Tracking Whatsapp\n0112,s@x.lk,Nimal,0770000001,0770000002,r@x.lk,2 Road,Galle,0770000009',
      { customer_phone: '0770000001', customer_secondary_phone: '0770000002', customer_email: 'r@x.lk' },
    ],
    [
      '*Shipping Address Line 1,Shipping Address Line 2,*Shipping Address City,*Shipping Address Postcode,Billing Address City\n1 Road,Apt 2,Galle,80000,Kotte',
      { customer_address: '1 Road, Apt 2', destination: 'Galle' },
    ],
    [
      'House No,Street,Area,City\n12/A,Temple Road,Fort,Galle',
      { customer_address: '12/A, Temple Road, Fort', destination: 'Galle' },
    ],
    ['Name,Add,Landmark,Town\nNimal,1 Road,Near the bank,Galle', { customer_address: '1 Road, Near the bank' }],
    ['Address,Pickup area,Area\n1 Road,Kotte,Galle', { customer_address: '1 Road', destination: 'Galle' }],
    ['Receiver Name,District Name\nNimal,Galle', { destination: 'Galle' }],
    [
      'Consignor Name,Consignor Phone,Name,Phone\nShop,0112,Nimal,0770000001',
      { customer_name: 'Nimal', customer_phone: '0770000001' },
    ],
    [
      'Payment Firstname,Payment Lastname,First name,Last name,Phone\nPay,Er,Nim,Silva,0770000001',
      { customer_name: 'Nim Silva' },
    ],
    ['Contact Number,Contact Number 2 (optional)\n0770000001,0770000002', { customer_secondary_phone: '0770000002' }],
    ['Name,Items\nNimal,2', { customer_name: 'Nimal' }],
    [
      "Your Full Name,Your Phone Number,Receiver's name,Receiver's Phone\nPayer,0770000001,Nimal,0770000002",
      { customer_name: 'Nimal', customer_phone: '0770000002' },
    ],
    [
      'Name,TP,T.P. 2\nNimal,0770000001,0770000002',
      { customer_phone: '0770000001', customer_secondary_phone: '0770000002' },
    ],
    ['නම,දු.ක.\nNimal,0770000001', { customer_phone: '0770000001' }],
  ]
  for (const [text, values] of table) t.match(read(text)[0]?.values, values, text)
  t.notOk(read('Name,Items\nNimal,2')[0]?.values.description, 'a quantity is no contents')
  t.end()
})

t.test('rows that the sheet hides, such as by a filter, are left out and say so', t => {
  const sheet = parseSheet(`${head},COD\n${person},1500\n${person},1600`)
  sheet.rows[1].isHidden = true
  const rows: Row[] = toRows(sheet, chooseColumns(sheet))
  t.match(rows, [{ leftOut: 'hidden', values: { cod: '1500' } }, { leftOut: undefined }])
  t.end()
})

t.test('a quote that is never closed is a letter: it swallows no row', t => {
  const cells = (text: string) => parseSheet(text).rows.map((row: { cells: string[] }) => row.cells)
  t.strictSame(cells('Name,Address\nA,"Villa" 12 Road\nB,"Sunny 5 Road\nC,"7 Road, Galle"\nD,5" pipe'), [
    ['Name', 'Address'],
    ['A', '"Villa" 12 Road'],
    ['B', '"Sunny 5 Road'],
    ['C', '7 Road, Galle'],
    ['D', '5" pipe'],
  ])
  const many = `a,"b\n${'c,"d\n'.repeat(20_000)}`
  t.equal(cells(many).length, 20_001)
  t.end()
})

const browser = await launchBrowser(t)
if (browser) {
  const orders = await ordersFixture(t)
  const url = `${await orders.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const { open } = await openDesk(t, browser, url)

  t.test('sheets of couriers and shops are booked as a clerk would have typed them', async t => {
    const page = await open()
    const book = async (text: string, prepaid: number) => {
      await checkSheet(page, text)
      if (prepaid) await page.getByRole('button', { name: `Prepaid: nothing to collect for ${prepaid} rows` }).click()
      const button = page.getByRole('button', { name: /^Book and/ })
      await button.waitFor()
      t.match(await page.locator('.panel', { has: button }).innerText(), /Ready to book: \d+\. \S/)
      return bookRows(page)
    }
    const shop =
      'status,order_total,payment_method,billing_first_name,billing_phone,billing_address_1,billing_city,shipping_first_name,shipping_last_name,shipping_address_1,shipping_address_2,shipping_city'
    const to = 'Pay,0770000001,1 Payer Road,Kotte,Nim,Silva,9 Temple Road,Upper floor,Galle'
    t.match(await book(`${shop}\nprocessing,4500,cod,${to}\nprocessing,2500,payhere,${to}`, 1), [
      {
        customer_name: 'Nim Silva',
        customer_address: '9 Temple Road, Upper floor',
        destination_city_id: 2100,
        cod: 4500,
      },
      { cod: 0 },
    ])
    const courier =
      'Booked Weight (Grams),Booked Packet Collect Amount,Destination City,Shipper Name,Shipper Phone,Consignee Name,Consignee Phone,Consignee Address'
    t.match(await book(`${courier}\n500,"Rs.1,500/=",Galle,Shop,0112000000,Nimal,0770000002,1 Road`, 0), [
      { customer_name: 'Nimal', customer_phone: '0770000002', weight: 0.5, cod: 1500, destination_city_id: 2100 },
    ])
    t.match(
      await book('House No,Street,City,Recipient,Mobile,Payable\n12/A,Temple Road,Galle,Nimal,0770000003,1500', 0),
      [{ customer_name: 'Nimal', customer_address: '12/A, Temple Road', cod: 1500 }],
    )
    t.match(await book(`${head},Total,Paid,Advance\n${person},1500,,\n${person},1600,Yes,\n${person},1700,,500`, 1), [
      { cod: 1500 },
      { cod: 0 },
    ])
    await page.close()
  })
}
