// Reads the cells that fill no field of an order, but say whether it was paid, whether it travels, or what it is.
import { nameField, simplify } from './headings.js'
import { readMoney, toPlain } from './numbers.js'
import { readWords } from './words.js'

/** @import { Column } from './columns.js' */
/**
 * Describes a doubt about a row. With `ask` the row waits until a person has decided; `text` names what the sheet says,
 * and `amount` is what is to be collected if nothing was paid.
 * @typedef {{ field: string, code: string, ask?: boolean, text?: string, amount?: string, cells?: number,
 *   headings?: number }} Mark
 * @typedef {{ says: string, text: string, cell: string }} Said
 */

const payment = new RegExp(
  String.raw`\b(pay|paid|payments?|prepaid|prepay(ment)?|unpaid|cash|cod|gateway|financial|settle(d|ment)|captured|` +
    String.raw`payed|slip|advance|deposit|refund(ed)?|transaction|tender|gift ?cards?|store credit|wallet)\b|` +
    '^((amount )?received|mode|method|terms)$|ගෙව|අත්තිකාරම්|செலுத்|கட்டண ?(முறை|நிலை)|பணம்|முன் ?பண|' +
    'دفع|مدفوع|مقدم|عربون|অগ্রিম|পরিশোধ|পেমেন্ট',
  'u',
)
/** Lists words of headings that name who pays and what it costs, such as those of OpenCart's "Payment City". */
const noPayment = new RegExp(
  String.raw`\b(fees?|charges?|commission|tax|cost|rate|currency|(first|last)?name|address|street|city|town|zone|` +
    String.raw`country|post ?code|zip|company|phone|e ?mail|handling|without|excl\w*)\b|ගාස්තු`,
  'u',
)
const paidAmounts = new RegExp(
  String.raw`\b(advance|deposit|paid|received|refund(ed)?|gift ?cards?|store credit|wallet)\b|අත්තිකාරම්|ගෙවූ|ගෙවා|ගෙව්|` +
    'முன் ?பண|செலுத்திய|செலுத்தப்பட்ட|مدفوع|مقدم|عربون|অগ্রিম|পরিশোধ',
  'u',
)
const paidDates = /\bpaid (at|on|date)\b|\bdate paid\b/
const kindOfParcel =
  /^((order|shipment|delivery|service|request) )?type$|\b(exchange|reverse pick ?up|replacement)$|වර්ගය$|^வகை$/u
const pieces = new RegExp(
  '^((no|number|total|count|qty|#)( of)? )(pieces?|pcs|box(es)?|parcels?|packages?|pkgs?|cartons?)$|' +
    '^(pieces?|pcs|box|parcel|package|pkg|carton)(es|s)? (count|qty|quantity)$|^(pieces|pcs|box(es)?|parcels|packages|pkgs)$|' +
    '^cartons?$|පාර්සල් ගණන|පෙට්ටි|කෑලි|பெட்டி|பார்சல் எண்ணிக்கை',
  'u',
)

/** Returns what the cells of a column are about: `payment`, `state`, `kind`, `pieces`, or ''. @param {Column} column */
export const findSubject = ({ words, field }) => {
  if (field === 'cod') return ''
  const { field: of, weight } = nameField(words)
  if ((payment.test(words) || (of === 'cod' && weight >= 100)) && !noPayment.test(words)) return 'payment'
  if (field) return ''
  if (kindOfParcel.test(words)) return 'kind'
  if (pieces.test(words)) return 'pieces'
  return /\b(status|stage)\b|^order state$|\bfulfil|තත්ත්ව|තත්ව|நிலை/u.test(words) || isFlag(words) ? 'state' : ''
}
/** Returns true for the heading of a column of Yes and No, or of days, such as "Cancelled at". */
const isFlag = (/** @type {string} */ words) =>
  /^(stay|hold)$/.test(readWords(words.replace(/^(is|was) | (at|on|date)$/g, '')))

