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
type Line = Readonly<Record<'waybill_number' | 'kind' | 'booked_on', string> & Record<Amount, number>>

/** Holds the printed data of an invoice, with its letterhead. */
export interface InvoiceJob {
  readonly kind: 'invoice'
  readonly company: string
  readonly currency: string
  readonly invoice: Readonly<
    Record<'invoice_no' | 'invoice_ref_no' | 'merchant_name' | 'until' | 'state', string> &
      Record<'bank_reference' | 'paid_on', string | null> &
      Record<'parcels' | 'total' | 'charges_due' | 'brought_forward', number>
  > & { readonly lines: readonly Line[] }
}

const left = mm(12)
const width = mm(186)
const rowHeight = mm(6)
/** Places the lines on the first page and on later ones; `rows` is how many fit. */
const firstPage = { top: mm(128), rows: 24 }
const laterPage = { top: mm(26), rows: 41 }

/** Gives each column of amounts its right edge in millimetres, its heading and its value. */
const columns: readonly (readonly [right: number, head: string, value: (line: Line) => number])[] = [
  [90, 'Collected', line => line.collected],
  [107, 'Delivery', line => -line.delivery],
  [123, 'Fees', line => -line.cod_fee - line.return_fee],
  [138, 'Tax', line => -line.tax],
  [153, 'Withheld', line => -line.withholding],
  [168, 'Other', line => line.compensation + line.adjustment - line.held],
  [186, 'Owed', line => line.net],
]

/** Writes an amount with the decimals of its currency, without a sign of zero. */
const wordAmount = (amount: number, currency: string): string => {
  const decimals = findDecimals(currency)
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
  return (Number(amount.toFixed(decimals)) + 0).toLocaleString('en', digits)
}

/** Draws an invoice on as many pages of A4 as its lines need, a line in each step. */
export const drawInvoice = function* (page: Page, job: InvoiceJob): Iterable<void> {
  const { lines, invoice_no } = job.invoice
  const pages = 1 + Math.ceil(Math.max(0, lines.length - firstPage.rows) / laterPage.rows)
  let first = 0
  for (let number = 1; number <= pages; number++) {
    const { top, rows } = number === 1 ? firstPage : laterPage
    page.addPage({ size: 'A4', margin: 0 })
    if (number === 1) drawHead(page, job)
    else write(page, `${job.company}: invoice ${invoice_no}`, left, mm(9), mm(150), { size: 10, weight: 700 })
    write(page, `Page ${number} of ${pages}`, left, mm(285), mm(60), { size: 8 })
    drawColumns(page, top - mm(6))
    for (const [row, line] of lines.slice(first, first + rows).entries()) {
      yield
      drawLine(page, job.currency, line, top + row * rowHeight)
    }
    first += rows
  }
}

const drawHead = (page: Page, { company, currency, invoice }: InvoiceJob): void => {
  const { invoice_no, invoice_ref_no, merchant_name, until, state, parcels } = invoice
  write(page, company, left, mm(12), mm(110), { size: 20, weight: 700, maxLines: 2 })
  let y = write(page, `Invoice ${invoice_no}`, left + mm(116), mm(13), mm(70), { size: 13, weight: 700 })
  const paid = invoice.paid_on ? [`Paid on ${invoice.paid_on}`, `Reference ${invoice.bank_reference}`] : []
  for (const text of [`Reference ${invoice_ref_no}`, `Parcels until ${until}`, `State: ${state}`, ...paid])
    y = write(page, text, left + mm(116), y, mm(70), { size: 10 })
  y = write(page, 'For', left, mm(36), mm(110), { size: 9 })
  write(page, merchant_name, left, y, mm(110), { size: 14, weight: 700, maxLines: 2 })
  drawSums(page, currency, invoice)
  write(page, `${wordParcels(parcels)}; amounts in ${currency}`, left, mm(114), mm(100), { size: 9 })
}

const drawSums = (
  page: Page,
  currency: string,
  { lines, total, charges_due, brought_forward }: InvoiceJob['invoice'],
) => {
  const sums = columns.map(([, head, value]) => [head, lines.reduce((sum, line) => sum + value(line), 0)] as const)
  const rows = [
    ...sums.filter(([, amount], index) => index === 0 || Math.abs(amount) > 0.001),
    ...(charges_due ? [['Charges that you pay separately', charges_due] as const] : []),
    ...(brought_forward ? [['Brought forward (part of what is owed)', brought_forward] as const] : []),
  ]
  let y = mm(58)
  for (const [name, amount] of rows) {
    write(page, name, left, y, mm(90), { size: 10 })
    writeRight(page, wordAmount(amount, currency), left + mm(140), y, { size: 10 })
    y += mm(5)
  }
  drawRule(page, left, left + width, y)
  write(page, `To be paid (${currency})`, left, y + 3, mm(90), { size: 13, weight: 700 })
  writeRight(page, wordAmount(total, currency), left + mm(140), y + 3, { size: 13, weight: 700 })
}

const drawColumns = (page: Page, y: number): void => {
  const style = { size: 8, weight: 700 } as const
  write(page, 'Waybill', left, y, mm(40), style)
  write(page, 'Booked', left + mm(40), y, mm(30), style)
  for (const [right, head] of columns) writeRight(page, head, left + mm(right), y, style)
  drawRule(page, left, left + width, y + mm(5))
}

const drawLine = (page: Page, currency: string, line: Line, y: number): void => {
  write(page, line.waybill_number, left, y, mm(39), { size: 8, weight: 700 })
  const style = { size: 8 }
  write(page, `${line.booked_on} ${line.kind.replaceAll('_', ' ')}`, left + mm(40), y, mm(34), { size: 7 })
  for (const [right, , value] of columns)
    writeRight(page, wordAmount(value(line), currency), left + mm(right), y, style)
}
