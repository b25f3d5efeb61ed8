import { findDecimals } from '@courier/shared/currency.ts'
import { mm } from './draw-label.ts'
import { wordParcels } from './label.ts'
import { drawRule, type Page, write, writeRight } from './text.ts'

type Amount =
  | 'collected'
  | 'delivery'
  | 'cod_fee'
  | 'return_fee'
  | 'tax'
  | 'withholding'
  | 'compensation'
  | 'adjustment'
  | 'held'
  | 'net'
type Line = Readonly<Record<'kind' | 'booked_on', string> & Record<Amount, number>> & {
  readonly waybill_number: string | null
  readonly tax_percent: number | null
  /** null: the line is no correction. */
  readonly reason: string | null
}

/**
 * Holds what an invoice or a credit note of an earlier release prints. It keeps its layout: the same document has the
 * same bytes.
 */
export interface Document {
  readonly title: 'Invoice' | 'Credit note'
  readonly number: string
  /** Is the day of issue; null: a draft. */
  readonly issued_on: string | null
  readonly references: readonly string[]
  readonly letterhead: Readonly<Record<'company' | 'merchant_name' | 'currency', string>> &
    Readonly<
      Record<'company_address' | 'company_tax_number' | 'merchant_address' | 'merchant_tax_number', string | null>
    >
  readonly total: number
  readonly charges_due: number
  readonly lines: readonly Line[]
}

export interface InvoiceJob {
  readonly kind: 'invoice'
  readonly document: Document
}

const left = mm(12)
const width = mm(186)
const rowHeight = mm(6)
/** Places the lines on the first page and on later ones; `rows` is how many fit. */
const firstPage = { top: mm(146), rows: 21 }
const laterPage = { top: mm(26), rows: 41 }

/** Gives each column of amounts its right edge in millimetres, its heading and its value. */
const columns: readonly (readonly [right: number, head: string, value: (line: Line) => number])[] = [
  [83, 'Collected', line => line.collected],
  [99, 'Delivery', line => -line.delivery],
  [113, 'Fees', line => -line.cod_fee - line.return_fee],
  [138, 'Tax', line => -line.tax],
  [153, 'Withheld', line => -line.withholding],
  [168, 'Other', line => line.compensation + line.adjustment - line.held],
  [186, 'Owed', line => line.net],
]
const rateColumn = 124

/** Writes an amount with the decimals of its currency, without a sign of zero. */
const wordAmount = (amount: number, currency: string): string => {
  const decimals = findDecimals(currency)
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
  return (Number(amount.toFixed(decimals)) + 0).toLocaleString('en', digits)
}

/** Draws an invoice on as many pages of A4 as its lines need, a row in each step: a line, or the reason of the last. */
export const drawInvoice = function* (page: Page, { document }: InvoiceJob): Iterable<void> {
  const { number: documentNo, letterhead } = document
  const rowsOf = document.lines.flatMap(line => (line.reason === null ? [line] : [line, line.reason]))
  const pages = 1 + Math.ceil(Math.max(0, rowsOf.length - firstPage.rows) / laterPage.rows)
  let first = 0
  for (let number = 1; number <= pages; number++) {
    const { top, rows } = number === 1 ? firstPage : laterPage
    page.addPage({ size: 'A4', margin: 0 })
    if (number === 1) drawHead(page, document)
    else
      write(page, `${letterhead.company}: ${document.title.toLowerCase()} ${documentNo}`, left, mm(9), mm(150), {
        size: 10,
        weight: 700,
      })
    write(page, `Page ${number} of ${pages}`, left, mm(285), mm(60), { size: 8 })
    drawColumns(page, top - mm(6))
    for (const [row, line] of rowsOf.slice(first, first + rows).entries()) {
      yield
      const y = top + row * rowHeight
      if (typeof line === 'string') write(page, line, left + mm(36), y, mm(150), { size: 7 })
      else drawLine(page, letterhead.currency, line, y)
    }
    first += rows
  }
}

/** Names a document. Only an invoice of a company with a tax number is a tax invoice. */
const wordTitle = ({ title, letterhead }: Document): string =>
  title === 'Invoice' && letterhead.company_tax_number ? 'Tax invoice' : title

