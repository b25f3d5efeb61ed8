import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { launchBrowser } from './browser.ts'
import { bookRows, checkSheet, openDesk, press, showDesk, waitForReady } from './desk.ts'

// The type check of portal/ covers these files.
const { parseSheet } = await import(join(root, 'portal/desk/read-sheet.js'))
const { chooseColumns } = await import(join(root, 'portal/desk/upload/columns.js'))
const { toRows } = await import(join(root, 'portal/desk/upload/to-rows.js'))

interface Row {
  readonly values: Record<string, string>
  readonly marks: { field: string; code: string; ask?: boolean }[]
}
const fieldsOf = (headings: string): string[] =>
  chooseColumns(parseSheet(`${headings}\n`)).columns.map(({ field }: { field: string }) => field)
const read = (text: string): Row[] => toRows(parseSheet(text), chooseColumns(parseSheet(text)), 'LKR')
const values = (text: string) => read(text).map(row => row.values)

t.test('what stands in brackets beats no heading outside them', t => {
  for (const heading of [
    'Address (with nearest town)',
    'Full Address [incl. city]',
    'Delivery Address (City & District)',
    'Address with nearest town',
    'Address including city',
    'Address - nearest city',
    'ලිපිනය (ළඟම නගරය)',
    'முகவரி (நகரம் உட்பட)',
    'ලිපිනය සහ නගරය',
  ])
    t.strictSame(fieldsOf(`Name,${heading},COD`), ['customer_name', 'customer_address', 'cod'], heading)
  t.strictSame(fieldsOf('City (in the address),Address'), ['destination', 'customer_address'])
  t.strictSame(fieldsOf('Phone (in the address),Name'), ['customer_phone', 'customer_name'])
  t.strictSame(fieldsOf('First Name (Shipping),City (Shipping),Amount (COD)'), ['customer_name', 'destination', 'cod'])
  t.strictSame(fieldsOf('Recipient (Phone),Recipient (Address)'), ['customer_phone', 'customer_address'])
  t.strictSame(fieldsOf('Shipping Address City,Shipping Address'), ['destination', 'customer_address'])
  t.end()
})

t.test('a district and a postal code are kept beside the town, those of other people are not', t => {
  t.strictSame(fieldsOf('Name,City,District,Province,Postal Code'), [
    ...['customer_name', 'destination', 'state_name', 'state_name', 'postal_code'],
  ])
  t.strictSame(fieldsOf('Shipping City,Shipping Zip,Billing City,Billing Zip,Billing State,Sender District'), [
    ...['destination', 'postal_code', '', '', '', ''],
  ])
  t.strictSame(fieldsOf('නම,නගරය,දිස්ත්‍රික්කය,තැපැල් කේතය'), [
    ...['customer_name', 'destination', 'state_name', 'postal_code'],
  ])
  t.strictSame(fieldsOf('பெயர்,நகரம்,மாவட்டம்,அஞ்சல் குறியீடு'), [
    ...['customer_name', 'destination', 'state_name', 'postal_code'],
  ])
  t.strictSame(fieldsOf('Name,Address,District'), ['customer_name', 'customer_address', 'destination'], 'no town')
  t.strictSame(fieldsOf('Name,City,Order State,Zip file'), ['customer_name', 'destination', '', ''])
  t.end()
})

const shop = `order_no,order_total,payment_method,billing_first_name,billing_last_name,billing_company,billing_phone,\
billing_address_1,billing_city,billing_state,billing_postcode,shipping_first_name,shipping_last_name,\
shipping_company,shipping_phone,shipping_address_1,shipping_city,shipping_state,shipping_postcode`
const payer = 'Pay,Er,Payer Ltd,0770000001,1 Payer Road,Kotte,Colombo,10100'

