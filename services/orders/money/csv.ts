/**
 * Writes rows as CSV (RFC 4180) with a head of their names. A text that a spreadsheet would run as a formula gets an apostrophe
 * before it.
 */
export const toCsv = (rows: readonly Readonly<Record<string, unknown>>[], names: readonly string[]): string =>
  [names, ...rows.map(row => names.map(name => row[name]))].map(cells => `${cells.map(toCell).join(',')}\r\n`).join('')

const toCell = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
