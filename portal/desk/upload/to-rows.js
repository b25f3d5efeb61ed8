// Reads the rows of a sheet as parcels, once its columns have names.
import { clean, joined } from './columns.js'
import { isCash, isCompleted, readExport } from './exports.js'
import { fieldNames, placeAndPerson } from './headings.js'
import { findMoneyUnit, findProblem, findUnit, readMoney, readWeight } from './numbers.js'

/** @import { Choice, Column, Sheet } from './columns.js' @import { Row } from './check-rows.js' */

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

const paidAmounts = /\b(advance|deposit|paid|received|refund(ed)?)\b|අත්තිකාරම්|முன் ?பண/u
const methods = /\bpay(ment)? (method|mode|type|option|gateway|via|by)\b|^(payment|mode|method)$/
const states = /\b(payment|status|paid|prepaid)\b|^cod\b/
const paid = /\bpaid\b|\bcard\b|visa|master|\bbank\b|transfer|online|prepaid/i

/** Returns what a cell says about the payment: `paid`, `part` or nothing. @param {string} words @param {string} text */
const readPayment = (words, text) => {
  if (paidAmounts.test(words) && (readMoney(text).value ?? 0) > 0) return 'part'
  const [isYes, isNo] = [/^(y|yes|true)$/i.test(text), /^(n|no|false)$/i.test(text)]
  if (isYes || isNo) return (isYes ? /\b(pre)?paid\b/ : /^cod\b/).test(words) ? 'paid' : ''
  if (/\bpaid (at|on|date)\b|\bdate paid\b/.test(words) && text) return 'paid'
  if (!states.test(words) && !methods.test(words)) return ''
  if (isCompleted(text)) return words === 'payment status' ? 'paid' : /fulfil|deliver/.test(words) ? '' : 'part'
  if (/partial/i.test(text)) return 'part'
  if (/unpaid|not paid|pending|\bdue\b/i.test(text) || isCash(text)) return ''
  return paid.test(text) || (methods.test(words) && /\p{L}/u.test(text)) ? 'paid' : ''
}

/**
 * Reads a row, and marks what its other cells say against the COD.
 * @param {string[]} cells @param {Column[]} columns
 */
const readCells = (cells, columns) => {
  /** @type {Record<string, { text: string, part: number }[]>} */
  const texts = {}
  const marks = /** @type {{ field: string, code: string }[]} */ ([])
  const hasReceiver = columns.some(({ side, field }) => side === 'receiver' && placeAndPerson.includes(field))
  const payments = new Set()
  for (const { index, words, field, part, side } of columns) {
    const text = cells[index] ?? ''
    if (field) texts[field] = [...(texts[field] ?? []), { text, part }]
    else payments.add(readPayment(words, text))
    if (field === 'customer_phone' && side === 'payer' && hasReceiver && text)
      marks.push({ field, code: 'phone_of_billing' })
    if (states.test(words) && /cancel|void|refunded/i.test(text)) marks.push({ field: '', code: 'maybe_cancelled' })
  }
  const join = (/** @type {[string, { text: string, part: number }[]]} */ [field, parts]) => {
    const sorted = parts.sort((one, two) => one.part - two.part).flatMap(({ text }) => text || [])
    return [field, sorted.join(joined[field] ?? ' ')]
  }
  const values = Object.fromEntries(Object.entries(texts).map(join))
  // A column that names the COD holds what is left to pay; a total does not.
  const isTotal = columns.some(({ field, weight }) => field === 'cod' && weight < 100)
  const code = payments.has('paid') ? 'maybe_paid' : isTotal && payments.has('part') ? 'payment_unclear' : ''
  if (!code || readMoney(values.cod ?? '').value === 0) return { values, marks }
  return { values: isTotal ? { ...values, cod: '' } : values, marks: [...marks, { field: 'cod', code }] }
}

/** Returns true for a column that holds the units of the weights, such as "g". @param {Column} column */
const isOfUnits = ({ field, words, samples }) => {
  const count = samples.filter(text => /^\D+$/.test(text) && findUnit(text)).length
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

const totals =
  /^((grand|sub|net|order|overall)[ -]?)?(totals?|sum)(\s*[:=(-]|$| (cod|amount|parcels?|orders?)\b)|මුළු|එකතුව|^மொத்த/iu

/** Returns true for a row that sums up the rows above, or says so, and names no person. */
const isSum = (/** @type {string[]} */ cells, /** @type {Row['values']} */ values, isOfAmounts = false) => {
  const { customer_name, customer_phone, customer_address = '' } = values
  if (customer_phone || (customer_address && !totals.test(customer_address))) return false
  return cells.some(text => totals.test(text)) || (!customer_name && isOfAmounts)
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
  const read = known ? readExport(known, titles, cells) : cells.map(row => readCells(row, columns))
  const rows = read.map(({ values, marks, leftOut }, index) => {
    const named = cells[index][money] || moneyUnit
    const isForeign = values.cod && values.cod !== '0' && named && readMoney(`${named} 1`, currency).problem
    const cod = allPrepaid ? { cod: '0' } : isForeign ? { cod: `${named} ${values.cod}` } : {}
    const { number: line, isHidden } = body[index]
    const amount = readMoney(values.cod ?? '', currency).value ?? 0
    const why =
      leftOut ?? (isHidden ? 'hidden' : isSum(cells[index], values, count > 1 && sum > 0 && amount === sum) && 'total')
    if (!why) [sum, count] = [sum + amount, count + 1]
    const [weightUnit, errors, warnings] = [readUnit(cells[index]), {}, []]
    const left = marks.filter(({ field }) => !(allPrepaid && field === 'cod'))
    const row = { line, values: { ...values, ...cod }, headings, weightUnit, marks: left, errors, warnings }
    return why ? { ...row, leftOut: why } : row
  })
  markTexts(rows, currency)
  return rows
}
