// Reads rows that merchants paste or upload, as CSV or as spreadsheets copy them; writes rows as CSV.

/** Decodes a text file: UTF-8, UTF-16 with its mark, or else Windows-1252, in which older spreadsheets save. */
export const decodeText = (/** @type {ArrayBuffer} */ bytes) => {
  const [first, second] = new Uint8Array(bytes, 0, Math.min(2, bytes.byteLength))
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return new TextDecoder(first === 0xff ? 'utf-16le' : 'utf-16be').decode(bytes)
  const text = new TextDecoder().decode(bytes)
  const [broken, valid] = [/\ufffd/g, /[^\0-\x7f\ufffd]/g].map(form => text.match(form)?.length ?? 0)
  // A few broken characters among valid ones are a damaged UTF-8 file, whose rows are marked.
  return broken > valid ? new TextDecoder('windows-1252').decode(bytes) : text
}

/**
 * Finds the separator: the line `sep=` names it; or else it is whichever of tab, semicolon and comma the middle one of
 * the first lines has the most often. A tab is no part of a text.
 */
const findSeparator = (/** @type {string} */ text) => {
  const lines = text
    .slice(0, 20_000)
    .replace(/"[^"]*"/g, '')
    .split(/\r\n?|\n/)
  const filled = lines.filter(line => line.trim() !== '').slice(0, 20)
  const count = (/** @type {string} */ mark) =>
    filled.map(line => line.split(mark).length).sort((one, two) => one - two)[Math.floor(filled.length / 2)] ?? 0
  if (count('\t') > 1) return '\t'
  return count(';') > count(',') ? ';' : ','
}

/**
 * Splits text into rows of cells. Quoted cells may have separators, line breaks and doubled quotes (RFC 4180); lines
 * end in LF, CRLF or CR. Leaves out blank rows; the others keep their numbers.
 * @param {string} text
 * @returns {import('./upload/columns.js').Sheet}
 */
export const parseSheet = text => {
  const [, named, clean = ''] = /^\uFEFF?(?:sep=(.)(?:\r\n?|\n))?(.*)$/is.exec(text) ?? []
  const separator = named ?? findSeparator(clean)
  const rows = [['']]
  let isQuoted = false
  for (let at = 0; at < clean.length; at++) {
    const row = /** @type {string[]} */ (rows.at(-1))
    const mark = clean[at]
    if (isQuoted && mark === '"' && clean[at + 1] === '"') row[row.length - 1] += clean[++at]
    else if (mark === '"' && (isQuoted || row.at(-1) === '')) isQuoted = !isQuoted
    else if (isQuoted) row[row.length - 1] += mark
    else if (mark === separator) row.push('')
    else if (mark === '\n' || (mark === '\r' && clean[at + 1] !== '\n')) rows.push([''])
    else if (mark !== '\r') row[row.length - 1] += mark
  }
  const numbered = rows.map((row, index) => ({ number: index + 1, cells: row.map(cell => cell.trim()) }))
  return { rows: numbered.filter(({ cells }) => cells.some(cell => cell !== '')) }
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
