import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { checkFile } from '../../../core/provisioning/check-file.ts'
import { companyFile } from '../../../test/build.ts'
import { tenantFile } from '../../../test/tenant.ts'
import { draw, type PrintJob } from '../../labels/draw.ts'
import { fillMask } from './invoice-numbers.ts'
import { composePaper, type PaperSource } from './paper.ts'
import { wordSum } from './words.ts'

const line = {
  ...{ waybill_number: 'DM1', line_no: 1, kind: 'delivered', booked_on: '2026-07-01', collected: 0, withholding: 0 },
  ...{ delivery: 450, cod_fee: 20, return_fee: 0, tax: 84.6, compensation: 0, adjustment: 0, held: 0, net: -554.6 },
  ...{ tax_percent: 18, withholding_percent: null, reason: null, taxes: [], withheld: [] },
}
const back = { ...line, waybill_number: 'DM2', kind: 'returned', booked_on: '2026-07-31', delivery: 0, cod_fee: 0 }
const letterhead = {
  ...{ company: 'Demo Couriers', company_address: '1 Main Street\nColombo 03', company_tax_number: '101-7000' },
  ...{ merchant_name: 'Lanka Shoes', merchant_address: 'No. 7\nGalle', merchant_tax_number: '202-7000' },
  ...{ currency: 'LKR', form: 'plain' as const, company_phone: '+94112000000', merchant_phone: '+94112345678' },
  ...{ merchant_tax_status: null, place_of_supply: 'Colombo', sets_off: true },
} as const
const source: PaperSource = {
  ...{ document: 'tax_invoice', number: '26JUL_HO_1', issued_on: '2026-07-31', made_on: '2026-07-31', total: 0 },
  ...{ references: ['Parcels until 2026-07-31'], letterhead, charges_due: 731.6, set_offs: [] },
  lines: [line, { ...back, return_fee: 150, tax: 27, net: -177 }],
}

const print = async (job: PrintJob, name = ''): Promise<Buffer> => {
  const parts: Buffer[] = []
  await draw(job, bytes => parts.push(bytes))
  if (process.env.SCREENSHOTS && name) writeFileSync(`${process.env.SCREENSHOTS}/${name}.pdf`, Buffer.concat(parts))
  return Buffer.concat(parts)
}

t.test('the plain form of a tax invoice', async t => {
  const paper = composePaper(source)
  t.strictSame(paper, {
    ...{ title: 'Tax invoice', number: '26JUL_HO_1', dated: '2026-07-31', notes: [] },
    from: ['Demo Couriers', '1 Main Street', 'Colombo 03', 'Tax number 101-7000'],
    to: ['Lanka Shoes', 'No. 7', 'Galle', 'Tax number 202-7000'],
    facts: ['Issued on 2026-07-31', 'Parcels until 2026-07-31'],
    sums: [
      ['Delivery', '1 parcel', '450.00'],
      ['COD fee', '1 parcel', '20.00'],
      ['Return fee', '1 parcel', '150.00'],
      ['Value without tax', '', '620.00'],
      ['Tax, 18 % of 620.00', '', '111.60'],
    ],
    total: ['Total, set off against your cash on delivery (LKR)', '731.60'],
    columns: [
      ...['Waybill', 'Booked', 'What'].map(head => ({ head, isAmount: false })),
      ...['Tax %', 'Delivery', 'COD fee', 'Return fee', 'Tax', 'Total'].map(head => ({ head, isAmount: true })),
    ],
    rows: [
      ['DM1', '2026-07-01', 'delivered', '18', '450.00', '20.00', '0.00', '84.60', '554.60'],
      ['DM2', '2026-07-31', 'returned', '18', '0.00', '0.00', '150.00', '27.00', '177.00'],
    ],
  })
  await print({ kind: 'paper', paper }, 'tax-invoice')
})

t.test("Sri Lanka's form", async t => {
  const lk = { ...source, letterhead: { ...letterhead, form: 'lk' } as const }
  const { title, from, to, facts, notes } = composePaper(lk)
  t.strictSame(
    { title, from, to, facts, notes },
    {
      title: 'TAX INVOICE',
      from: ['Demo Couriers', '1 Main Street', 'Colombo 03', 'TIN: 101-7000', 'Telephone: +94112000000'],
      to: ['Lanka Shoes', 'No. 7', 'Galle', 'TIN: 202-7000', 'Telephone: +94112345678'],
      facts: [
        'Tax invoice number: 26JUL_HO_1',
        'Date of invoice: 07/31/2026',
        'Date of supply: 07/01/2026 to 07/31/2026',
        'Place of supply: Colombo',
        'Mode of payment: Set off against cash on delivery',
        'Parcels until 2026-07-31',
      ],
      notes: ['Total in words: LKR seven hundred thirty-one and 60/100'],
    },
  )
  const other = composePaper({ ...lk, letterhead: { ...lk.letterhead, merchant_tax_status: 'unregistered' } })
  t.equal(other.title, 'INVOICE')
  t.notOk(other.to.some(text => text.startsWith('TIN')))
  await print({ kind: 'paper', paper: composePaper(lk) }, 'lk')
})

