// Reads amounts and weights as people write them, and refuses what can be read in two ways: money is never guessed.

/** @typedef {{ value?: number, problem?: string }} Reading `row.PROBLEM` is the text of a problem. */

const errorCell = /^#(n\/a|ref!|value!|name\?|div\/0!|null!|num!|spill!|calc!|error!|getting_data|uncalculated)$/i
const isPhone = (/** @type {string} */ field) => field === 'customer_phone' || field === 'customer_secondary_phone'

/** Returns what makes a cell no value at all: a spreadsheet's error, or a phone without its digits (9.477E+10). */
export const findProblem = (/** @type {string} */ field, /** @type {string} */ text) => {
  if (errorCell.test(text)) return 'error_cell'
  return isPhone(field) && /^\+?\d([.,]\d+)?e[+]?\d+$/i.test(text) ? 'scientific' : undefined
}

/** Returns the value of a digit of any script: Unicode lists the ten digits of a script in a row. */
const toDigit = (/** @type {string} */ digit) => {
  const code = digit.codePointAt(0) ?? 0
  let first = code
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--
  return String((code - first) % 10)
}

/** Removes what nobody sees: marks of direction, the width of spaces and letters, and the script of numbers. */
export const toPlain = (/** @type {string} */ text) =>
  text
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u061c]/g, '')
    .replace(/\p{Nd}/gu, toDigit)
    .replace(/(\d)[\u066c\u060c](?=\d)/g, '$1,')
    .replace(/(\d)\u066b(?=\d)/g, '$1.')
    .replace(/\s+/g, ' ')
    .trim()

const maxAmount = 2_147_483_647

/**
 * Lists how numbers are written, with their decimal marks. `is` names a form that is thousands for one person and
 * decimals for another, such as `4,500`: the caller decides.
 * @type {readonly { form: RegExp, decimal?: string, is?: string }[]}
 */
