import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { launchBrowser } from './browser.ts'
import { bookRows, checkSheet, openDesk, press, showDesk, showInLanguages, waitForReady } from './desk.ts'

// The type check of portal/ covers these files.
const { parseSheet } = await import(join(root, 'portal/desk/read-sheet.js'))
const { chooseColumns } = await import(join(root, 'portal/desk/upload/columns.js'))
const { toRows } = await import(join(root, 'portal/desk/upload/to-rows.js'))

interface Mark {
  readonly field: string
  readonly code: string
  readonly ask?: boolean
  readonly text?: string
  readonly amount?: string
}
interface Row {
  readonly line: number
  readonly values: Record<string, string>
  readonly marks: Mark[]
  readonly leftOut?: string
}
const fixture = (name: string): string => readFileSync(join(root, 'test/sheets', name), 'utf8')
const read = (text: string): Row[] => toRows(parseSheet(text), chooseColumns(parseSheet(text)), 'LKR')
/** Says of a row `left out`, the codes of its questions, or its COD if nothing is asked. */
const outcome = ({ values, marks, leftOut }: Row): string =>
  leftOut
    ? 'left out'
    : marks
        .filter(({ ask }) => ask)
        .map(({ code }) => code)
        .join(' ') ||
      (values.cod ?? '')
const outcomes = (text: string): string[] => read(text).map(outcome)

const head = 'Name,Phone,Address,City'
const person = 'Nimal,0770000001,1 Road,Galle'
const one = (heading: string, cell: string, money = 'Total', amount = '4500') =>
  outcomes(`${head},${money},"${heading}"\n${person},${amount},"${cell}"`)[0]

t.test('a row with more or fewer cells than headings waits, and says where it broke', t => {
  const rows = read(fixture('ragged.csv'))
  t.strictSame(rows.map(outcome), ['4500', 'cells', 'cells', '4800'])
  t.match(rows[1]?.marks[0], { cells: 8, headings: 7, text: 'Pieces: Upper Floor' })
  t.match(rows[2]?.marks[0], { cells: 6, headings: 7 })
  const full = 'Order No,Name,Phone,Address,City,Pieces,COD,Remark'
  const good = 'S1,Anusha,0770007101,12 Temple Road,Galle,1,4500,Call first'
  const broken = {
    'an unquoted comma': 'S2,Rohan,0770007102,7 Lake Road, Upper Floor,Kandy,1,4500,Call',
    'an unquoted comma in a row that ends in an empty cell': 'S2,Rohan,0770007102,7 Lake Road, Flat,Kandy,1,4500,',
    'a forgotten comma': 'S2,Rohan,0770007102,7 Lake Road,Kandy 1,4500,Call',
    'thousands without quotes': 'S2,Rohan,0770007102,7 Lake Road,Kandy,1,4,500,',
    'thousands without quotes that end the row': 'S2,Rohan,0770007102,7 Lake Road,Kandy,1,4,500',
    'thousands and decimals without quotes': 'S2,Rohan,0770007102,7 Lake Road,Kandy,1,4,500.00',
    'semicolons in a file of commas': 'S2;Rohan;0770007102;7 Lake Road;Kandy;1;4500;Call',
    'tabs in a file of commas': 'S2\tRohan\t0770007102\t7 Lake Road\tKandy\t1\t4500\tCall',
    'a stray quote in the middle': 'S2,Rohan,0770007102,7 "Lake" Road, Flat,Kandy,1,4500,Call',
    'a quote that swallowed cells of its row': 'S2,Rohan,0770007102,"7 Lake Road,Kandy,1",4500,Call',
    'a quote that is not closed': 'S2,Rohan,0770007102,"7 Lake Road, Kandy,Kandy,1,4500,Call',
    'cells without a heading': 'S2,Rohan,0770007102,7 Lake Road,Kandy,1,4500,Call,twice',
  }
  for (const [name, row] of Object.entries(broken))
    t.strictSame(outcomes([full, good, row, good.replace('S1', 'S3')].join('\n')), ['4500', 'cells', '4500'], name)
  const whole = {
    'empty cells at the end': `${good},,`,
    'an address in quotes': 'S2,Rohan,0770007102,"7 Lake Road, Flat 2",Kandy,1,4500,Call',
    'an address of two lines': 'S2,Rohan,0770007102,"7 Lake Road,\nFlat 2",Kandy,1,4500,Call',
    'an empty remark': 'S2,Rohan,0770007102,7 Lake Road,Kandy,1,4500,',
  }
  for (const [name, row] of Object.entries(whole))
    t.strictSame(outcomes([full, good.replace('S1', 'S3'), row].join('\n')), ['4500', '4500'], name)
  const ragged = 'Order No,Name,Phone,Address, with lane,City,Pieces,COD,Remark'
  t.match(outcomes([ragged, good, good.replace('S1', 'S3')].join('\n')), [/^cells/, /^cells/], 'ragged headings')
  t.end()
})

