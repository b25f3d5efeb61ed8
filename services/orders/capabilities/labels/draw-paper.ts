import { toPrintable } from '@courier/shared/printable.ts'
import { mm } from './draw-label.ts'
import { breakLines, drawRule, measureWidth, type Page, write, writeRight } from './text.ts'

/** Holds the texts of a document as they are printed. The same paper has the same bytes. */
export interface Paper {
  readonly title: string
  readonly number: string
  /** Is the day in the description of the file. */
  readonly dated: string
  /** Begins with the name of a party, then has its other lines. */
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly facts: readonly string[]
  readonly sums: readonly (readonly [name: string, quantity: string, amount: string])[]
  readonly total: readonly [name: string, amount: string]
  readonly notes: readonly string[]
  readonly columns: readonly { readonly head: string; readonly isAmount: boolean }[]
  /** Holds the cells of lines; a text alone is the reason of the line before. */
  readonly rows: readonly (readonly string[] | string)[]
}

export interface PaperJob {
  readonly kind: 'paper'
  readonly paper: Paper
}

const left = mm(12)
const width = mm(186)
const middle = left + mm(96)
const bottom = mm(278)
const top = mm(20)
const largest = 8
const reasonIndent = mm(8)

/** Draws a document on as many pages of A4 as its rows need, a row in each step. */
export const drawPaper = function* (page: Page, { paper }: PaperJob): Iterable<void> {
  page.addPage({ size: 'A4', margin: 0 })
  const table = yield* layOut(page, paper)
  const rows = paper.rows.flatMap((row): Paper['rows'] =>
    typeof row === 'string' ? breakReason(page, row, table.size) : [row],
  )
  const rowHeight = table.size * 1.25 + mm(1.6)
  const countRows = (y: number) => Math.max(0, Math.floor((bottom - y - mm(7)) / rowHeight))
  let y = drawHead(page, paper) + mm(4)
  const pages = 1 + Math.ceil(Math.max(0, rows.length - countRows(y)) / countRows(top))
  for (let number = 1, next = 0; number <= pages; number++) {
    if (number > 1) {
      page.addPage({ size: 'A4', margin: 0 })
      write(page, `${paper.from[0]}: ${paper.title} ${paper.number}`, left, mm(9), width, { size: 10, weight: 700 })
      y = top
    }
    write(page, `Page ${number} of ${pages}`, left, mm(285), mm(60), { size: 8 })
    const shown = rows.slice(next, next + countRows(y))
    if (shown.length > 0) drawHeads(page, paper, table, y)
    for (const [index, row] of shown.entries()) {
      yield
      drawRow(page, paper, table, row, y + mm(7) + index * rowHeight)
    }
    next += shown.length
  }
}

interface Table {
  /** Is the size of the letters, in points. */
  readonly size: number
  readonly columns: readonly { readonly left: number; readonly width: number }[]
}

/** Gives each column the width of its widest text, in letters so small that all columns fit beside each other. */
const layOut = function* (page: Page, { columns, rows }: Paper): Generator<void, Table> {
  const widths = columns.map(({ head }) => measureWidth(page, head, { size: largest, weight: 700 }))
  for (const row of rows) {
    if (typeof row === 'string') continue
    yield
    for (const [index, text] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, measureWidth(page, toPrintable(text), { size: largest }))
  }
  const needed = widths.reduce((sum, each) => sum + each + mm(2), 0)
  const scale = Math.min(1, width / needed)
  const spare = Math.max(0, width - needed) / Math.max(1, columns.length - 1)
  let x = left
  const placed = widths.map(each => {
    const column = { left: x, width: each * scale + mm(1) * scale }
    x += (each + mm(2)) * scale + spare
    return column
  })
  return { size: largest * scale, columns: placed }
}

const breakReason = (page: Page, reason: string, size: number): string[] =>
  breakLines(page, toPrintable(reason), width - reasonIndent, { size, maxLines: 20 })

const drawHead = (page: Page, paper: Paper): number => {
  const style = { size: 9, maxLines: 12 }
  let y = write(page, `${paper.title} ${paper.number}`, left, mm(10), width, { size: 16, weight: 700, maxLines: 3 })
  const parties = [
    [paper.from, left],
    [paper.to, middle],
  ] as const
  y = Math.max(...parties.map(([lines, x]) => drawParty(page, lines, x, y + mm(3)))) + mm(3)
  for (const fact of paper.facts) y = write(page, fact, left, y, width, style)
  y += mm(3)
  for (const [name, quantity, amount] of paper.sums) {
    writeRight(page, quantity, left + mm(138), y, { size: 10 })
    writeRight(page, amount, left + width, y, { size: 10 })
    y = write(page, name, left, y, mm(115), { size: 10, maxLines: 4 }) + mm(0.6)
  }
  drawRule(page, left, left + width, y)
  writeRight(page, paper.total[1], left + width, y + 3, { size: 12, weight: 700 })
  y = write(page, paper.total[0], left, y + 3, mm(125), { size: 12, weight: 700, maxLines: 12 })
  for (const note of paper.notes) y = write(page, note, left, y + mm(1), width, style)
  return y
}

const drawParty = (page: Page, [name = '', ...lines]: readonly string[], x: number, top: number): number => {
  let y = write(page, name, x, top, mm(90), { size: 12, weight: 700, maxLines: 12 })
  for (const line of lines) y = write(page, line, x, y, mm(90), { size: 9, maxLines: 6 })
  return y
}

const drawHeads = (page: Page, paper: Paper, { size, columns }: Table, y: number): void => {
  for (const [index, { head, isAmount }] of paper.columns.entries())
    drawCell(page, head, columns[index], isAmount, y, size, 700)
  drawRule(page, left, left + width, y + mm(5))
}

const drawRow = (page: Page, paper: Paper, { size, columns }: Table, row: readonly string[] | string, y: number) => {
  if (typeof row === 'string') return void write(page, row, left + reasonIndent, y, width, { size })
  for (const [index, text] of row.entries())
    drawCell(page, text, columns[index], paper.columns[index]?.isAmount ?? false, y, size)
}

const drawCell = (
  page: Page,
  text: string,
  column: Table['columns'][number] | undefined,
  isAmount: boolean,
  y: number,
  size: number,
  weight: 400 | 700 = 400,
) => {
  if (!column) return
  if (isAmount) writeRight(page, text, column.left + column.width, y, { size, weight })
  else write(page, text, column.left, y, column.width + 1, { size, weight })
}