t.test(
  'a remittance says who pays whom, keeps the smallest unit and whole words, and leaves out amounts of 0',
  async t => {
    const kwd = { ...letterhead, currency: 'KWD' }
    const zero = { ...line, delivery: 0, cod_fee: 0, tax: 0, net: 0, tax_percent: null }
    const lines = [
      { ...zero, kind: 'delivery_reversed', collected: -0.001, net: -0.001 },
      { ...zero, collected: 15_000_000, net: 15_000_000 },
      { ...zero, kind: 'released' },
    ]
    const set_offs = [{ invoice_no: 'CFX-1', amount: 5.5 }]
    const remittance = {
      ...source,
      document: 'remittance',
      letterhead: kwd,
      lines,
      set_offs,
      total: 14_999_994.499,
      charges_due: 0,
    } as const
    const { sums, rows, total, columns } = composePaper(remittance)
    t.strictSame(sums, [
      ['Collected', '1 parcel', '14,999,999.999'],
      ['Set off: CFX-1', '', '-5.500'],
    ])
    t.strictSame(total, ['To be paid by Demo Couriers to Lanka Shoes (KWD)', '14,999,994.499'])
    t.strictSame(
      columns.map(({ head }) => head),
      ['Waybill', 'Booked', 'What', 'Collected', 'Owed'],
    )
    t.strictSame(rows, [
      ['DM1', '2026-07-01', 'delivery reversed', '-0.001', '-0.001'],
      ['DM1', '2026-07-01', 'delivered', '15,000,000.000', '15,000,000.000'],
    ])
  },
)

t.test('columns never overlap, page 2 names the document, and a draft has the same bytes, too', async t => {
  const long = 'A limited company with a legal name as long as the law allows, '.repeat(4)
  const idr = { ...letterhead, currency: 'IDR', merchant_name: long, merchant_address: '1\n2\n3\n4\n5' }
  const amounts = { collected: 15e6, delivery: 15e6, cod_fee: 15e6, return_fee: 15e6, tax: 15e6, withholding: 15e6 }
  const wide = { ...line, ...amounts, compensation: 15e6, adjustment: 15e6, held: 15e6, net: -999_999_999_999.99 }
  const lines = Array.from({ length: 90 }, (_, n) => ({
    ...wide,
    ...{ waybill_number: 'W'.repeat(50), kind: 'delivery_reversed', reason: n % 9 === 0 ? long : null },
  }))
  const draft = { ...source, document: 'invoice', issued_on: null, number: null, lines, letterhead: idr } as const
  const paper = composePaper(draft)
  const found: { text: string; x: number; y: number; width: number; page: number }[] = []
  const { default: PDFDocument } = await import('pdfkit')
  const write = PDFDocument.prototype.text
  let page = 0
  const add = PDFDocument.prototype.addPage
  PDFDocument.prototype.addPage = function (...given: never[]) {
    page++
    return add.apply(this, given)
  }
  PDFDocument.prototype.text = function (text: string, x?: number, y?: number, ...rest: never[]) {
    found.push({ text, x: x ?? 0, y: y ?? 0, width: this.widthOfString(text), page })
    return write.call(this, text, x, y, ...rest)
  }
  const bytes = await print({ kind: 'paper', paper }, 'wide')
  Object.assign(PDFDocument.prototype, { text: write, addPage: add })
  const rows = Map.groupBy(found, ({ page, y }) => `${page} ${y.toFixed(2)}`)
  for (const texts of rows.values()) {
    const sorted = texts.toSorted((a, b) => a.x - b.x)
    for (const [n, each] of sorted.entries()) {
      const next = sorted[n + 1]
      const right = each.x + each.width
      if (right > 595.28 || (next && right > next.x + 0.01)) t.fail(`${each.text} reaches over ${next?.text}`)
    }
  }
  const joined = found
    .map(({ text }) => text)
    .join(' ')
    .replace(/\s+/g, ' ')
  t.match(joined, long.trim(), 'the legal name is there in full')
  t.notMatch(joined, '…')
  const drawnAgain = await print({ kind: 'paper', paper })
  t.ok(bytes.equals(drawnAgain))
  const second = composePaper({ ...source, lines: lines.map(each => ({ ...each, kind: 'delivered' })) })
  found.length = 0
  PDFDocument.prototype.text = function (text: string, ...rest: never[]) {
    found.push({ text, x: 0, y: 0, width: 0, page: 0 })
    return write.call(this, text, ...rest)
  }
  await print({ kind: 'paper', paper: second })
  PDFDocument.prototype.text = write
  t.match(
    found.map(({ text }) => text),
    /Demo Couriers: Tax invoice 26JUL_HO_1/,
  )
})

