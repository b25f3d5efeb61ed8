// Reads rows that merchants paste or upload, as CSV or as spreadsheets copy them; writes rows as CSV.

/** @import { Sheet, SheetRow } from './upload/columns.js' */

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

/** Returns whichever of tab, semicolon and comma the middle one of the first lines has the most often. */
const findSeparator = (/** @type {string} */ text) => {
  const lines = text
    .slice(0, 20_000)
    .replace(/"[^"]*"/g, '')
    .split(/\r\n?|\n/)
  const filled = lines.filter(line => line.trim() !== '').slice(0, 20)
  const count = (/** @type {string} */ mark) =>
    filled.map(line => line.split(mark).length).sort((one, two) => one - two)[Math.floor(filled.length / 2)] ?? 0
  // A tab is no part of a text.
  return count('\t') > 1 ? '\t' : count(';') > count(',') ? ';' : ','
}

/**
 * Splits text into rows of cells. Quoted cells may have separators, line breaks and doubled quotes (RFC 4180); a quote
 * that no separator follows is a letter. Lines end in LF, CRLF or CR, and a first line `sep=` names the separator.
 * Leaves out blank rows; the others keep their numbers.
 * @param {string} text
 * @returns {Sheet}
 */
export const parseSheet = text => {
  const [, named, clean = ''] = /^\uFEFF?(?:sep=(.)(?:\r\n?|\n))?(.*)$/is.exec(text) ?? []
  const separator = named ?? findSeparator(clean)
  const mark = `\\u${separator.charCodeAt(0).toString(16).padStart(4, '0')}`
  const form = new RegExp(`(?:"([^"]*(?:""[^"]*)*)" *|([^${mark}\\r\\n]*))(${mark}|\\r\\n?|\\n|$)`, 'g')
  const rows = [{ number: 1, cells: /** @type {string[]} */ ([]) }]
  for (const [, quoted, plain, end] of clean.matchAll(form)) {
    rows[rows.length - 1].cells.push((quoted?.replaceAll('""', '"') ?? plain).trim())
    if (end === '') break
    if (/[\r\n]/.test(end)) rows.push({ number: rows.length + 1, cells: [] })
  }
  const filled = rows.filter(({ cells }) => cells.some(cell => cell !== ''))
  return { rows: findSwallowed(filled, separator), isText: true }
}

/**
 * Marks rows in which a quoted cell holds lines and about a row of separators: two stray quotes swallowed rows. Their
 * lines count as rows, so that the rows below keep their numbers.
 * @param {SheetRow[]} rows @param {string} separator
 */
const findSwallowed = (rows, separator) => {
  const widths = rows.map(({ cells }) => cells.length).sort((one, two) => one - two)
  const most = Math.max((widths[Math.floor(widths.length / 2)] ?? 0) - 2, 2)
  let lines = 0
  return rows.map(({ number, cells }) => {
    const swallowed = cells.find(cell => /[\r\n]/.test(cell) && cell.split(separator).length > most)
    const row = { number: number + lines, cells, ...(swallowed && { swallowed }) }
    lines += swallowed?.match(/\r\n?|\n/g)?.length ?? 0
    return row
  })
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
