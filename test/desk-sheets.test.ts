import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../dev/settings.ts'

// The types of the page's files are checked with the page.
const { guessColumns, parseSheet, readNumber, writeCsv } = await import(join(root, 'portal/desk/read-sheet.js'))

const sheet = (name: string): string[][] => parseSheet(readFileSync(join(root, 'examples/sheets', name), 'utf8'))

t.test('reads the template of a courier, with quoted cells over two lines', async t => {
  const rows = sheet('courier-template.csv')
  t.equal(rows.length, 4)
  t.strictSame(rows[2]?.slice(2, 4), ['7 Lake Road\nKotte', 'Kotte'])
  t.equal(rows[2]?.[8], 'Belt "brown"')
  t.strictSame(guessColumns(rows), {
    hasHeadings: true,
    fields: [
      ...['order_no', 'customer_name', 'customer_address', 'destination', 'customer_phone', 'customer_secondary_phone'],
      ...['cod', 'weight', 'description', 'remark'],
    ],
  })
})

t.test('reads the export of a web shop, whose Name is the number of the order', async t => {
  t.strictSame(guessColumns(sheet('web-shop.csv')), {
    hasHeadings: true,
    fields: [
      ...['order_no', 'customer_email', 'customer_name', 'customer_address', 'destination', 'customer_phone', 'cod'],
      ...['description', 'remark'],
    ],
  })
})

t.test('reads pasted rows without headings: the phone is found, the rest is for a person to say', async t => {
  t.strictSame(guessColumns(sheet('pasted.tsv')), { hasHeadings: false, fields: ['', '', 'customer_phone', ''] })
})

t.test('reads amounts as people write them, and leaves other text to the service', async t => {
  const table: [string, number | string][] = [
    ['4,500.00', 4500],
    ['Rs. 1250', 1250],
    ['LKR 1,990', 1990],
    ['1.2 kg', 1.2],
    ['1,5', '1,5'],
    ['free', 'free'],
  ]
  for (const [text, read] of table) t.equal(readNumber(text), read, text)
})

t.test('writes rows that it reads again, and no formula', async t => {
  const rows = [
    ['a;b', 'says "no"\nand goes', '+94770000101'],
    ['=1+1', '', '-5'],
  ]
  t.strictSame(parseSheet(await writeCsv(rows).text()), [rows[0], ["'=1+1", '', '-5']])
})