t.test('formats that may leave out empty cells at the end do so', t => {
  const full = 'Order No,Name,Phone,Address,City,COD,Remark,Note'
  const row = (number: number, tail: string) => `S${number},Nimal,077${1000000 + number},1 Road,Galle,4500${tail}`
  const excel = [full, ...Array.from({ length: 40 }, (_, n) => row(n, n < 15 ? ',Call,x' : n < 31 ? '' : ',Call'))]
  t.strictSame(new Set(outcomes(excel.join('\n'))), new Set(['4500']), 'Excel leaves them out of 16 rows at once')
  const sheet = { rows: parseSheet([full, row(1, ''), row(2, ',,x')].join('\n')).rows }
  t.strictSame(toRows(sheet, chooseColumns(sheet), 'LKR').map(outcome), ['4500', '4500'], 'a workbook')
  t.end()
})

t.test('a quoted cell that swallowed rows waits and shows them; the next row keeps its number', t => {
  const rows = read(fixture('quotes.csv'))
  t.strictSame(rows.map(outcome), ['swallowed', '4800'])
  t.match(rows[0]?.marks[0]?.text, 'Rohan Silva,0770007202')
  t.strictSame(
    rows.map(({ line }) => line),
    [2, 5],
  )
  t.equal(rows[1]?.values.customer_address, '1 Hill Road\n(blue gate)')
  const above = `Name,"Phone,Address,City,COD\nKamal,0770000002,2 Road,Galle,900\nMala,0770000003",Address,City,COD\n${person},100`
  t.strictSame(read(above).map(outcome), ['swallowed'], 'rows in the headings')
  t.end()
})

const paid = ['Captured', 'Success', 'Settled', 'Received', 'Approved', 'Done', 'ගෙවා ඇත', 'செலுத்தப்பட்டது', 'PAID ✓']
const unsure = [
  ...[
    'Authorized',
    'pending verification',
    'Payment failed',
    'Awaiting payment',
    'Paid?',
    'Half',
    'Slip sent',
    'Verified',
  ],
  ...['Not captured', 'Paid 2000', 'Will pay by card', 'Cash / Card', 'Koko', 'මුදල් එවනවා', 'பணம் அனுப்புவார்', 'Overdue'],
  ...['Unpaid (paid half)', 'Credit', 'Cheque', 'Pay later', 'Reversed', 'Chargeback', 'Expired', 'Submitted', 'x'],
]
t.test('what says that an order was paid, or is not known, never leaves the total to collect', t => {
  for (const word of [...paid, ...unsure])
    for (const heading of ['Payment Status', 'Payment', 'Financial Status', 'ගෙවීම් තත්ත්වය', 'கட்டண நிலை'])
      t.match(one(heading, word), /^(maybe_paid|payment_unclear)$/, `${heading}: ${word}`)
  const table: [string, string][] = [
    ['Paid', '✓'],
    ['Paid', '✔️'],
    ['Paid', 'ඔව්'],
    ['Paid', 'x'],
    ['Paid', '1'],
    ['Prepaid', 'Yes'],
    ['ගෙවා ඇත', 'ඔව්'],
    ['Order Type', 'Prepaid'],
    ['Type', 'PREPAID'],
    ['Cash on Delivery', 'No'],
    ['COD?', 'FALSE'],
    ['COD', 'இல்லை'],
    ['Unpaid', 'No'],
    ['Paid at', '2026-11-27 10:00'],
    ['Payment Date', '2026-11-27'],
    ['Payed', 'yes'],
    ['Bank slip', 'yes'],
    ['Collection', 'None'],
    ['To collect?', 'No'],
    ['ගෙවූ මුදල', '4500'],
    ['செலுத்திய தொகை', '4500'],
    ['Payment Reference', 'TX-4481'],
    ['Mode', 'Visa'],
    ['Terms', 'Net 30'],
    ['Payment note', 'slip by WhatsApp'],
    ['Remark', 'PAID'],
    ['', 'Paid'],
    ['Tender', 'Gift card'],
    ['Order Status', 'Paid'],
    ['Transaction Status', 'Completed'],
    ['Gateway', 'payhere'],
    ['Payment Method', 'Bank Deposit'],
    ['ගෙවීම් ක්‍රමය', 'බැංකු මාරුව'],
    ['கட்டண முறை', 'அட்டை'],
  ]
  for (const [heading, cell] of table)
    t.match(one(heading, cell), /\b(maybe_paid|payment_unclear)\b/, `${heading}: ${cell}`)
  t.end()
})

