// Reads the rows of a sheet as parcels, once its columns have names.
import { allCells, askCells, createBreakFinder, sayUnseen } from './broken-rows.js'
import { clean, joined } from './columns.js'
import { readExport } from './exports.js'
import { fieldNames, placeAndPerson, sided, simplify } from './headings.js'
import { findMoneyUnit, findProblem, findUnit, readMoney, readWeight } from './numbers.js'
import { doubtCod, findSubject, isNoParcel, isSum, readOthers } from './other-cells.js'

/** @import { Choice, Column, Sheet } from './columns.js' @import { Row } from './check-rows.js' */
/** @import { Mark } from './other-cells.js' */

const maxWeight = 30
const unsure = /\ufffd|\?\?/

/** Sets the marks that depend on the texts of all rows. @param {Row[]} all @param {string} currency */
const markTexts = (all, currency) => {
  const rows = all.filter(({ leftOut }) => !leftOut)
  const readCod = (/** @type {Row} */ { values }) => readMoney(values.cod ?? '', currency).value ?? 0
  const amounts = rows.flatMap(row => readCod(row) || []).sort((one, two) => one - two)
  const high = 10 * (amounts[Math.floor((amounts.length - 1) / 2)] ?? Number.POSITIVE_INFINITY)
  for (const row of rows) {
    const mark = (/** @type {string} */ field, /** @type {string | undefined | false} */ code) =>
      code && row.marks.push({ field, code })
    for (const [field, text] of Object.entries(row.values)) {
      mark(field, findProblem(field, text))
      mark(field, placeAndPerson.includes(field) && unsure.test(text) && 'replaced_characters')
    }
    mark('cod', readCod(row) > high && 'high')
    mark('weight', (readWeight(row.values.weight ?? '', row.weightUnit).value ?? 0) > maxWeight && 'high')
  }
}

/** Gives the receiver's fields to the payer's columns, or the plain ones, if the receiver's cells are blank. */
const findPerson = (/** @type {string[]} */ cells, /** @type {Column[]} */ columns) => {
  const isOfReceiver = (/** @type {Column} */ { side, field }) => side === 'receiver' && sided.includes(field)
  const own = columns.filter(each => isOfReceiver(each) && placeAndPerson.includes(each.field))
  if (own.length === 0 || own.some(({ index }) => cells[index])) return columns
  return columns.map(each => ({ ...each, field: isOfReceiver(each) ? '' : each.field || (each.other ?? '') }))
}

/**
 * Reads a row, and marks what its other cells say against the COD.
 * @param {string[]} cells @param {Column[]} all
 * @returns {{ values: Row['values'], marks: Mark[], leftOut?: string }}
 */
const readCells = (cells, all) => {
  /** @type {Record<string, { text: string, part: number }[]>} */
  const texts = Object.fromEntries(all.flatMap(({ field }) => (field ? [[field, []]] : [])))
  const { payments, marks, state } = readOthers(cells, all)
  const columns = findPerson(cells, all)
  const others = columns.filter(
    ({ field, index }) => cells[index] && placeAndPerson.includes(field) && !all[index].field,
  )
  if (others.length > 0) {
    const text = others.map(({ heading }) => heading).join(', ')
    marks.push({ field: 'customer_address', code: 'address_of_billing', text })
  }
  const hasReceiver = columns.some(({ side, field }) => side === 'receiver' && placeAndPerson.includes(field))
  for (const { index, field, part, side } of columns) {
    const text = cells[index] ?? ''
    if (field) texts[field] = [...(texts[field] ?? []), { text, part }]
    if (field === 'customer_phone' && side === 'payer' && hasReceiver && text)
      marks.push({ field, code: 'phone_of_billing' })
  }
  const join = (/** @type {[string, { text: string, part: number }[]]} */ [field, parts]) => {
    const filled = parts.sort((one, two) => one.part - two.part).filter(({ text }) => text)
    // The company of an address alone is no address.
    const isAddress = filled.some(({ part }) => part >= 0)
    return [field, isAddress ? filled.map(({ text }) => text).join(joined[field] ?? ' ') : '']
  }
  const values = Object.fromEntries(Object.entries(texts).map(join))
  const isTotal = columns.some(({ field, weight }) => field === 'cod' && weight < 100)
  const doubt = readMoney(values.cod ?? '').value === 0 ? undefined : doubtCod(payments, values.cod, isTotal)
  if (state.says === 'hold' && doubt) marks.push({ field: '', code: 'status_word', ask: true, text: state.text })
  const leftOut = state.says === 'stay' || (state.says === 'hold' && !doubt) ? state.text : undefined
  if (!doubt) return { values, marks, leftOut }
  return { values: isTotal ? { ...values, cod: '' } : values, marks: [doubt, ...marks], leftOut }
}