t.test('where all shipping cells are blank the parcel goes to the payer, and says so', t => {
  const [blank, whole, part, noPhone] = read(
    [
      shop,
      `A-1,4500,cod,${payer},,,,,,,,`,
      `A-2,4500,cod,${payer},Nim,Silva,Nim Ltd,0770000002,9 Temple Road,Galle,Galle,80000`,
      `A-3,4500,cod,${payer},Nim,Silva,,,,,,`,
      `A-4,4500,cod,${payer},Nim,Silva,,,9 Temple Road,Galle,,`,
    ].join('\n'),
  )
  t.match(blank?.values, {
    ...{ customer_name: 'Pay Er', customer_phone: '0770000001', customer_address: 'Payer Ltd, 1 Payer Road' },
    ...{ destination: 'Kotte', state_name: 'Colombo', postal_code: '10100' },
  })
  t.match(blank?.marks, [{ field: 'customer_address', code: 'address_of_billing' }])
  t.match(whole?.values, {
    ...{ customer_name: 'Nim Silva', customer_phone: '0770000002', customer_address: 'Nim Ltd, 9 Temple Road' },
    ...{ destination: 'Galle', state_name: 'Galle', postal_code: '80000' },
  })
  t.strictSame(whole?.marks, [])
  t.match(part?.values, { customer_name: 'Nim Silva', customer_address: '', destination: '' }, 'no mixture of two')
  t.match(noPhone?.values, { customer_phone: '', state_name: '', postal_code: '' })
  const plain = 'Order No,Customer Name,Phone,Address,City,Shipping Address,Shipping City,COD'
  t.match(values(`${plain}\nA,Nimal,0770000001,1 Road,Kotte,,,1\nB,Nimal,0770000001,1 Road,Kotte,2 Road,Galle,1`), [
    { customer_name: 'Nimal', customer_address: '1 Road', destination: 'Kotte' },
    { customer_name: 'Nimal', customer_address: '2 Road', destination: 'Galle' },
  ])
  const two = 'Name,Phone,Billing Address,Invoice Address,City,Shipping Address\nNimal,0770000001,1 Road,2 Road,Galle,'
  t.match(values(two), [{ customer_address: '' }], 'which of two is asked')
  t.end()
})

t.test('the company of an address stands in front of it, and alone is no address', t => {
  const head = 'Name,Company,Address,City'
  t.match(values(`${head}\nNimal,Acme Ltd,1 Road,Galle\nKamal,,2 Road,Galle\nMala,Acme Ltd,,Galle`), [
    { customer_address: 'Acme Ltd, 1 Road' },
    { customer_address: '2 Road' },
    { customer_address: '' },
  ])
  t.match(
    values(`${head}\nNimal,Our Shop,1 Road,Galle\nKamal,Our Shop,2 Road,Galle`),
    [{ customer_address: '1 Road' }, { customer_address: '2 Road' }],
    'the same in each row is the company of the sheet',
  )
  for (const company of ['Courier Company', 'Delivery Company', 'Billing Company', 'Sender Company'])
    t.match(values(`Name,${company},Address\nNimal,Acme,1 Road`), [{ customer_address: '1 Road' }], company)
  const exports = {
    Shopify: [
      'Name,Financial Status,Total,Lineitem name,Shipping Name,Shipping Company,Shipping Street,Shipping City,Shipping Zip,Shipping Province Name',
      "#1,pending,900,Mug,Nimal,Acme Ltd,1 Road,Galle,'80000,Galle",
    ],
    WooCommerce: [
      'Order Number,Order Status,Payment Method Title,Order Total Amount,First Name (Shipping),Company (Shipping),Address 1&2 (Shipping),City (Shipping),Postcode (Shipping),State Name (Shipping)',
      '501,Processing,COD,900,Nimal,Acme Ltd,1 Road,Galle,80000,Galle',
    ],
    'WooCommerce CSV': [
      'order_number,status,payment_method_title,order_total,billing_first_name,billing_company,billing_address_1,billing_city,billing_state,billing_postcode,shipping_first_name,shipping_address_1,shipping_city',
      '501,processing,cod,900,Nimal,Acme Ltd,1 Road,Galle,Galle,80000,,,',
    ],
    BigCommerce: [
      'Order ID,Order Status,Payment Method,Order Total (inc tax),Shipping First Name,Shipping Company,Shipping Street 1,Shipping Suburb,Shipping State,Shipping Zip',
      '501,Awaiting Fulfillment,Cash on Delivery,900,Nimal,Acme Ltd,1 Road,Galle,Galle,80000',
    ],
    Wix: [
      'Order number,Payment status,Payment method,Total,Fulfillment status,Recipient name,Recipient company name,Delivery address,Delivery city,Delivery state,Delivery zip/postal code',
      '501,Unpaid,Manual,900,,Nimal,Acme Ltd,1 Road,Galle,Galle,80000',
    ],
  }
  for (const [name, lines] of Object.entries(exports)) {
    t.equal(chooseColumns(parseSheet(lines.join('\n'))).export, name)
    const [order] = values(lines.join('\n'))
    t.match(
      order,
      { customer_address: 'Acme Ltd, 1 Road', destination: 'Galle', state_name: 'Galle', postal_code: '80000' },
      name,
    )
    t.match(values(lines.join('\n').replace('1 Road', '')), [{ customer_address: '' }], `${name}: no address`)
  }
  t.end()
})

