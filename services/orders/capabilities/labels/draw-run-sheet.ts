import { mm } from './draw-label.ts'
import { type Label, wordCod, wordParcels, wordPlace } from './label.ts'
import { drawRule, type Page, write } from './text.ts'

const left = mm(10)
const rowHeight = mm(19)
const firstRow = mm(32)
const rowsPerPage = 13

/** Gives each column its left edge and width in millimetres, and its heading. */
const columns = {
  number: [0, 8, ''],
  waybill: [8, 34, 'Waybill'],
  recipient: [42, 44, 'Recipient'],
  address: [86, 50, 'Address'],
  cod: [136, 22, 'COD'],
  signature: [158, 32, 'Signature'],
} as const
type Column = keyof typeof columns
const sheetWidth = mm(190)

/** Describes the run sheet of a courier on A4: a line for each parcel, with a column for signatures. */
export interface RunSheetJob {
  readonly kind: 'run_sheet'
  readonly labels: readonly Label[]
  readonly title: string
}

/** Draws a row in each step. */
export const drawRunSheet = function* (page: Page, { labels, title }: RunSheetJob): Iterable<void> {
  for (const [index, label] of labels.entries()) {
    yield
    const row = index % rowsPerPage
    if (row === 0) {
      page.addPage({ size: 'A4', margin: 0 })
      drawHead(page, labels, title, `Page ${index / rowsPerPage + 1} of ${Math.ceil(labels.length / rowsPerPage)}`)
    }
    drawRow(page, label, index + 1, firstRow + row * rowHeight)
  }
}

const drawHead = (page: Page, labels: readonly Label[], title: string, pageText: string): void => {
  const total = labels.reduce((sum, { cod }) => sum + cod, 0)
  const [first] = labels
  write(page, `${first?.company ?? ''}: ${title}`, left, mm(9), mm(140), { size: 14, weight: 700 })
  write(page, pageText, left + mm(160), mm(10), mm(30), { size: 9 })
  const sum = wordCod({ cod: total, currency: first?.currency ?? '' }) ?? 'no COD'
  write(page, `${wordParcels(labels.length)}, ${sum}`, left, mm(16), mm(140), { size: 10 })
  for (const column of Object.keys(columns) as Column[])
    writeCell(page, column, columns[column][2], mm(25), { size: 9, weight: 700 })
  drawLine(page, firstRow)
}

const drawLine = (page: Page, y: number): void => drawRule(page, left, left + sheetWidth, y)

const writeCell = (page: Page, column: Column, text: string, y: number, style: Parameters<typeof write>[5]): number => {
  const [from, width] = columns[column]
  return write(page, text, left + mm(from) + 2, y, mm(width) - 4, style)
}

const drawRow = (page: Page, label: Label, number: number, y: number): void => {
  const top = y + 2
  writeCell(page, 'number', String(number), top, { size: 9 })
  let below = writeCell(page, 'waybill', label.waybill_number, top, { size: 10, weight: 700, maxLines: 2 })
  writeCell(page, 'waybill', label.order_no ?? '', below, { size: 8 })
  below = writeCell(page, 'recipient', label.customer_name, top, { size: 9, maxLines: 2 })
  writeCell(page, 'recipient', label.customer_phone, below, { size: 9, weight: 700 })
  below = writeCell(page, 'address', label.customer_address, top, { size: 8, maxLines: 3 })
  const place = wordPlace(label.destination_city_name, label.destination_state_name)
  writeCell(page, 'address', place, below, { size: 8, weight: 700 })
  writeCell(page, 'cod', label.cod > 0 ? label.cod.toLocaleString('en') : '-', top, { size: 10, weight: 700 })
  drawLine(page, y + rowHeight)
}