const forms = [
  { form: /^(0|[1-9]\d*)$/ },
  { form: /^\d{1,3}( \d{3})+([.,]\d{1,2})?$|^\d{1,3}(['’]\d{3})+(\.\d{1,2})?$/, decimal: '.,' },
  { form: /^0?[.,]\d+$/, decimal: '.,' },
  { form: /^[1-9]\d{0,2},\d{3}$/, is: 'comma3' },
  { form: /^[1-9]\d{0,2}\.\d{3}$/, is: 'point3' },
  { form: /^[1-9]\d{0,2}(,\d{3})+\.\d+$|^[1-9]\d{0,2}(,\d{3}){2,}$/, decimal: '.' },
  { form: /^[1-9]\d?(,\d{2})+,\d{3}(\.\d+)?$/, decimal: '.' },
  { form: /^[1-9]\d{0,2}(\.\d{3})+,\d+$|^[1-9]\d{0,2}(\.\d{3}){2,}$/, decimal: ',' },
  { form: /^[1-9]\d{0,2},\d{1,2}$/, is: 'comma2', decimal: ',' },
  { form: /^[1-9]\d*\.\d+$/, decimal: '.' },
  { form: /^[1-9]\d{3,},\d{1,2}$/, decimal: ',' },
  { form: /^[1-9]\d{3,},\d{3,}$|^[1-9]\d*,\d{4,}$/, is: 'unequal' },
]

/** @param {string} text @param {Record<string, string>} rules @returns {Reading} */
const readDigits = (text, rules) => {
  const found = forms.find(({ form }) => form.test(text))
  if (!found) return { problem: 'unreadable' }
  const rule = rules[found.is ?? '']
  if (rule && rule !== 'thousands') return { problem: rule }
  const last = Math.max(...[...(rule ? '' : (found.decimal ?? ''))].map(mark => text.lastIndexOf(mark)), -1)
  const [whole, decimals] = last < 0 ? [text, ''] : [text.slice(0, last), text.slice(last + 1)]
  return { value: Number(`${whole.replace(/\D/g, '')}.${decimals || 0}`) }
}

/** Lists how people write a currency besides its code and its sign. */
const spellings = /** @type {Record<string, string>} */ ({
  ...{ rs: 'rupees|slr|රුපියල්|රු|ரூபாய்|ரூ|rs', '₹': 'rupees|rs', BDT: 'taka|tk|টাকা', AED: 'dhs?|د\\.?إ|درهم' },
  ...{ KES: 'k\\.?shs?', TZS: 't\\.?shs?', UGX: 'u\\.?shs?', NGN: 'naira' },
})

/** Finds a currency before and after an amount, as people write it. */
const findCurrency = (/** @type {string} */ code) => {
  const style = new Intl.NumberFormat('en', { style: 'currency', currency: code, currencyDisplay: 'narrowSymbol' })
  const sign = toPlain(style.formatToParts(0).find(({ type }) => type === 'currency')?.value ?? '')
  const words = spellings[sign.toLowerCase()] ?? spellings[code] ?? code
  const currency = `(?:${code}|${words}|${sign.replace(/[$.]/g, '\\$&')})`
  return {
    leading: new RegExp(`^${currency}(?!\\p{L})\\.?\\s*`, 'iu'),
    trailing: new RegExp(`\\s*(?:/[=-]|=|/)?\\s*(?:${currency}\\.?)?\\s*(?:/[=-])?$`, 'iu'),
  }
}
const currencies = /** @type {Record<string, ReturnType<typeof findCurrency>>} */ ({})

/**
 * Reads an amount, such as "Rs. 4,500.00", "4500/=" or "1,50,000".
 * @param {string} text @param {string} [currency] the company's @returns {Reading}
 */
export const readMoney = (text, currency = '') => {
  const plain = toPlain(text)
  const problem = plain === '' ? 'missing' : findProblem('cod', plain)
  if (problem) return { problem }
  const code = currency || 'LKR'
  currencies[code] ??= findCurrency(code)
  const { leading, trailing } = currencies[code]
  const digits = plain.replace(leading, '').replace(trailing, '')
  // Words or signs before or after an amount.
  if (
    /^[\p{L}\p{M}\p{Sc}][\p{L}\p{M}\p{Sc}. ]*\d[\d.,]*$|^\d[\d.,]*[-\p{L}\p{M}\p{Sc}. ]*[\p{L}\p{M}\p{Sc}]$/u.test(
      digits,
    )
  )
    return { problem: 'unit' }
  const read = readDigits(digits, {
    comma3: 'thousands',
    point3: 'ambiguous',
    comma2: 'ambiguous',
    unequal: 'ambiguous',
  })
  if (read.value === undefined) return read
  if (read.value > maxAmount) return { problem: 'too_large' }
  return Number.isInteger(read.value) ? read : { problem: 'fraction' }
}

const moneyUnits =
  /^(\p{L}{0,3}\p{Sc}|rs|cents?|paise|thousands?|[ktu]shs?|tk|taka|rm|rp|dhs?|naira|birr|f?cfa|dollars?)\.?$/iu

/** Returns the currency, or a part of one, that ends the heading of an amount, such as "COD (USD)"; or ''. */
export const findMoneyUnit = (/** @type {string} */ heading) => {
  const [, inside, last = ''] = /\(([^()]+)\)\s*$|(\S+)\s*$/.exec(heading) ?? []
  const unit = (inside ?? last).trim().replace(/^in /i, '')
  if (/^'?0{3}s?$/.test(unit)) return 'thousands'
  const isCode = /^[A-Z]{3}$/.test(unit) && Intl.supportedValuesOf('currency').includes(unit)
  return isCode || moneyUnits.test(unit) ? unit : ''
}

/** Lists the units of weight; the desk converts no other. */
const units = /** @type {[RegExp, string][]} */ ([
  [/(^|[\d\s(])(kgs?|kilos?|kilogram(me)?s?|කිලෝ(ග්රෑම්)?|கிலோ(கிராம்)?)\.?\)?$/iu, 'kg'],
  [/(^|[\d\s(])(g|gms?|grs?|gram(me)?s?|ග්රෑම්|கிராம்)\.?\)?$/iu, 'g'],
  [/(^|[\d\s(])(lbs?|pounds?|oz|ounces?|tons?|tonnes?|t|mg|st)\.?\)?$/iu, 'other'],
])

/** Returns the unit of weight that ends a heading or a cell: `kg`, `g`, `other` or ''. */
export const findUnit = (/** @type {string} */ text) => units.find(([form]) => form.test(toPlain(text)))?.[1] ?? ''

/** Reads a weight in kilograms; a unit in the cell counts more than that of the heading. @returns {Reading} */
export const readWeight = (/** @type {string} */ text, unit = 'kg') => {
  const plain = toPlain(text)
  const problem = plain === '' ? 'missing' : findProblem('weight', plain)
  if (problem) return { problem }
  const written = findUnit(plain) || (/^[.\d].*[^\d.,\s]$/.test(plain) ? 'other' : unit)
  if (written !== 'kg' && written !== 'g') return { problem: 'unit' }
  const isGrams = written === 'g'
  const rules = { comma3: isGrams ? 'thousands' : 'ambiguous', point3: 'ambiguous', unequal: 'ambiguous' }
  const read = readDigits(plain.replace(/\s*\(?[^\d\s(]+\)?$/u, ''), rules)
  return read.value !== undefined && isGrams ? { value: read.value / 1000 } : read
}

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

/** Moves the second number of a phone into its own field, if the company keeps it. @param {any} row */
export const splitPhones = ({ values, marks }, isKept = false) => {
  const { customer_phone: text = '', customer_secondary_phone: other } = values
  const [phone, second, ...more] = listPhones(text)
  if (!isKept || !second || other || more.length > 0) return
  Object.assign(values, { customer_phone: phone, customer_secondary_phone: second })
  marks.push({ field: 'customer_secondary_phone', code: 'phone_split', text: text.slice(0, 100) })
}

/** @param {string} text */
export const findFirstPhone = text => {
  const first = toPlain(text).match(/\+?\d[\d ().-]*\d/)?.[0] ?? ''
  return listPhones(text)[0] ?? (isNumber(first) ? first : '')
}

/** Asks about a phone that no message reaches, until a person says that it is right. @param {any} row */
export const askPhone = (row, /** @type {string} */ code) => {
  const text = row.values.customer_phone
  if (!/^(no_phone|two_phones)$/.test(code) || row.surePhone === text) return false
  row.marks.push({ field: 'customer_phone', code, ask: true, ...(code === 'no_phone' && { text }) })
  row.errors.customer_phone = [{ code }]
  return true
}
