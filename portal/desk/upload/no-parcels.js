// Finds the rows of a sheet that are no parcels: sums, footers, and formulas filled down to its end.
import { readWords } from './words.js'

/** @import { Row } from './check-rows.js' @import { Column } from './columns.js' */

const totals =
  /^((grand|sub|net|order|overall)[ -]?)?(totals?|sum)(\s*[:=(-]|$| (cod|amount|parcels?|orders?)\b)|මුළු|එකතුව|^மொத்த/iu
/** Matches what signs a sheet. */
const signatures = new RegExp(
  String.raw`^\W*(prepared|checked|approved|verified|authori[sz]ed|received|issued|packed|entered|signed|created|` +
    String.raw`printed|generated|exported|handed over|collected) ?(by|on|at)\b|` +
    String.raw`\bsignature\b|^\W*(sign|date)\s*[:._-]|^[\s._…-]{4,}$|අත්සන|සකස් ?කළ|පරීක්ෂා ?කළ|අනුමත ?කළ|கையொப்ப|தயாரித்த|சரிபார்த்த`,
  'iu',
)

/** Returns true for a row that sums up the rows above, or says so, and names no person. */
export const isSum = (/** @type {string[]} */ cells, /** @type {Row['values']} */ values, isOfAmounts = false) => {
  const { customer_name, customer_phone, customer_address = '' } = values
  if (customer_phone || (customer_address && !totals.test(customer_address))) return false
  return cells.some(text => totals.test(text)) || (!customer_name && isOfAmounts)
}

/** Returns true for a cell that a formula, a checkbox or a dash fills where there is nothing. */
const isBlank = (/** @type {string} */ text = '') =>
  /^\W*0*([.,]0+)?\W*$/.test(text) || /^(yes|no|)$/.test(readWords(text)) || /^(null|nil|none)$/i.test(text)

/**
 * Returns true for a row without a person, a phone, an address and an amount: it holds flags, or one text such as a
 * footer. A row that names an order and its contents may belong to another row: it is asked about like any parcel.
 * @param {string[]} cells @param {Row['values']} values @param {Column[]} columns
 */
export const isNoParcel = (cells, values, columns, isBroken = false) => {
  const has = (/** @type {string} */ field) => !isBlank(values[field])
  const isSigned = cells.some(text => signatures.test(text))
  if (has('cod') || /\d{6}/.test((values.customer_phone ?? '').replace(/\W/g, ''))) return false
  if (isSigned || isBroken || has('description')) return isSigned && !(has('customer_name') && has('destination'))
  if (!['customer_name', 'customer_phone', 'customer_address', 'destination'].some(has)) return cells.some(Boolean)
  const filled = columns.filter(({ index }) => !isBlank(cells[index]))
  return columns.length > 3 && filled.length === 1 && filled[0].field !== 'customer_phone'
}
