// Asks about cells as they stand in the file: those that are struck through, and rows of a text file whose cells do
// not stand below their headings. A separator that is none moves every cell after it, such as the pieces into the COD.

/** @import { Column, Sheet, SheetRow } from './columns.js' @import { Mark } from './other-cells.js' */

/** Names the question whether all rows, which have as many cells, lack those of the last headings. */
export const allCells = 'cells_all'
const texts = ['customer_name', 'customer_address', 'destination', 'description', 'remark', 'customer_email']
/** Excel looks at so many rows at once, and leaves out their empty cells at the end if all of these rows have them. */
const rowsAtOnce = 16

const readKind = (/** @type {string} */ text) => {
  if (text === '') return ''
  if (/^\+?\d[\d ()-]{7,}$/.test(text)) return 'phone'
  return /^\p{L}{0,4}[-.\s]*\d[\d.,]*\s?(kg|g|lkr|rs|\/=|\/-|%)?\.?$/iu.test(text) ? 'number' : 'text'
}

/** Counts the cells without those that are empty at the end. */
const countFilled = (/** @type {string[]} */ cells) => cells.map(cell => cell !== '').lastIndexOf(true) + 1

/**
 * Returns true if an amount was split at its separator of thousands.
 * @param {string[]} cells @param {Column[]} columns
 */
const isSplit = (cells, columns, isLong = false) =>
  cells.some((cell, at) => {
    const next = cells[at + 1] ?? ''
    if (!/^\D{0,4}[1-9]\d{0,2}$/.test(cell) || !/^\d{3}(\.\d\d)?$/.test(next)) return false
    const isText = columns[at]?.field === 'cod' && texts.includes(columns[at + 1]?.field)
    return /^0|\./.test(next) || isLong || isText
  })

/** Lists the blocks in which a spreadsheet left out empty cells: all their rows, at least two, have as many cells. */
const listBlocks = (/** @type {SheetRow[]} */ rows) => {
  const counts = new Map()
  for (const { number, cells } of rows) {
    const block = Math.ceil(number / rowsAtOnce)
    counts.set(block, [...(counts.get(block) ?? []), cells.length])
  }
  return new Set([...counts].flatMap(([block, all]) => (all.length > 1 && new Set(all).size === 1 ? block : [])))
}

/**
 * Returns a function that says what is wrong with the cells of a row. Workbooks leave out empty cells and have no
 * separators: their rows are never broken.
 * @param {Sheet} sheet @param {number} headingRow @param {Column[]} columns
 */
export const createBreakFinder = ({ rows, isText }, headingRow, columns) => {
  if (!isText) return () => undefined
  const above = rows[headingRow]?.swallowed
  const body = rows.slice(headingRow + 1)
  const lengths = body.map(({ cells }) => cells.length).sort((one, two) => one - two)
  const most = rows[headingRow]?.cells.length ?? lengths[Math.floor(lengths.length / 2)] ?? 0
  const least = (rows[headingRow] && countFilled(rows[headingRow].cells)) ?? most
  const whole = body.filter(({ cells }) => cells.length === most).slice(0, 200)
  const kinds = columns.map(({ index }) => new Set(['', ...whole.map(({ cells }) => readKind(cells[index] ?? ''))]))
  const blocks = listBlocks(body)
  const isAll = body.length > 1 && lengths[0] === lengths.at(-1) && lengths[0] < least
  return (/** @type {SheetRow} */ { number, cells, swallowed }) => {
    if (swallowed ?? above) return { code: 'swallowed', text: (swallowed ?? above)?.slice(0, 200) }
    if (isAll && !isSplit(cells, columns)) return { code: allCells, cells: cells.length, headings: least }
    const misfit = cells.findIndex((cell, at) => at >= most || !kinds[at].has(readKind(cell)))
    const isLong = cells.length > most
    const isShort = cells.length < least && !(misfit < 0 && blocks.has(Math.ceil(number / rowsAtOnce)))
    const isMoved = isLong && (countFilled(cells) > most || (misfit >= 0 && misfit < most && whole.length > 0))
    if (!isShort && !isMoved && !isSplit(cells, columns, isLong)) return undefined
    const at = misfit < 0 ? cells.length - 1 : misfit
    const text = `${columns[at]?.heading || at + 1}: ${cells[at]}`.slice(0, 100)
    return { code: 'cells', cells: cells.length, headings: least, text }
  }
}

/** Returns true for a row of which each cell is struck through. @param {SheetRow} row */
const isStruck = ({ cells, struck = 0 }) => struck > 0 && struck === cells.filter(Boolean).length
/** Returns why a row is left out that the workbook hides or strikes through. */
export const sayUnseen = (/** @type {SheetRow} */ row) =>
  row.isHidden ? 'hidden' : isStruck(row) ? 'struck' : undefined

/**
 * Adds the questions about the cells as they stand in the file. The cells of a broken row stand below other
 * headings, so that other questions about the parcel make no sense.
 * @param {Mark[]} marks @param {SheetRow} row @param {{ code: string }} [broken] @returns {Mark[]}
 */
export const askCells = (marks, row, broken) => {
  const ask = (/** @type {object} */ question) => /** @type {Mark} */ ({ field: '', ask: true, ...question })
  if (broken?.code === allCells) return [ask(broken), ...marks]
  if (broken) return [ask(broken), ...marks.filter(mark => !mark.ask || mark.field)]
  return row.struck && !isStruck(row) ? [...marks, ask({ code: 'struck' })] : marks
}
