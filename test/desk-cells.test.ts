import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { launchBrowser } from './browser.ts'
import { bookRows, chooseOrigin, openDesk, waitForReady } from './desk.ts'

// The type check of portal/ covers these files.
const { parseSheet } = await import(join(root, 'portal/desk/read-sheet.js'))
const { chooseColumns } = await import(join(root, 'portal/desk/upload/columns.js'))
const { readMoney, readWeight } = await import(join(root, 'portal/desk/upload/numbers.js'))
const { readWorkbook } = await import(join(root, 'portal/desk/upload/read-xlsx.js'))

/** Packs parts into a ZIP archive without checksums, which nothing reads. */
const pack = (parts: Record<string, string>): Blob => {
  const [bodies, entries]: [Buffer[], Buffer[]] = [[], []]
  let at = 0
  for (const [name, content] of Object.entries(parts)) {
    const packed = deflateRawSync(content)
    const [header, entry, end] = [Buffer.alloc(30), Buffer.alloc(46), Buffer.from(name)]
    header.writeUInt16LE(name.length, 26)
    entry.writeUInt16LE(8, 10)
    entry.writeUInt32LE(packed.length, 20)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE(at, 42)
    bodies.push(header, end, packed)
    entries.push(entry, end)
    at += header.length + name.length + packed.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(parts).length, 10)
  end.writeUInt32LE(at, 16)
  return new Blob([...bodies, ...entries, end].map(part => new Uint8Array(part)))
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
/** Reads numbers from a workbook in which each has a format: its code, or the number of one that Excel knows. */
const showNumbers = async (cells: readonly (readonly [number, string])[]): Promise<string[]> => {
  const own = cells.map(([, format], index) => (/^\d+$/.test(format) && format.length < 3 ? format : `${200 + index}`))
  const formats = cells.map(([, format], at) => `<numFmt numFmtId="${200 + at}" formatCode="${escapeXml(format)}"/>`)
  const xfs = own.map(id => `<xf numFmtId="${id}"/>`)
  const row = cells.map(([value], at) => `<c s="${at}"><v>${value}</v></c>`)
  const sheet = await readWorkbook(
    pack({
      'xl/workbook.xml': '<workbook><sheets><sheet name="One" r:id="r1"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels': '<Relationships><Relationship Id="r1" Target="/xl/one.xml"/></Relationships>',
      'xl/one.xml': `<worksheet><sheetData><row>${row.join('')}</row></sheetData></worksheet>`,
      'xl/styles.xml': `<styleSheet>${formats.join('')}<cellXfs>${xfs.join('')}</cellXfs></styleSheet>`,
    }),
    10,
  )
  return sheet.rows[0].cells
}

t.test('the currency of a number’s format is read like one in the text', async t => {
  const unit = { problem: 'unit' }
  const table: [number, string, string, object][] = [
    [20, '[$USD] #,##0.00', 'USD 20', unit],
    [20, '[$USD]\\ #,##0.00', 'USD 20', unit],
    [20, '[$USD-409] #,##0.00', 'USD 20', unit],
    [20, '"$"#,##0.00', '$20', unit],
    [20, '$#,##0.00_);($#,##0.00)', '$20', unit],
    [20, '\\$#,##0', '$20', unit],
    [20, '[$$-409]#,##0.00', '$20', unit],
    [20, '[$€-2] #,##0.00', '€ 20', unit],
    [20, '#,##0.00 [$€-407]', '20 €', unit],
    [20, '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)', '$20', unit],
    [20, '_-[$£-809]* #,##0.00_-;-[$£-809]* #,##0.00_-;_-@_-', '£20', unit],
    [20, '[Red][$₹-4009] #,##0', '₹ 20', unit],
    [20, '#,##0 "USD"', '20 USD', unit],
    [20, 'General" USD"', '20 USD', unit],
    [20, '€#,##0', '€20', unit],
    [20, '44', '$20', unit],
    [20, '7', '$20', unit],
    [20_000, '#,##0,', '20000 thousands', unit],
    [20_000, '#,##0,"K"', '20000K', unit],
    [4500, '[$LKR] #,##0.00', 'LKR 4500', { value: 4500 }],
    [4500, '[$Rs.-849]#,##0.00', 'Rs.4500', { value: 4500 }],
    [4500, '[$රු.-45B] #,##0.00', 'රු. 4500', { value: 4500 }],
    [4500, '"Rs. "#,##0.00', 'Rs. 4500', { value: 4500 }],
    [4500, '#,##0"/="', '4500/=', { value: 4500 }],
    [4500, '[$-409]#,##0.00', '4500', { value: 4500 }],
    [4500, '#,##0.00_);[Red](#,##0.00)', '4500', { value: 4500 }],
    [4500, '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)', '4500', { value: 4500 }],
    [4500, '[>=100000]##\\,##\\,##0;##,##0', '4500', { value: 4500 }],
    [4500, 'General', '4500', { value: 4500 }],
    [4500, '3', '4500', { value: 4500 }],
    [0, '"$"#,##0.00', '0', { value: 0 }],
  ]
  const shown = await showNumbers(table.map(([value, format]) => [value, format]))
  for (const [at, [, format, text, reading]] of table.entries()) {
    t.match([shown[at]?.replace(/\s+/g, ' '), readMoney(shown[at] ?? '', 'LKR')], [text, reading], format)
  }
  t.strictSame(readMoney(shown[0] ?? '', 'USD'), { value: 20 }, 'the company’s own currency')
  const others = await showNumbers([
    [500, '0 "g"'],
    [1.5, '0.00" kg"'],
    [770000111, '0000000000'],
    [9876543210, '"+91 "0'],
    [12, '"INV-"0000'],
    [46350, '[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy'],
  ])
  t.strictSame(others, ['500 g', '1.5 kg', '0770000111', '+91 9876543210', 'INV-0012', '2026-11-24'])
  t.strictSame(readWeight(others[0] ?? ''), { value: 0.5 })
})

t.test('an amount with a comma before groups of other lengths is asked, and other scripts are read', t => {
  for (const text of ['1,0000', '12,0000', '4500,000', '1500,0000', '4500,500', '١٫٥٠٠', '1.500', '4,50'])
    t.strictSame(readMoney(text), { problem: 'ambiguous' }, text)
  t.strictSame(readWeight('1500,000'), { problem: 'ambiguous' })
  for (const text of [
    '4500,00',
    '4,500',
    '4500.0000',
    '٤٥٠٠',
    '٤٬٥٠٠',
    '۴۵۰۰',
    '৪৫০০',
    '৪,৫০০',
    '४५००',
    '൪൫൦൦',
    '４５００',
  ])
    t.strictSame(readMoney(text), { value: 4500 }, text)
  t.strictSame(readMoney('৪,৫০০ টাকা', 'BDT'), { value: 4500 })
  t.strictSame(readMoney('৳৪৫০০', 'BDT'), { value: 4500 })
  t.strictSame(readMoney('٤٥٠٠ درهم', 'AED'), { value: 4500 })
  t.strictSame(readMoney('٤٥٠٠ درهم', 'LKR'), { problem: 'unit' })
  t.strictSame(readWeight('১.৫'), { value: 1.5 })
  t.end()
})

t.test('headings in Arabic and Bengali name the columns', t => {
  const read = (headings: string, cells = '') => {
    const { columns, asked } = chooseColumns(parseSheet(`${headings}\n${cells}`))
    t.strictSame(asked, [], headings)
    return columns.map(({ field }: { field: string }) => field.replace('customer_', ''))
  }
  const arabic = 'رقم الطلب,اسم المرسل,اسم المستلم,رقم الجوال,العنوان,المدينة,المبلغ المطلوب,رسوم الشحن,الوزن,ملاحظات'
  const fields = ['order_no', '', 'name', 'phone', 'address', 'destination', 'cod', '', 'weight', 'remark']
  t.strictSame(read(arabic), fields)
  t.strictSame(read('الاسم,الهاتف,العنوان,المدينة,المبلغ,الكمية'), [
    'name',
    'phone',
    'address',
    'destination',
    'cod',
    '',
  ])
  const bengali = 'অর্ডার নম্বর,প্রেরকের নাম,প্রাপকের নাম,মোবাইল নম্বর,ঠিকানা,জেলা,মোট টাকা,ডেলিভারি চার্জ,ওজন,মন্তব্য'
  t.strictSame(read(bengali), fields)
  t.strictSame(read('নাম,ফোন,ঠিকানা,শহর,বকেয়া,মোট,দাম'), ['name', 'phone', 'address', 'destination', 'cod', '', ''])
  t.end()
})

const browser = await launchBrowser(t)
if (browser) {
  const orders = await ordersFixture(t)
  const url = `${await orders.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const { open } = await openDesk(t, browser, url)
  const page = await open()
  const read = async (text: string) => {
    await page.getByRole('textbox', { name: 'Rows' }).fill(text)
    await page.getByRole('button', { name: /^Read/ }).click()
    if (!(await page.getByLabel('Parcels start in').inputValue())) await chooseOrigin(page)
  }
  t.test('an amount typed into a sheet of prepaid parcels is read or asked, never booked as 0', async t => {
    await read('Name,Phone,Address,City\nNimal,0770000001,1 Road,Galle\nKamal,0770000002,2 Road,Galle')
    await page.getByLabel('All parcels of this sheet are prepaid').check()
    await page.getByRole('button', { name: 'Check the rows' }).click()
    await waitForReady(page, 2)
    const cod = page.locator('#row-2-cod')
    for (const text of ['1.500', '4,50', 'USD 40', '#N/A', 'four thousand']) {
      await cod.fill(text)
      await page.getByRole('button', { name: 'Check again' }).click()
      await page.locator('#row-2-cod-error').waitFor()
      t.equal(await cod.inputValue(), text)
    }
    t.equal(await page.getByRole('button', { name: /^Prepaid/ }).count(), 0, 'words may be an amount')
    await cod.fill('১৫০০')
    await page.getByRole('button', { name: 'Check again' }).click()
    await waitForReady(page, 2)
    t.match(await bookRows(page), [{ cod: 1500 }, { cod: 0 }])
  })

  t.test('rows whose order number was booked days ago are left out and named, and can be taken in', async t => {
    const row = (number: string, at: number) => `${number},Nimal ${at},077000010${at},${at} Road,Galle,${1000 + at}`
    const head = 'Order no,Name,Phone,Address,City,COD'
    const check = async (text: string) => {
      await read(text)
      await page.getByRole('button', { name: 'Check the rows' }).click()
    }
    await check([head, row('W-1', 1), row('W-2', 2), row('W-3', 3)].join('\n'))
    await waitForReady(page, 3)
    t.equal((await bookRows(page)).length, 3)
    await orders.rows(`update orders set created_at = '2026-02-03T06:00:00Z' where order_no like 'W-%'`)
    const [{ waybill_number: waybill }] = await orders.rows(`select * from orders where order_no = 'W-1'`)
    await orders.rows(`update orders set status_key = 'key_3' where order_no = 'W-3'`)
    await check([head, row('W-1', 1), row('W-2', 2), row('W-3', 3), row('W-4', 4)].join('\n'))
    await waitForReady(page, 2)
    await page.getByText('Left out: Booked before (2)').waitFor()
    await page.getByText(`${waybill}, booked on 2026-02-03, has the same number.`).waitFor()
    await page.getByText('booked on 2026-02-03 and cancelled since, had the same number.').waitFor()
    await page.getByLabel('Book row 3').check()
    await waitForReady(page, 3)
    await page.locator('#row-3-remark, #row-3-customer_name').first().fill('Nimal again')
    await page.getByRole('button', { name: 'Check again' }).click()
    await waitForReady(page, 3)
    t.strictSame(
      (await bookRows(page)).map(({ order_no }) => order_no),
      ['W-2', 'W-3', 'W-4'],
    )
  })
}