t.test('what is known to be due is collected, without a question', t => {
  const due: [string, string][] = [
    ...['Unpaid', 'UNPAID', 'Not paid', 'Pending', 'COD', 'C.O.D.', 'Cash on Delivery (COD)', 'ගෙවා නැත', '', '-'].map(
      (word): [string, string] => ['Payment Status', word],
    ),
    ...['cod', 'cashondelivery', 'Cash', 'Card on delivery', 'භාරදීමේදී ගෙවීම', 'டெலிவரியின் போது பணம்'].map(
      (word): [string, string] => ['Payment Method', word],
    ),
    ...(['No', 'N', 'false', '✗', 'නැත', 'இல்லை'] as const).map((word): [string, string] => ['Paid', word]),
    ...[['Cash on Delivery', 'Yes'] as [string, string], ['Order Type', 'COD'] as [string, string]],
    ...[['Payment Fee', '90'] as [string, string], ['Payment City', 'Kotte'] as [string, string]],
    ...[['Received date', '2026-11-27'] as [string, string], ['Shipping Method', 'Flat'] as [string, string]],
  ]
  for (const [heading, cell] of due) t.equal(one(heading, cell), '4500', `${heading}: ${cell}`)
  t.end()
})

t.test('a COD that another column contradicts waits too, with its amount', t => {
  t.equal(one('Payment Mode', 'Prepaid', 'COD Amount'), 'maybe_paid')
  t.equal(one('Payment Status', 'Approved', 'COD Amount'), 'payment_unclear')
  for (const cells of ['Unpaid,PayHere', 'Pending,Bank transfer', 'Paid,COD'])
    t.equal(
      outcomes(`${head},Total,Payment Status,Payment Method\n${person},4500,${cells}`)[0],
      'payment_unclear',
      `${cells}: no button calls it prepaid`,
    )
  t.equal(one('Payment Status', 'Approved', 'COD Amount', '0'), '0', 'nothing is to be collected')
  t.equal(one('Advance', '500', 'COD Amount'), '4500', 'the COD is what is left')
  t.equal(one('Amount Paid', '4,500', 'COD Amount'), 'payment_unclear', 'the COD may be what was paid')
  t.equal(one('Balance', '0', 'COD Amount'), 'payment_unclear')
  const paidOnly = parseSheet(`${head},ගෙවූ මුදල\n${person},4500`)
  t.notMatch(chooseColumns(paidOnly).columns, [{}, {}, {}, {}, { field: 'cod' }], 'what was paid is no COD')
  const note = read(`${head},COD,Remark\n${person},4500,already paid by bank`)
  t.match(note, [{ values: { cod: '4500' }, marks: [{ code: 'payment_unclear', ask: true, amount: '4500' }] }])
  const [row] = read(`${head},COD Amount,Payment Status\n${person},4500,Approved`)
  t.match(row?.marks, [{ text: 'Payment Status: Approved', amount: '4500' }])
  t.equal(row?.values.cod, '4500')
  const flags = `${head},COD,Total\n${person},1,4500\nKamal,0770000002,2 Road,Galle,0,4600`
  t.strictSame(outcomes(flags), ['4500', 'maybe_paid'], 'a column of 1 and 0 is no amount')
  const foreign = read(`${head},Total,Currency,Payment Status\n${person},45,USD,Approved`)
  t.match(foreign[0]?.marks, [{ code: 'payment_unclear', amount: 'USD 45' }], 'the amount keeps its currency')
  t.end()
})