/** Reads a cell about the payment: what `readWords` says of payments, `unknown`, or '' if it says nothing. */
const readPayment = (/** @type {string} */ words, /** @type {string} */ text) => {
  const isFlagOfCod = /^[01]$/.test(text) && nameField(words).field === 'cod'
  const said = isFlagOfCod ? ['no', 'yes'][Number(text)] : readWords(text)
  if (said === '' || /^(paid|online|cod|due|part)$/.test(said)) return said
  if (/\p{Nd}/u.test(text) && !isFlagOfCod) {
    if (paidDates.test(words)) return 'paid'
    const { value } = readMoney(text)
    if (paidAmounts.test(words)) return value === 0 ? '' : value && value > 1 ? 'part' : 'unknown'
    return value === undefined || nameField(words).field !== 'cod' ? 'unknown' : 'amount'
  }
  if (said === 'yes' || said === 'no') {
    const heading = readWords(words)
    const isPaid = heading === 'paid' || /\b(pre ?paid|paid|settled|captured|received)\b/.test(words)
    const isDue = /^(cod|due)$/.test(heading) || /\b(cod|cash|unpaid|not)\b/.test(words)
    if (isPaid !== isDue) return (said === 'yes') === isPaid ? 'paid' : 'due'
  }
  if (said === 'done' && /\bstatus\b/.test(words)) return 'paid'
  return said === 'pending' ? 'due' : 'unknown'
}

/** Reads a cell about the state of an order: `go`, `stay`, `hold` or `unknown`. */
export const readState = (/** @type {string} */ text, words = 'status') => {
  const said = readWords(text)
  if (said === '' || /^(go|stay|hold)$/.test(said)) return said || 'go'
  if (isFlag(words)) return said === 'no' ? 'go' : said === 'yes' || /\p{Nd}/u.test(text) ? 'stay' : 'unknown'
  return /^(paid|online|cod|due|forward)$/.test(said) ? 'go' : 'unknown'
}

const isOnePiece = (/** @type {string} */ text) => /^(0*1|0+|one)( ?\p{L}+)?$/iu.test(text)

/** Returns true for a remark that says something of a payment; to collect cash is what is done anyway. */
export const speaksOfPayment = (/** @type {string} */ text) => {
  const words = simplify(text).replace(/\b(cash|cod)\b/g, '')
  return !/^(cod|due)$/.test(readWords(text)) && (payment.test(words) || /\b(transfer|bank|deposited)/.test(words))
}
const isRemark = (/** @type {Column} */ { field, words }) =>
  field === 'remark' || /\b(remark|note|comment)s?$/.test(words)

/** Names what a cell says. Cells of numbers differ in each row: only their heading is named. */
const name = (/** @type {string} */ heading, /** @type {string} */ text) =>
  `${heading ? `${heading}: ` : ''}${/\p{Nd}{3}/u.test(text) ? '…' : text.slice(0, 60)}`

/**
 * Reads the cells of a row that fill no field: what they say of the payment, the state in which it does not travel, and
 * questions.
 * @param {string[]} cells @param {(Column & { about?: string })[]} columns
 */
export const readOthers = (cells, columns) => {
  const payments = /** @type {Said[]} */ ([])
  const marks = /** @type {Mark[]} */ ([])
  let state = { says: 'go', text: '' }
  const isOfId = (/** @type {string} */ words) =>
    words.endsWith(' title') && columns.some(each => `${each.words} title` === words && cells[each.index])
  for (const column of columns) {
    const { index, words, heading, field, about = '' } = column
    const text = cells[index] ?? ''
    if (!about && field && field !== 'remark') continue
    const [said, named] = [readWords(text), name(heading, text)]
    if (said === '' || isOfId(words)) continue
    const ask = (/** @type {string} */ code) => marks.push({ field: '', code, ask: true, text: named })
    const pay = (/** @type {string} */ says) => says && payments.push({ says, text: named, cell: text })
    if (about === 'payment') {
      if (/cancel|void|^refunded$/i.test(text)) ask('maybe_cancelled')
      else pay(readPayment(words, text))
    } else if (about === 'state') {
      const says = readState(text, words)
      if (says === 'unknown') ask('status_word')
      if (says === 'stay' || said === 'done') pay('done')
      if (/^(paid|online|cod|due|part)$/.test(said)) pay(said)
      if (says === 'stay' || (says === 'hold' && state.says === 'go')) state = { says, text: named }
    } else if (about === 'kind') {
      if (/^(paid|online|cod|due|part)$/.test(said)) pay(said)
      else if (!/^(forward|go|no)$/.test(said)) ask('kind_word')
    } else if (about === 'pieces') {
      if (!isOnePiece(text)) ask('pieces')
    } else {
      if (said === 'paid') pay('paid')
      else if (isRemark(column) && speaksOfPayment(text)) pay('unknown')
      else if (/\b(pre)?paid\b/i.test(text)) marks.push({ field: 'cod', code: 'maybe_paid', text: named })
      if (said === 'stay') ask('status_word')
      if (said === 'other') ask('kind_word')
    }
  }
  return { payments, marks, state }
}