/** Returns true for a column that holds the units of the weights, such as "g". @param {Column} column */
const isOfUnits = ({ field, words, samples }) => {
  const count = samples.filter(text => /^[\p{L}\p{M}]+\.?$/u.test(text) && findUnit(text)).length
  if (field || /^(weight|wt) (unit|uom)s?$|^units? of weight$/.test(words)) return !field
  return count > 0 && (/\b(units?|uom)\b/.test(words) || count === samples.length)
}

/** Returns a reader of the unit of a row's weight; `other` contradicts the heading. @param {Column[]} columns */
const createUnitReader = columns => {
  const unit = findUnit(columns.find(({ field }) => field === 'weight')?.heading ?? '')
  const index = columns.findIndex(isOfUnits)
  return (/** @type {string[]} */ cells) => {
    if (index < 0) return unit || 'kg'
    const found = findUnit(cells[index] ?? '') || 'other'
    return unit && unit !== found ? 'other' : found
  }
}

const readNumber = (/** @type {Row} */ { values }) => simplify(values.order_no ?? '')

/** Asks about rows of one order number: a shop that we do not know may mean one parcel or several. */
const askRepeats = (/** @type {Row[]} */ all) => {
  const rows = all.filter(row => !row.leftOut && readNumber(row))
  const counts = new Map()
  for (const row of rows) counts.set(readNumber(row), (counts.get(readNumber(row)) ?? 0) + 1)
  for (const row of rows)
    if (counts.get(readNumber(row)) > 1)
      row.marks.push({ field: 'order_no', code: 'same_order', ask: true, text: readNumber(row) })
}

/** Moves the questions about rows of an order to the row that is its parcel. */
const giveToParcel = (/** @type {Row[]} */ rows) => {
  const parcels = new Map(rows.flatMap(row => (row.leftOut ? [] : [[readNumber(row), row]])))
  for (const { leftOut, marks, ...row } of rows)
    if (leftOut === 'part_of_another') parcels.get(readNumber({ ...row, marks }))?.marks.push(...marks)
}

/**
 * Reads the rows below the headings as parcels. An amount gets the currency of its row or heading, if it is not the
 * company's. @param {Sheet} sheet @param {Choice} choice @param {string} [currency] @returns {Row[]}
 */
export const toRows = (sheet, { columns, headingRow, export: known, allPrepaid }, currency = '') => {
  const of = (/** @type {string} */ field) => columns.filter(each => each.field === field)
  const headings = Object.fromEntries(
    fieldNames.map(field => [
      field,
      of(field)
        .map(({ heading }) => heading)
        .join(' + '),
    ]),
  )
  const readUnit = createUnitReader(columns)
  const moneyUnit = findMoneyUnit(of('cod')[0]?.heading ?? '')
  let [sum, count] = [0, 0]
  const money = columns.find(({ words }) => /^(.* )?currency( code)?$/.test(words))?.index ?? -1
  const body = sheet.rows.slice(headingRow + 1)
  const cells = body.map(row => row.cells.map(clean))
  const titles = columns.map(({ heading }) => heading)
  const subjects = columns.map(column => ({ ...column, about: findSubject(column) }))
  const read = known ? readExport(known, titles, cells) : cells.map(row => readCells(row, subjects))
  const findBreak = createBreakFinder(sheet, headingRow, columns)
  const readLine = (
    /** @type {ReturnType<typeof readCells>} */ { values, marks, leftOut },
    /** @type {number} */ index,
  ) => {
    const named = cells[index][money] || moneyUnit
    const isForeign = named && readMoney(`${named} 1`, currency).problem
    const price = (text = '') => (isForeign && text && text !== '0' ? `${named} ${text}` : text)
    const broken = findBreak(body[index])
    const cod = allPrepaid ? '0' : broken && broken.code !== allCells ? '' : price(values.cod)
    const priced = marks
      .filter(({ field }) => !(allPrepaid && field === 'cod'))
      .map(mark => (mark.amount ? { ...mark, amount: price(mark.amount) } : mark))
    const all = askCells(priced, body[index], broken)
    const amount = readMoney(values.cod ?? '', currency).value ?? 0
    const isTotal = isSum(cells[index], values, count > 1 && sum > 0 && amount === sum)
    const isNone = !known && isNoParcel(cells[index], values, columns, Boolean(broken))
    const isOther = isTotal ? 'total' : isNone ? 'no_parcel' : undefined
    const why = leftOut ?? (sayUnseen(body[index]) || isOther)
    if (!why) [sum, count] = [sum + amount, count + 1]
    const [weightUnit, errors, warnings] = [readUnit(cells[index]), {}, []]
    const row = {
      line: body[index].number,
      values: { ...values, cod },
      headings,
      weightUnit,
      marks: all,
      errors,
      warnings,
    }
    return why ? { ...row, leftOut: why } : row
  }
  const rows = read.map(readLine)
  if (known) giveToParcel(rows)
  else askRepeats(rows)
  markTexts(rows, currency)
  return rows
}
