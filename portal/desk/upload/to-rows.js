// Reads the rows of a sheet as parcels, once its columns have names.
import { clean, joined } from './columns.js'
import { readExport } from './exports.js'
import { fieldNames, placeAndPerson } from './headings.js'
import { findProblem, readMoney, readWeight } from './numbers.js'

/** @typedef {import('./columns.js').Column} Column */
/**
 * Describes a parcel to be: `values` are raw texts by field, `headings` the sheet's own headings of the fields; a mark
 * is a doubt about a field; `leftOut` says why the row is no parcel of its own.
 * @typedef {{ line: number, values: Record<string, string>, headings: Record<string, string>, weightUnit: string,
 *   marks: { field: string, code: string }[], leftOut?: string, errors: Record<string, string[]>, warnings: string[],
 *   city?: { id: number, name: string, state: string } | null, price?: number,
 *   alternatives?: { id: number, name: string, state: string }[] }} Row
 */

const maxWeight = 30
const unsure = /\ufffd|\?\?/

/** Sets the marks that depend on the texts of all rows. @param {Row[]} rows */
const markTexts = rows => {
  const amounts = rows.flatMap(({ values }) => readMoney(values.cod ?? '').value || []).sort((one, two) => one - two)
  const high = 10 * (amounts[Math.floor((amounts.length - 1) / 2)] ?? Number.POSITIVE_INFINITY)
  for (const { values, marks, weightUnit } of rows) {
    for (const [field, text] of Object.entries(values)) {
      const problem = findProblem(field, text)
      if (problem) marks.push({ field, code: problem })
      if (['customer_name', 'customer_address', 'destination'].includes(field) && unsure.test(text))
        marks.push({ field, code: 'replaced_characters' })
    }
    if ((readMoney(values.cod ?? '').value ?? 0) > high) marks.push({ field: 'cod', code: 'cod_high' })
    if ((readWeight(values.weight ?? '', weightUnit).value ?? 0) > maxWeight)
      marks.push({ field: 'weight', code: 'weight_high' })
  }
}

const isPaid = (/** @type {string} */ text) =>
  /\bpaid\b|\bcard\b|visa|master|\bbank\b|transfer|online|prepaid/i.test(text) &&
  !/unpaid|not paid|partial|pending|\bcod\b|cash/i.test(text)

/** Reads a row, and marks what its other cells say against the COD. @param {string[]} cells @param {Column[]} columns */
const readCells = (cells, columns) => {
  const texts = new Map()
  const marks = /** @type {{ field: string, code: string }[]} */ ([])
  const hasReceiver = columns.some(({ side, field }) => side === 'receiver' && placeAndPerson.includes(field))
  for (const { index, words, field, part, side } of columns) {
    const text = cells[index] ?? ''
    if (field) texts.set(field, [...(texts.get(field) ?? []), { text, part }])
    if (field === 'customer_phone' && side === 'payer' && hasReceiver && text)
      marks.push({ field, code: 'phone_of_billing' })
    if (!/\b(payment|status|paid)\b/.test(words)) continue
    if (isPaid(text)) marks.push({ field: 'cod', code: 'maybe_paid' })
    if (/cancel|void|refunded/i.test(text)) marks.push({ field: '', code: 'maybe_cancelled' })
  }
  const join = (/** @type {string} */ field, /** @type {{ text: string, part: number }[]} */ parts) =>
    parts
      .sort((one, two) => one.part - two.part)
      .flatMap(({ text }) => text || [])
      .join(joined[field] ?? ' ')
  const values = Object.fromEntries([...texts].map(([field, parts]) => [field, join(field, parts)]))
  const isFree = readMoney(values.cod ?? '').value === 0
  return { values, marks: marks.filter(({ code }) => !(isFree && code === 'maybe_paid')) }
}

/**
 * Reads the rows below the headings as parcels.
 * @param {import('./columns.js').Sheet} sheet @param {import('./columns.js').Choice} choice @returns {Row[]}
 */
export const toRows = (sheet, choice) => {
  const { columns, headingRow } = choice
  const own = columns.filter(({ field }) => field)
  const headings = Object.fromEntries(
    fieldNames.map(field => [
      field,
      own
        .filter(each => each.field === field)
        .map(each => each.heading)
        .join(' + '),
    ]),
  )
  const weightUnit = own.find(({ field }) => field === 'weight')?.unit || 'kg'
  const body = sheet.rows.slice(headingRow + 1)
  const cells = body.map(row => row.cells.map(clean))
  const read = choice.export
    ? readExport(
        choice.export,
        columns.map(({ heading }) => heading),
        cells,
      )
    : cells.map(row => ({ leftOut: undefined, ...readCells(row, columns) }))
  const rows = read.map(({ values, marks, leftOut }, index) => {
    const cod = choice.allPrepaid ? { cod: '0' } : {}
    const rest = { headings, weightUnit, marks: [...marks], errors: {}, warnings: [] }
    return { line: body[index].number, values: { ...values, ...cod }, ...rest, ...(leftOut && { leftOut }) }
  })
  markTexts(rows.filter(row => !row.leftOut))
  return rows
}