const browser = await launchBrowser(t)
if (browser) {
  const file = tenantFile()
  const colombos = Array.from({ length: 20 }, (_, n) => ({
    ...{ id: 1600 + n, name: `Colombo ${String(n + 1).padStart(2, '0')}`, postal_code: `${300 + n}00` },
  }))
  file.states[0]?.cities.push(...colombos, { id: 1700, name: 'Kadawatha', postal_code: '11850' })
  file.states[1]?.cities.push({ id: 2200, name: 'Baddegama', postal_code: '80200' })
  file.states[2]?.cities.push({ id: 3001, name: 'Baddegama', postal_code: '40999' })
  file.states[0]?.cities.push({ id: 1701, name: 'Trincomalee' }, { id: 1702, name: 'Kandy' })
  const orders = await ordersFixture(t, { file })
  const url = `${await orders.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const { open, problems } = await openDesk(t, browser, url)

  t.test('a district or a code decides among towns, and waits where it contradicts the town', async t => {
    const page = await open()
    const row = (no: string, city: string, district = '', code = '') =>
      `${no},Nimal ${no},077000${no.slice(-4)},${no} Road,${city},${district},${code},100`
    await checkSheet(
      page,
      [
        'Order no,Name,Phone,Address,City,District,Postal code,COD',
        ...[row('D-1001', 'Kotte', 'Galle'), row('D-1002', 'Colombo', 'Colombo', '30700')],
        ...[row('D-1003', 'Colombo', 'Colombo'), row('D-1004', 'Baddegama', 'Galle')],
        ...[row('D-1005', 'Kotte', '', '10350'), row('D-1006', 'Kotte', 'Western', '99999')],
        ...[row('D-1007', 'Dehiwala', 'Colombo District', '10350'), row('D-1008', 'Baddegama')],
        ...[row('D-1009', '', '', '80200')],
      ].join('\n'),
    )
    await waitForReady(page, 5)
    for (const line of [2, 4, 6, 9]) await page.locator(`#row-${line}-destination-error`).waitFor()
    await showDesk(t, page, 'places')
    await page.locator('#row-2-state_name').fill('Colombo')
    await page.locator('#row-6-postal_code').fill('')
    await page.locator('#row-9-city').selectOption('Baddegama, Galle')
    await page.locator('#row-4-city').selectOption('Colombo 05, Colombo')
    await press(page, 'Check again')
    await waitForReady(page, 9)
    const sent = await bookRows(page)
    t.strictSame(
      sent.map(({ order_no, destination_city_id }) => [order_no, destination_city_id]),
      [
        ...[
          ['D-1001', 1500],
          ['D-1002', 1607],
          ['D-1003', 1604],
          ['D-1004', 2200],
          ['D-1005', 1500],
        ],
        ...[
          ['D-1006', 1500],
          ['D-1007', 1501],
          ['D-1008', 2200],
          ['D-1009', 2200],
        ],
      ],
    )
    t.notOk(sent.some(order => 'state_name' in order || 'postal_code' in order))
    await page.close()
  })

  t.test('a town that is corrected is found again', async () => {
    const page = await open()
    await checkSheet(page, 'Order no,Name,Phone,Address,City,District,COD\nE-1,Nimal,0770000001,1 Road,Kotte,Galle,100')
    await waitForReady(page, 0)
    await page.locator('#row-2-destination').fill('Baddegama')
    await press(page, 'Check again')
    await waitForReady(page, 1)
    await page.locator('#row-2-state_name').fill('Jaffna')
    await press(page, 'Check again')
    await page.locator('#row-2-cod').waitFor()
    await page.getByText('Baddegama, Jaffna').waitFor()
    await page.close()
  })

  t.test('WooCommerce’s columns are booked as a clerk reads them, also from a shop that is not known', async t => {
    const page = await open()
    const known = readFileSync(join(root, 'test/sheets/woo-columns.csv'), 'utf8')
    await checkSheet(page, known)
    await waitForReady(page, 2)
    t.match(await bookRows(page), [
      { order_no: '901', customer_address: '5/2 Kandy Road', destination_city_id: 1700, cod: 4350 },
      { order_no: '902', customer_name: 'Gift Person', destination_city_id: 1701, cod: 0 },
    ])
    const unknown = known
      .replace('order_total,', 'total,')
      .replace('order_id,', 'key,')
      .replaceAll(/^90/gm, '91')
      .replaceAll(',90', ',91')
    await checkSheet(page, unknown)
    await waitForReady(page, 1)
    await page.getByText('The delivery cells of this row are blank').first().waitFor()
    await press(page, 'Row 3: Nothing to collect')
    await press(page, 'Check again')
    await waitForReady(page, 2)
    t.match(await bookRows(page), [
      { order_no: '911', customer_name: 'Amali Jaya', customer_phone: '0770007401', destination_city_id: 1700 },
      {
        order_no: '912',
        customer_name: 'Gift Person',
        customer_phone: '0770007403',
        destination_city_id: 1701,
        cod: 0,
      },
    ])
    await page.close()
  })

  t.test('no page had a problem', async t => t.strictSame(problems, []))
}