/**
 * Returns the doubt that payments leave about an amount to collect, if any. A column that names the COD holds what is
 * left to pay, unless another such column differs; a total does not.
 * @param {Said[]} payments @param {string | undefined} amount @param {boolean} isTotal
 */
export const doubtCod = (payments, amount = '', isTotal = false) => {
  const of = (/** @type {string[]} */ ...wanted) => payments.filter(({ says }) => wanted.includes(says))
  // The column of the COD may hold what was paid.
  const isSame = (/** @type {Said} */ { cell }) => readMoney(cell).value === readMoney(amount).value
  const others = isTotal || !amount ? [] : of('amount').filter(each => !isSame(each))
  const unclear = [
    ...of('unknown'),
    ...others,
    ...of('part').filter(part => isTotal || isSame(part)),
    ...(isTotal ? of('done') : []),
  ]
  const paid = of('paid', 'online')
  const due = paid.length > 0 ? of('cod', 'due') : []
  const isPaid = paid.length > 0 && due.length === 0
  const [code, found] = isPaid ? ['maybe_paid', paid] : ['payment_unclear', [...paid, ...due, ...unclear]]
  const text = found.map(each => each.text).join(', ')
  // A total is not what is left of an order that was paid in part.
  const rest = isTotal && !isPaid && of('part').length > 0 ? {} : { amount }
  return found.length > 0 ? { field: 'cod', code, ask: true, text, ...rest } : undefined
}

const totals =
  /^((grand|sub|net|order|overall)[ -]?)?(totals?|sum)(\s*[:=(-]|$| (cod|amount|parcels?|orders?)\b)|මුළු|එකතුව|^மொத்த/iu
const signatures = new RegExp(
  String.raw`^\W*(prepared|checked|approved|verified|authori[sz]ed|received|issued|packed|entered|signed|` +
    String.raw`printed) ?(by|on|at)\b|` +
    String.raw`\bsignature\b|^\W*(sign|date)\s*[:._-]|^[\s._…-]{4,}$|අත්සන|සකස් ?කළ|கையொப்ப|தயாரித்த`,
  'iu',
)

/** Returns true for a row that sums up the rows above, or says so, and names no person. */
export const isSum = (
  /** @type {string[]} */ cells,
  /** @type {Record<string, string>} */ values,
  isOfAmounts = false,
) => {
  const { customer_name, customer_phone, customer_address = '' } = values
  if (customer_phone || (customer_address && !totals.test(customer_address))) return false
  return cells.some(text => totals.test(text)) || (!customer_name && isOfAmounts)
}

/** Returns true for a cell that a formula, a checkbox or a dash fills where there is nothing. */
const isBlank = (/** @type {string} */ text = '') =>
  /^[^\p{L}\p{N}]*0*([.,]0+)?[^\p{L}\p{N}]*$/u.test(toPlain(text)) ||
  /^(yes|no|)$/.test(readWords(text)) ||
  /^(null|nil|none)$/i.test(text)

/**
 * Returns true for a row without a person, a phone, an address and an amount: it holds flags, or one text such as a
 * footer. A row that names an order and its contents may belong to another row: it is asked about like any parcel.
 * @param {string[]} cells @param {Record<string, string>} values @param {Column[]} columns
 */
export const isNoParcel = (cells, values, columns, isBroken = false) => {
  const has = (/** @type {string} */ field) => !isBlank(values[field])
  const isSigned = cells.some(text => signatures.test(text))
  if (has('cod') || /\d{6}/.test(toPlain(values.customer_phone ?? '').replace(/\W/g, ''))) return false
  if (isSigned || isBroken || has('description')) return isSigned && !(has('customer_name') && has('destination'))
  if (!['customer_name', 'customer_phone', 'customer_address', 'destination'].some(has)) return cells.some(Boolean)
  const filled = columns.filter(({ index }) => !isBlank(cells[index]))
  return columns.length > 3 && filled.length === 1 && filled[0].field !== 'customer_phone'
}