const drawHead = (page: Page, document: Document): void => {
  const { number, issued_on, references, letterhead, lines } = document
  let y = write(page, letterhead.company, left, mm(12), mm(110), { size: 16, weight: 700, maxLines: 2 })
  drawParty(page, letterhead.company_address, letterhead.company_tax_number, y)
  y = write(page, `${wordTitle(document)} ${number}`, left + mm(116), mm(13), mm(70), {
    ...{ size: 13, weight: 700, maxLines: 2 },
  })
  for (const text of [issued_on ? `Issued on ${issued_on}` : 'Draft', ...references])
    y = write(page, text, left + mm(116), y, mm(70), { size: 10, maxLines: 2 })
  y = write(page, 'For', left, mm(46), mm(110), { size: 9 })
  y = write(page, letterhead.merchant_name, left, y, mm(110), { size: 14, weight: 700, maxLines: 2 })
  drawParty(page, letterhead.merchant_address, letterhead.merchant_tax_number, y)
  drawSums(page, document)
  const parcels = new Set(lines.flatMap(line => line.waybill_number ?? [])).size
  write(page, `${wordParcels(parcels)}; amounts in ${letterhead.currency}`, left, mm(133), mm(100), { size: 9 })
}

const drawParty = (page: Page, address: string | null, taxNumber: string | null, top: number): void => {
  const y = address ? write(page, address, left, top, mm(110), { size: 9, maxLines: 3 }) : top
  if (taxNumber) write(page, `Tax number ${taxNumber}`, left, y, mm(110), { size: 9 })
}

const maxRates = 3

/** Splits the tax by its rate, if the lines have few rates. */
const sumTaxes = (lines: readonly Line[], currency: string): (readonly [string, number])[] => {
  const rates = [...new Set(lines.filter(line => line.tax !== 0).map(line => line.tax_percent))]
  if (rates.length > maxRates) return [['Tax, by line', -lines.reduce((sum, { tax }) => sum + tax, 0)]]
  return rates.map(rate => {
    const own = lines.filter(({ tax, tax_percent }) => tax !== 0 && tax_percent === rate)
    const charges = own.reduce((sum, line) => sum + line.delivery + line.cod_fee + line.return_fee, 0)
    const name =
      rate === null ? `Tax on ${wordAmount(charges, currency)}` : `Tax, ${rate} % of ${wordAmount(charges, currency)}`
    return [name, -own.reduce((sum, { tax }) => sum + tax, 0)]
  })
}

const drawSums = (page: Page, { title, lines, total, charges_due, letterhead: { currency } }: Document) => {
  const sums = columns.flatMap(([, head, value]) =>
    head === 'Tax' ? sumTaxes(lines, currency) : [[head, lines.reduce((sum, line) => sum + value(line), 0)] as const],
  )
  const charges = title === 'Invoice' ? 'Charges that you pay separately' : 'Charges that you need not pay'
  const rows = [
    ...sums.filter(([, amount], index) => index === 0 || Math.abs(amount) > 0.001),
    ...(charges_due ? [[charges, charges_due] as const] : []),
  ]
  let y = mm(74)
  for (const [name, amount] of rows) {
    write(page, name, left, y, mm(90), { size: 10 })
    writeRight(page, wordAmount(amount, currency), left + mm(140), y, { size: 10 })
    y += mm(5)
  }
  drawRule(page, left, left + width, y)
  write(page, `${title === 'Invoice' ? 'To be paid' : 'Credited'} (${currency})`, left, y + 3, mm(90), {
    size: 13,
    weight: 700,
  })
  writeRight(page, wordAmount(total, currency), left + mm(140), y + 3, { size: 13, weight: 700 })
}

const drawColumns = (page: Page, y: number): void => {
  const style = { size: 8, weight: 700 } as const
  write(page, 'Waybill', left, y, mm(40), style)
  write(page, 'Booked', left + mm(36), y, mm(28), style)
  for (const [right, head] of columns) writeRight(page, head, left + mm(right), y, style)
  writeRight(page, 'Tax %', left + mm(rateColumn), y, style)
  drawRule(page, left, left + width, y + mm(5))
}

const drawLine = (page: Page, currency: string, line: Line, y: number): void => {
  write(page, line.waybill_number ?? '', left, y, mm(35), { size: 8, weight: 700 })
  const style = { size: 8 }
  write(page, `${line.booked_on} ${line.kind.replaceAll('_', ' ')}`, left + mm(36), y, mm(31), { size: 7 })
  if (line.tax_percent !== null) writeRight(page, String(line.tax_percent), left + mm(rateColumn), y, { size: 8 })
  for (const [right, , value] of columns)
    writeRight(page, wordAmount(value(line), currency), left + mm(right), y, style)
}
