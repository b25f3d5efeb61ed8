// Reads rows that merchants paste or upload, as CSV or as spreadsheets copy them.

/** @typedef {{ name: string, pattern: RegExp }} Column */

/**
 * Lists the fields of an order that a column may have, in the order in which headings are compared.
 * @type {readonly Column[]}
 */
export const columns = [
  { name: 'customer_email', pattern: /e-?mail/ },
  {
    name: 'customer_secondary_phone',
    pattern: /(second|alt|other|2).*(phone|mobile|contact|tel)|(phone|mobile|tel).*2/,
  },
  { name: 'customer_phone', pattern: /phone|mobile|contact|\btel|whatsapp/ },
  { name: 'destination', pattern: /city|town|district|destination|area/ },
  { name: 'customer_address', pattern: /address|street/ },
  { name: 'cod', pattern: /\bcod\b|amount|price|total|collect/ },
  { name: 'weight', pattern: /weight|\bkg/ },
  { name: 'order_no', pattern: /order|invoice|\bref|\bno\b|\bid\b/ },
  { name: 'description', pattern: /description|item|product|content/ },
  { name: 'remark', pattern: /remark|note|comment|instruction/ },
  { name: 'customer_name', pattern: /name|customer|recipient|receiver/ },
]

/**
 * Splits text into rows of cells. Quoted cells may have separators, line breaks and doubled quotes (RFC 4180); the
 * separator is whichever of tab, semicolon and comma is the most frequent in the first line. Omits blank rows.
 * @param {string} text
 * @returns {string[][]}
 */
export const parseSheet = text => {
  const clean = text.replace(/^\uFEFF/, '')
  const [first = ''] = clean
    .slice(0, 10_000)
    .replace(/"[^"]*"/g, '')
    .split(/\r?\n/, 1)
  const count = (/** @type {string} */ mark) => first.split(mark).length
  const separator = ['\t', ';', ','].reduce((best, mark) => (count(mark) > count(best) ? mark : best))
  const rows = [['']]
  let isQuoted = false
  for (let at = 0; at < clean.length; at++) {
    const row = /** @type {string[]} */ (rows.at(-1))
    const mark = clean[at]
    if (isQuoted && mark === '"' && clean[at + 1] === '"') row[row.length - 1] += clean[++at]
    else if (mark === '"' && (isQuoted || row.at(-1) === '')) isQuoted = !isQuoted
    else if (isQuoted) row[row.length - 1] += mark
    else if (mark === separator) row.push('')
    else if (mark === '\n') rows.push([''])
    else if (mark !== '\r') row[row.length - 1] += mark
  }
  return rows.map(row => row.map(cell => cell.trim())).filter(row => row.some(cell => cell !== ''))
}

const looksLikePhone = (/** @type {string} */ cell) => /^[+0][\d ()-]{8,16}$/.test(cell)

/**
 * Guesses the field of each column by its heading, or else by its cells; '' stands for no field. `hasHeadings` is false
 * if the first row has a phone number.
 * @param {string[][]} rows
 * @returns {{ fields: string[], hasHeadings: boolean }}
 */
export const guessColumns = rows => {
  const [first = [], ...others] = rows
  const hasHeadings = !first.some(looksLikePhone)
  const taken = new Set()
  const take = (/** @type {string | undefined} */ name) => {
    if (!name || taken.has(name)) return ''
    taken.add(name)
    return name
  }
  /** A heading such as Shipping Name says more than plain Name, in which web shops put the order number. */
  const isPerson = (/** @type {string} */ cell) =>
    /(customer|recipient|receiver|consignee|shipping|full).?name/i.test(cell)
  const hasPerson = first.some(isPerson)
  const ofHeading = (/** @type {string} */ cell) => {
    if (isPerson(cell)) return 'customer_name'
    const name = columns.find(({ pattern }) => pattern.test(cell.toLowerCase()))?.name
    return name === 'customer_name' && hasPerson ? 'order_no' : name
  }
  const sample = hasHeadings ? others.slice(0, 20) : rows.slice(0, 20)
  const ofCells = (/** @type {number} */ index) =>
    sample.some(row => looksLikePhone(row[index] ?? '')) ? 'customer_phone' : ''
  const fields = first.map(cell => (hasHeadings ? take(ofHeading(cell)) : ''))
  return { fields: fields.map((name, index) => name || take(ofCells(index))), hasHeadings }
}

/**
 * Reads a number as people write it, such as "Rs. 4,500.00"; any other text stays, for the service to refuse.
 * @param {string} text
 */
export const readNumber = text => {
  const plain = text
    .replace(/^(rs|lkr)\.?\s*/i, '')
    .replace(/,(?=\d{3}\b)/g, '')
    .replace(/\s*kg$/i, '')
  return plain !== '' && Number.isFinite(Number(plain)) ? Number(plain) : text
}

/**
 * Writes rows as CSV for spreadsheets: quotes each cell, and keeps spreadsheets from reading any cell as a formula.
 * @param {unknown[][]} rows
 */
export const writeCsv = rows => {
  const quote = (/** @type {unknown} */ cell) =>
    `"${String(cell ?? '')
      .replace(/^(?=[=@]|[+-](?![\d .,]*$))/, "'")
      .replaceAll('"', '""')}"`
  return new Blob([`\uFEFF${rows.map(row => row.map(quote).join(',')).join('\r\n')}\r\n`], { type: 'text/csv' })
}