const wooHead = `Order Number,Order Status,First Name (Shipping),Address 1&2 (Shipping),City (Shipping),\
Phone (Shipping),Payment Method Title,Order Total Amount`
t.test('a remark that speaks of a payment is asked, in sheets and exports, and one that does not is none', t => {
  const speaks = [
    ...[
      'already paid by bank',
      'Slip sent on WhatsApp',
      'Advance of 500 given',
      'not paid yet, will pay',
      'Do not pay',
    ],
    ...['transferred yesterday', 'bank slip', 'දැනටමත් ගෙවා ඇත', 'ஏற்கனவே செலுத்தப்பட்டது', 'customer wants refund'],
  ]
  for (const text of speaks) {
    t.equal(one('Remark', text, 'COD'), 'payment_unclear', text)
    t.equal(one('Customer note', text), 'payment_unclear', text)
    const order = `${wooHead},Customer Note\n501,Processing,Nimal,1 Road,Galle,0770000001,COD,3350,"${text}"`
    t.equal(outcomes(order)[0], 'payment_unclear', `an export: ${text}`)
  }
  for (const text of ['Call before delivery', 'COD', 'collect cash', 'Leave at the gate', 'cash ready', '']) {
    t.equal(one('Remark', text, 'COD'), '4500', text)
    t.equal(
      outcomes(`${wooHead},Customer Note\n501,Processing,Nimal,1 Road,Galle,0770000001,COD,3350,"${text}"`)[0],
      '3350',
    )
  }
  t.end()
})

t.test('the sheet of words is read as its clerk reads it', t => {
  const rows = read(fixture('paid-words.csv'))
  t.strictSame(rows.map(outcome), [
    ...['maybe_paid', '4600', 'maybe_paid', 'left out', '4900', 'payment_unclear status_word'],
  ])
  t.equal(rows[3]?.leftOut, 'Order Status: Delivered')
  t.end()
})

const woo = (title: string, status = 'Processing', id?: string) =>
  outcomes(`${wooHead}${id === undefined ? '' : ',Payment Method'}
501,${status},Nimal,1 Road,Galle,0770000001,"${title}",3350${id === undefined ? '' : `,${id}`}`)[0]
t.test('in exports the id of the method decides, or else a known title; any other waits', t => {
  for (const title of ['Pay to rider', 'Pay later', 'Cheque', 'Pay when you receive the parcel', 'Koko', 'Other', ''])
    t.equal(woo(title), 'payment_unclear', title)
  for (const title of ['ලැබුණු විට මුදල් දෙන්න', 'பொருள் கிடைத்த பின் பணம்', 'Cash or card', 'Visa on delivery', 'POS'])
    t.equal(woo(title), 'payment_unclear', title)
  for (const title of ['COD', 'Cash on delivery', 'Cash On Delivery (COD)', 'භාරදීමේදී ගෙවීම', 'டெலிவரியின் போது பணம்'])
    t.equal(woo(title), '3350', title)
  for (const title of ['Visa / Master', 'PayHere', 'Direct bank transfer', 'Credit/Debit Card'])
    t.equal(woo(title), '0')
  t.equal(woo('Pay to rider', 'Processing', 'cod'), '3350', 'the id decides')
  t.equal(woo('Cash on delivery', 'Processing', 'payhere'), '0', 'the id decides')
  t.equal(woo('Visa', 'Processing', 'my_gateway'), 'payment_unclear', 'an id that is not known waits')
  t.equal(woo('Visa', 'On hold'), 'payment_unclear status_word')
  t.equal(woo('COD', 'On hold'), 'left out')
  t.equal(woo('COD', 'Completed'), 'payment_unclear')
  t.equal(woo('COD', 'Awaiting call'), 'status_word')
  for (const status of ['failed', 'Refunded', 'trash', 'wc-cancelled', 'Shipped', 'wc-delivered', 'Draft'])
    t.equal(woo('COD', status), 'left out', status)
  t.end()
})

t.test('the columns of WooCommerce’s commonest export are read as its clerk reads them', t => {
  const rows = read(fixture('woo-columns.csv'))
  t.strictSame(rows.map(outcome), ['4350', '0', 'payment_unclear status_word', 'left out'])
  t.match(
    rows.map(({ values }) => values),
    [
      { order_no: '901', customer_name: 'Amali Jaya', customer_address: '5/2 Kandy Road', destination: 'Kadawatha' },
      { customer_name: 'Gift Person', customer_phone: '0770007403', destination: 'Trincomalee' },
    ],
  )
  t.end()
})

