// Finds the phone numbers of a cell that holds several, and what the service says of a phone that it cannot reach.
import { toPlain } from './numbers.js'

/** @import { Row } from './check-rows.js' */

/** Is the least digits of a number: of fewer, the service alone says whether one is lost. */
const [least, most] = [10, 15]
const count = (/** @type {string} */ text) => text.replace(/\D/g, '').length
const isNumber = (/** @type {string} */ text) => count(text) >= least && count(text) <= most

/** Lists the numbers in a text; none if other digits are left. @param {string} text @returns {string[]} */
const listPhones = text => {
  const pieces = toPlain(text)
    .split(/[^\d\s().+-]+|(?=\+)/)
    .flatMap(piece => (count(piece) > most ? piece.split(/[\s-]+/) : piece))
    .map(piece => piece.replace(/^[^\d+(]+|[^\d)]+$/g, '').replace(/^\(([^()]*)\)$|^\((?=[^)]*$)/g, '$1'))
    .map(piece => (piece.includes('(') ? piece : piece.replace(')', '')))
    .filter(piece => /\d/.test(piece))
  return pieces.every(isNumber) ? pieces : []
}

/** Moves the second number of a phone into its own field, if the company keeps it. @param {Row} row */
export const splitPhones = ({ values, marks }, isKept = false) => {
  const { customer_phone: text = '', customer_secondary_phone: other } = values
  const [phone, second, ...more] = listPhones(text)
  if (!isKept || !second || other || more.length > 0) return
  Object.assign(values, { customer_phone: phone, customer_secondary_phone: second })
  marks.push({ field: 'customer_secondary_phone', code: 'phone_split', text: text.slice(0, 100) })
}

/** Returns the first number of a text that holds several, or ''. @param {string} text */
export const findFirstPhone = text => {
  const first = toPlain(text).match(/\+?\d[\d ().-]*\d/)?.[0] ?? ''
  return listPhones(text)[0] ?? (isNumber(first) ? first : '')
}

/** Asks about a phone that no message reaches, until a person says that it is right. @param {Row} row */
export const askPhone = (row, /** @type {string} */ code) => {
  const text = row.values.customer_phone
  if (!/^(no_phone|two_phones)$/.test(code) || row.surePhone === text) return false
  row.marks.push({ field: 'customer_phone', code, ask: true, ...(code === 'no_phone' && { text }) })
  row.errors.customer_phone = [{ code }]
  return true
}