t.test('a document of an earlier release keeps its bytes', async t => {
  const old = { ...line, booked_on: '2026-02-01', collected: 1000, withholding: 20, net: 425.4, withholding_percent: 2 }
  const document = {
    title: 'Invoice',
    ...{ number: 'CFX-26-02-00001', issued_on: '2026-02-02', references: ['Reference MI-0001'] },
    letterhead: {
      ...{ company: 'Demo Couriers', company_address: '1 Main Street', company_tax_number: 'VAT 101' },
      ...{ merchant_name: 'Lanka Shoes', merchant_address: null, merchant_tax_number: null, currency: 'LKR' },
    },
    ...{ total: 425.4, charges_due: 0, lines: [old] },
  } as const
  t.equal(
    hash('sha256', await print({ kind: 'invoice', document })),
    'bff50a6549d83d854b6dea376fdf7ca291b0b9c8398c20d1bf027ef017c9caa8',
  )
})

t.test('amounts in words', async t => {
  t.equal(wordSum(1_002_115.05, 'LKR'), 'LKR one million two thousand one hundred fifteen and 05/100')
  t.equal(wordSum(80, 'JPY'), 'JPY eighty only')
  t.equal(wordSum(0.001, 'KWD'), 'KWD zero and 001/1000')
})

const errorsOf = (tenant: object, merchant: object = {}) => {
  const file = tenantFile()
  Object.assign(file.tenant, tenant)
  Object.assign(file.merchants[0] ?? {}, merchant)
  const checked = checkFile(file, companyFile)
  return checked.kind === 'refused' ? checked.errors : {}
}

t.test('masks know months and branches, and nothing is guessed', async t => {
  t.equal(fillMask('YYMMM_{branch}_#', '2026-07-09', 'HO'), '26JUL_HO_#')
  t.equal(fillMask('INV{YY}-###', '2026-07-09'), 'INV26-###')
  for (const mask of ['YYMMM_{branch}_#', 'INV{YY}-#', 'CMD-#', 'YYYYMMDD/#', 'BR03-#'])
    t.strictSame(errorsOf({ money: { invoice_mask: mask, branch: 'HO' } }), {}, mask)
  for (const mask of ['COMMERCE-####', 'COMM-#', 'INVYY-#', 'YYY-#', 'A{MMMM}#', '{#}'])
    t.ok(errorsOf({ money: { invoice_mask: mask } })['tenant.money.invoice_mask'], mask)
  t.match(errorsOf({ money: { invoice_mask: '{branch}-#' } }), {
    'tenant.money.invoice_mask': [/set tenant.money.branch/],
  })
})

t.test('two series never share a mask, whatever the day and the branch', async t => {
  for (const [invoice_mask, credit_note_mask] of [
    ['A-#', 'A-##'],
    ['A-YY-#', 'A-26-#'],
    ['A-MMM-#', 'A-JUL-#'],
    ['A-DD-#', 'A-31-#'],
    ['A-{branch}-#', 'A-HO-#'],
  ])
    t.match(
      errorsOf({ money: { invoice_mask, credit_note_mask, branch: 'HO' } }),
      { 'tenant.money.credit_note_mask': ['It gives the same numbers as invoice_mask: each series has its own.'] },
      `${invoice_mask} ${credit_note_mask}`,
    )
  t.match(errorsOf({ money: { invoice_mask: 'PAY-#' } }), { 'tenant.money.invoice_mask': [/batches of payments/] })
})

t.test("apply names what the company file lacks for Sri Lanka's form", async t => {
  t.strictSame(Object.keys(errorsOf({ money: { invoice_form: 'lk' } })).toSorted(), [
    ...['tenant.contact', 'tenant.money.invoice_mask', 'tenant.money.place_of_supply'],
    ...['tenant.postal_address', 'tenant.tax_number'],
  ])
  const whole = {
    ...{ tax_number: '1', postal_address: 'Kotte', contact: '+94112000000' },
    money: { invoice_form: 'lk', invoice_mask: 'YYMMM_{branch}_#', branch: 'HO', place_of_supply: 'Colombo' },
  }
  t.strictSame(errorsOf(whole), {})
  t.ok(errorsOf({ ...whole, money: { ...whole.money, branch: 'B'.repeat(21) } })['tenant.money.branch'])
})