const shopHead =
  'Name,Financial Status,Fulfillment Status,Total,Outstanding Balance,Payment Method,Lineitem name,Shipping Name'
const shop = (financial: string, method: string, fulfilled = '', due = '4500') =>
  outcomes(`${shopHead}\n#1,${financial},${fulfilled},4500,${due},"${method}",Mug,Nimal`)[0]
t.test('an order of Shopify that is pending is collected only by a method that says so', t => {
  t.equal(shop('pending', 'Cash on Delivery (COD)'), '4500')
  t.equal(shop('pending', ''), '4500')
  for (const method of ['Bank Deposit', 'Money Order', 'Koko', 'bogus', 'PayHere', 'வங்கி வைப்பு'])
    t.match(shop('pending', method), /^payment_unclear$/, method)
  t.equal(shop('paid', 'PayHere', '', '0'), '0')
  t.match(shop('paid', 'PayHere', '', '4500'), /^payment_unclear/, 'paid, and outstanding')
  for (const state of ['authorized', 'expired', 'captured?', 'ගෙවනවා'])
    t.match(shop(state, 'COD'), /^payment_unclear/, state)
  t.equal(shop('pending', 'COD', 'unfulfilled'), '4500')
  t.equal(shop('paid', 'PayHere', 'fulfilled', '0'), 'left out')
  t.equal(shop('pending', 'COD', 'partial'), 'status_word')
  t.equal(shop('voided', 'COD'), 'left out')
  t.end()
})

t.test('a status says whether a parcel travels; what it says else is asked', t => {
  const stays = [
    ...[
      'Delivered',
      'Returned',
      'Shipped',
      'On hold',
      'Duplicate',
      'Rejected',
      'අවලංගු',
      'draft',
      'failed',
      'Cancelled',
    ],
    ...['Cancel', 'return', 'CANCELED', 'Dispatched', 'In Transit', 'RTO', 'භාරදුන්', 'ரத்து', 'டெலிவரி செய்யப்பட்டது'],
  ]
  for (const word of stays) t.equal(one('Status', word, 'COD'), 'left out', word)
  for (const word of ['Processing', 'New', 'Confirmed', 'Packed', 'Ready to ship', 'නව', 'புதிய', 'wc-processing', ''])
    t.equal(one('Order Status', word, 'COD'), '4500', word)
  const asks = ['Pending', 'Completed', 'Not delivered', 'To be cancelled', 'No answer', 'Call back', 'Delivered 24/11']
  for (const word of [...asks, 'Partially shipped', 'රැගෙන යන්න', 'காத்திருக்கிறது', '7'])
    t.match(one('Delivery Status', word, 'COD'), /\bstatus_word\b/, word)
  t.equal(one('Cancelled', 'Yes', 'COD'), 'left out')
  t.equal(one('Fulfilment', 'Fulfilled', 'COD'), 'left out')
  t.equal(one('Cancelled at', '2026-11-27', 'COD'), 'left out')
  t.equal(one('Returned', 'No', 'COD'), '4500')
  t.equal(one('Shipped', 'maybe', 'COD'), 'status_word')
  t.equal(one('Remark', 'CANCELLED', 'COD'), 'status_word', 'a remark of one word')
  t.end()
})

t.test('another kind of parcel, and more than one piece, are asked', t => {
  for (const word of ['Exchange', 'Return', 'Reverse Pickup', 'Replacement', 'හුවමාරු', 'பரிமாற்றம்'])
    for (const heading of ['Type', 'Order Type', 'Delivery Type'])
      t.equal(one(heading, word, 'COD'), 'kind_word', `${heading}: ${word}`)
  for (const word of ['Delivery', 'Forward', 'Normal', 'COD', '']) t.equal(one('Type', word, 'COD'), '4500', word)
  t.equal(one('Exchange', 'Yes', 'COD'), 'kind_word')
  for (const heading of ['Parcel Type', 'Service', 'Category', 'Remark', ''])
    t.equal(one(heading, 'Exchange', 'COD'), 'kind_word', heading)
  t.equal(one('Exchange', 'No', 'COD'), '4500')
  t.equal(one('Exchange Rate', '300', 'COD'), '4500')
  for (const heading of [
    'Pieces',
    'Boxes',
    'No of Pieces',
    'PCS',
    'Number of boxes',
    'No. of packages',
    'Box Count',
    'Qty of boxes',
    '# of boxes',
  ])
    for (const cell of ['2', '02', '3 boxes', 'two', '1+1'])
      t.equal(one(heading, cell, 'COD'), 'pieces', `${heading}: ${cell}`)
  for (const cell of ['1', '01', '1 box', '', '0']) t.equal(one('Boxes', cell, 'COD'), '4500', cell)
  for (const heading of ['Pkgs', 'Carton', 'කෑලි', 'Parcel count']) t.equal(one(heading, '2', 'COD'), 'pieces', heading)
  t.equal(one('Parcel No', '3', 'COD'), '4500', 'a name of the parcel')
  t.equal(one('Quantity', '3', 'COD'), '4500', 'items of one parcel')
  t.end()
})

t.test('a row that is struck through is left out, and one with struck cells is asked', t => {
  const sheet = parseSheet(`${head},COD\n${person},4500\n${person},4600\n${person},4700`)
  Object.assign(sheet.rows[1], { struck: 5 })
  Object.assign(sheet.rows[2], { struck: 1 })
  t.strictSame(toRows(sheet, chooseColumns(sheet), 'LKR').map(outcome), ['left out', 'struck', '4700'])
  t.end()
})

t.test('rows of one order number are asked, but for those of a known export', t => {
  const sheet = (...numbers: string[]) =>
    `Order No,${head},COD\n${numbers.map(no => `${no},${person},4500`).join('\n')}`
  t.strictSame(outcomes(sheet('A-1', 'a-1 ', 'A-2', '', '')), ['same_order', 'same_order', '4500', '4500', '4500'])
  t.end()
})

const browser = await launchBrowser(t)
if (browser) {
  const file = tenantFile()
  const names = ['Kandy', 'Matara', 'Ella', 'Kegalle', 'Kadawatha', 'Trincomalee']
  file.states[1]?.cities.push(...names.map((name, n) => ({ id: 2200 + n, name })))
  file.rate_cards[0]?.rates.push({ from: 'metro', to: 'north', first_kg: 600, each_extra_kg: 100 })
  const orders = await ordersFixture(t, { file })
  const url = `${await orders.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const { open } = await openDesk(t, browser, url)
  /** Books the rows that are ready, and lists their numbers or names with their COD. */
  const book = async (page: Page) =>
    (await bookRows(page)).map(({ order_no, customer_name, cod }) => [order_no ?? customer_name, cod])

  t.test('only whole rows are booked, and a broken one once it is corrected', async t => {
    const page = await open()
    await checkSheet(page, fixture('ragged.csv'))
    await waitForReady(page, 2)
    await page
      .getByText('8 cells for 7 headings: a comma is too many or missing. Look at “Pieces: Upper Floor”')
      .waitFor()
    await showDesk(t, page, 'questions-broken')
    await page.locator('#row-3-cod').fill('4500')
    await page.locator('#row-3-customer_address').fill('7 Lake Road, Upper Floor')
    await press(page, 'Check again')
    await waitForReady(page, 2)
    await press(page, 'Row 3: Book as shown')
    await press(page, 'Check again')
    await waitForReady(page, 3)
    t.strictSame(await book(page), [
      ['S1', 4500],
      ['S2', 4500],
      ['S4', 4800],
    ])
    await checkSheet(page, fixture('quotes.csv'))
    await waitForReady(page, 1)
    await page.getByText('A quote holds other rows').waitFor()
    t.strictSame(await book(page), [['Saman Bandara', 4800]])
    await page.close()
  })

  t.test('rows that all lack the last cell are answered once', async t => {
    const page = await open()
    const rows = Array.from({ length: 40 }, (_, n) => `Z-${n},Nimal ${n},07701${10_000 + n},1 Road,Galle,${500 + n}`)
    await checkSheet(page, [`Order No,${head},COD,Remark`, ...rows].join('\n'))
    await waitForReady(page, 0)
    await page
      .locator('.notice', { hasText: 'Each row has 6 cells for 7 headings' })
      .getByRole('button')
      .first()
      .click()
    await waitForReady(page, 40)
    t.strictSame(
      await book(page),
      rows.map((_, n) => [`Z-${n}`, 500 + n]),
    )
    await page.close()
  })

  t.test('a word is answered for one row or for all rows that have it', async t => {
    const page = await open()
    await checkSheet(page, fixture('paid-words.csv'))
    await waitForReady(page, 2)
    await page.getByText('Left out: Order Status: Delivered (1)').waitFor()
    await press(page, 'Row 2: Nothing to collect')
    await press(page, 'Row 7: Collect the amount')
    await press(page, 'Row 7: Book as shown')
    await page.getByLabel('Book row 5').check()
    await press(page, 'Check again')
    await waitForReady(page, 4)
    await page.locator('#row-5-cod-error', { hasText: 'It is not clear whether this was paid' }).waitFor()
    t.strictSame(await book(page), [
      ['P1', 0],
      ['P2', 4600],
      ['P5', 4900],
      ['P6', 5000],
    ])
    const row = (n: number, said: string, status = '') => `Q-${n},${person},${1000 + n},${said},${status}`
    const rows = Array.from({ length: 12 }, (_, n) => row(n, n < 6 ? 'Approved' : 'Koko', n % 2 ? 'Pending' : ''))
    await checkSheet(page, [`Order No,${head},Total,Payment Status,Order Status`, ...rows].join('\n'))
    await waitForReady(page, 0)
    const group = (text: string) => page.locator('.notice', { hasText: text })
    await showDesk(t, page, 'questions')
    await showInLanguages(t, page, 'questions', '.grid')
    await group('Approved (6)').getByRole('button', { name: 'Nothing to collect' }).click()
    await waitForReady(page, 3)
    await group('Koko (6)').getByRole('button', { name: 'Collect the amount' }).click()
    await waitForReady(page, 6)
    await group('Pending”: is this parcel to be sent? (6)').getByRole('button', { name: 'Leave out' }).click()
    await page.getByText('Left out: Left out (6)').waitFor()
    const booked = await book(page)
    t.strictSame(
      booked,
      Array.from({ length: 6 }, (_, n) => [`Q-${2 * n}`, n < 3 ? 0 : 1000 + 2 * n]),
    )
    await page.close()
  })

  t.test(
    'a question that is open when the others are booked is there after a reload, and is answered then',
    async t => {
      const page = await open()
      const row = (no: string, said: string) => `${no},${person},4500,${said}`
      await checkSheet(
        page,
        [`Order No,${head},Total,Payment Status`, row('R-1', 'Unpaid'), row('R-2', 'Approved')].join('\n'),
      )
      await waitForReady(page, 1)
      await page.getByRole('button', { name: /^Book and confirm/ }).click()
      await page.getByText('1 of 1 parcels are booked.').waitFor()
      await page.reload()
      await press(page, 'Row 3: Collect the amount')
      t.ok(await page.getByRole('button', { name: /^Book and confirm/ }).isDisabled(), 'the row is checked first')
      await press(page, 'Check again')
      await waitForReady(page, 1)
      await page.getByRole('button', { name: /^Book and confirm/ }).click()
      await page.getByText('2 of 2 parcels are booked.').waitFor()
      t.strictSame(await orders.rows(`select order_no, cod from orders where order_no like 'R-%' order by order_no`), [
        { order_no: 'R-1', cod: 4500 },
        { order_no: 'R-2', cod: 4500 },
      ])
      await press(page, 'Upload more')
      await page.getByRole('textbox', { name: 'Rows' }).waitFor()
      await page.close()
    },
  )

  t.test('rows of one order are booked as one parcel or as several, as a person says', async t => {
    const page = await open()
    const sheet = `Order No,${head},COD,Item\nA-1,${person},4500,Shoe\nA-1,${person},4500,Belt\nA-2,${person},900,Cap
A-3,${person},500,Pen\nA-3,${person},700,Ink`
    await checkSheet(page, sheet)
    await waitForReady(page, 1)
    await press(page, 'One parcel')
    await waitForReady(page, 2)
    await page.locator('#row-5-cod-error', { hasText: '500, 700' }).waitFor()
    t.equal(await page.locator('#row-2-description').inputValue(), 'Shoe, Belt')
    t.strictSame(await book(page), [
      ['A-1', 4500],
      ['A-2', 900],
    ])
    // Other numbers: those of above are booked before.
    await checkSheet(page, sheet.replaceAll('A-', 'B-'))
    await press(page, 'Row 2: Several parcels')
    await press(page, 'Check again')
    await waitForReady(page, 3)
    await page.close()
  })
}
