// Reads the first visible sheet of an Excel workbook. The reader is our own, because readers on npm unpack without a
// limit, in workers or with parsers that our content policy forbids.

const maxFileBytes = 10_000_000
/** Limits each unpacked part of the workbook; 10,000 rows take 5 MB. */
const maxPartBytes = 40_000_000
const maxColumns = 200

/** Says why a file cannot be read: `unreadable` or `too_large`. */
export class SheetError extends Error {}
const refuse = (/** @type {string} */ reason) => {
  throw new SheetError(reason)
}

/** Holds the sizes of a ZIP archive's records and the offsets of their fields (APPNOTE.TXT, 4.3). */
const zip = {
  end: { signature: 0x06054b50, size: 22, entries: 10, directory: 16 },
  entry: { size: 46, method: 10, packedSize: 20, nameLength: 28, extraLength: 30, commentLength: 32, local: 42 },
  local: { size: 30, nameLength: 26, extraLength: 28 },
}

/** Lists the packed parts of a ZIP archive by name. @returns {Promise<Map<string, { method: number, bytes: Blob }>>} */
const listParts = async (/** @type {Blob} */ file) => {
  const view = new DataView(await file.arrayBuffer())
  const short = (/** @type {number} */ at) => view.getUint16(at, true)
  const long = (/** @type {number} */ at) => view.getUint32(at, true)
  let end = view.byteLength - zip.end.size
  while (long(end) !== zip.end.signature) end--
  const parts = new Map()
  const { entry } = zip
  for (let left = short(end + zip.end.entries), at = long(end + zip.end.directory); left > 0; left--) {
    const nameLength = short(at + entry.nameLength)
    const name = new TextDecoder().decode(new Uint8Array(view.buffer, at + entry.size, nameLength))
    const local = long(at + entry.local)
    const start = local + zip.local.size + short(local + zip.local.nameLength) + short(local + zip.local.extraLength)
    parts.set(name, { method: short(at + entry.method), bytes: file.slice(start, start + long(at + entry.packedSize)) })
    at += entry.size + nameLength + short(at + entry.extraLength) + short(at + entry.commentLength)
  }
  return parts
}

/** Unpacks a part, up to its limit. @param {{ method: number, bytes: Blob }} part */
const unpack = async ({ method, bytes }) => {
  const packed = bytes.stream()
  const stream = method === 0 ? packed : packed.pipeThrough(new DecompressionStream('deflate-raw'))
  const decoder = new TextDecoder()
  let [text, size] = ['', 0]
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.length
    if (size > maxPartBytes) refuse('too_large')
    text += decoder.decode(value, { stream: true })
  }
}

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const decode = (/** @type {string} */ text) =>
  text.replace(
    /&(?:#x([\da-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));|_x([\dA-F]{4})_/gi,
    (_, hex, digits, name, hexName) => {
      const code = digits ? Number(digits) : Number.parseInt(hex ?? hexName, 16)
      return name ? entities[name] : String.fromCodePoint(Math.min(code, 0x10ffff))
    },
  )

/**
 * Yields the tags of a document but phonetic hints: the name without a prefix (`/c` ends a `c`), a reader of the
 * attributes, and the text that follows. @param {string} xml
 */
function* readTags(xml) {
  const spoken = /<((?:[\w.-]+:)?rPh)\b[^<>]*>.*?<\/\1>/gs
  for (const [, inside = '', text = ''] of xml.replace(spoken, '').matchAll(/<([^<>]*)>([^<]*)/g)) {
    const [, slash = '', name = ''] = /^(\/?)(?:[\w.-]+:)?([\w.-]+)/.exec(inside) ?? []
    const read = (/** @type {string} */ wanted) => {
      const [, quoted, single] = new RegExp(`\\s${wanted}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(inside) ?? []
      return decode(quoted ?? single ?? '')
    }
    yield { name: slash + name, isEmpty: inside.endsWith('/'), read, text }
  }
}

/** Reads the texts that cells refer to, and whether all of a text is struck through. @param {string} xml */
const readTexts = xml => {
  const texts = /** @type {{ text: string, isStruck?: boolean }[]} */ ([])
  let isStruck = false
  for (const { name, read, text } of readTags(xml)) {
    const last = texts[texts.length - 1]
    if (name === 'si' || name === 'r') isStruck = false
    if (name === 'si') texts.push({ text: '' })
    else if (name === 'strike') isStruck = isOn(read('val'))
    else if (name === 't')
      Object.assign(last, { text: last.text + decode(text), isStruck: isStruck && last.isStruck !== false })
  }
  return texts
}
const isOn = (/** @type {string} */ value) => !/^(0|false)$/.test(value)

const isDate = (/** @type {number} */ id, code = '') =>
  (id >= 14 && id <= 22) || (id >= 45 && id <= 47) || /[dmyhs]/i.test(code.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, ''))

/** Lists formats of money whose code a workbook may leave out: they show the currency of an unknown machine. */
const builtInMoney = /^([5-8]|42|44)$/

/**
 * Reads the number format of each style, which is `date` or its code, such as `0000000000` for ten digits; `isStruck`
 * where the style strikes the text through.
 */
const readStyles = (/** @type {string} */ xml) => {
  const codes = new Map()
  const styles = /** @type {{ format: string, isStruck: boolean }[]} */ ([])
  const fonts = /** @type {boolean[]} */ ([])
  let [isOfCells, isOfFonts] = [false, false]
  for (const { name, read } of readTags(xml)) {
    if (name === 'numFmt') codes.set(read('numFmtId'), read('formatCode'))
    else if (name === 'fonts' || name === '/fonts') isOfFonts = name === 'fonts'
    else if (name === 'font' && isOfFonts) fonts.push(false)
    else if (name === 'strike' && isOfFonts) fonts[fonts.length - 1] = isOn(read('val'))
    else if (name === 'cellXfs' || name === '/cellXfs') isOfCells = name === 'cellXfs'
    else if (name === 'xf' && isOfCells) {
      const id = read('numFmtId')
      const code = codes.get(id) ?? (builtInMoney.test(id) ? '$0' : '')
      const format = isDate(Number(id), code) ? 'date' : code
      styles.push({ format, isStruck: fonts[Number(read('fontId'))] ?? false })
    }
  }
  return styles
}

/**
 * Reads what the format of a number shows before and after it: texts and signs, such as those of a currency, without
 * spaces that only align. `zeros` counts the digits of a number that has all its zeros.
 */
const readFormat = (/** @type {string} */ style) => {
  const letter = (/** @type {string} */ text) => (/[\p{L}\p{N}\p{Sc}+%/=]/u.test(text) ? text : '')
  const [first = ''] = (style.match(/(?:"[^"]*"|\\.|[^;"\\])+/gs) ?? []).filter(part => /[0#?]|General/.test(part))
  const form = /"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].|(General|[0#?](?:[0#?.,/]|E[+-])*)|([^"\\[])/gsu
  const found = [...first.matchAll(form)]
  const [from, to] = [
    found.findIndex(([, , , , digits]) => digits),
    found.map(each => Boolean(each[4])).lastIndexOf(true),
  ]
  const join = (/** @type {RegExpMatchArray[]} */ parts) =>
    letter(parts.map(([, quoted, escaped, currency, , plain]) => quoted ?? escaped ?? currency ?? plain ?? '').join(''))
  const digits = found[to]?.[4] ?? ''
  return {
    before: join(found.slice(0, Math.max(from, 0))),
    after: join(found.slice(to + 1)) || (/,$/.test(digits) ? ' thousands' : ''),
    zeros: from === to && /^0+$/.test(digits) ? digits.length : 0,
  }
}

/** Writes a number as Excel shows it: a date with its time, if any; others with the zeros and units of their format. */
const writeNumber = (/** @type {string} */ text, style = '', epoch = 25_569) => {
  const value = Number(text)
  if (text === '' || !Number.isFinite(value)) return text
  const date = new Date(Math.round((value - epoch) * 86_400) * 1000)
  const digits = Number.isInteger(value) ? 10 : 16
  if (style === 'date' && value >= 1 && value < 1e6) return date.toISOString().slice(0, digits).replace('T', ' ')
  // Writes 1.125 as 1.1250: a point before three digits may stand for thousands, and this one does not.
  const plain = String(Number(value.toPrecision(15))).replace(/\.\d{3}$/, '$&0')
  if (style === 'date' || value <= 0) return plain
  const { before, after, zeros } = readFormat(style)
  return `${before}${plain.padStart(zeros, '0')}${after}`
}

/** Returns the number of a column, from 0, by the letters of a cell such as AB12. @param {string} cell */
const readColumn = cell =>
  [...(/^[A-Z]{1,3}/.exec(cell)?.[0] ?? '')].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1

/**
 * Reads the rows that have a value, with their numbers; a filter hides rows.
 * @param {string} xml @param {number} maxRows
 * @param {(type: string, style: number, text: string) => { text: string, isStruck?: boolean }} show
 */
const readRows = (xml, maxRows, show) => {
  const rows = /** @type {import('./columns.js').SheetRow[]} */ ([])
  let [row, number, column, type, style, value] = [/** @type {string[]} */ ([]), 0, -1, '', 0, '']
  let [isFormula, isHidden, struck] = [false, false, 0]
  for (const { name, isEmpty, read, text } of readTags(xml)) {
    if (name === 'row') {
      ;[row, number, column, struck] = [[], Number(read('r')) || number + 1, -1, 0]
      isHidden = /^(1|true)$/.test(read('hidden'))
    } else if (name === 'c') {
      const found = readColumn(read('r'))
      column = found < 0 ? column + 1 : found
      ;[type, style, value, isFormula] = [read('t'), Number(read('s')), '', false]
    } else if (name === 'f') isFormula = true
    else if (name === 'v' || name === 't') value += decode(text)
    if (name === '/c' && isFormula && value === '' && type !== 'str') [type, value] = ['str', '#UNCALCULATED']
    if ((name === '/c' || (name === 'c' && isEmpty)) && value !== '') {
      if (column >= maxColumns) refuse('too_large')
      while (row.length <= column) row.push('')
      const shown = show(type, style, value)
      row[column] = shown.text.trim()
      if (shown.isStruck && row[column] !== '') struck++
    }
    const isRow = name === '/row' && row.some(cell => cell !== '')
    const more = { ...(isHidden && { isHidden }), ...(struck > 0 && { struck }) }
    if (isRow && rows.push({ number, cells: row, ...more }) === maxRows) return rows
  }
  return rows
}

/** Reads the first visible sheet of a workbook. @returns {Promise<import('./columns.js').Sheet>} */
export const readWorkbook = async (/** @type {Blob} */ file, /** @type {number} */ maxRows) => {
  if (file.size > maxFileBytes) refuse('too_large')
  const parts = await listParts(file).catch(() => refuse('unreadable'))
  const open = async (/** @type {string} */ path) => {
    const part = parts?.get(path)
    return part ? unpack(part).catch(error => refuse(error instanceof SheetError ? error.message : 'unreadable')) : ''
  }
  const book = [...readTags((await open('xl/workbook.xml')) ?? '')]
  const sheet = book.find(({ name, read }) => name === 'sheet' && !/hidden/i.test(read('state')))
  const links = [...readTags((await open('xl/_rels/workbook.xml.rels')) ?? '')]
  const target = links.find(({ read }) => sheet && read('Id') === sheet.read('(?:\\w+:)?id'))?.read('Target')
  const xml = target && (await open(target.startsWith('/') ? target.slice(1) : `xl/${target}`))
  if (!xml) return refuse('unreadable')
  const texts = readTexts((await open('xl/sharedStrings.xml')) ?? '')
  const styles = readStyles((await open('xl/styles.xml')) ?? '')
  const epoch = book.some(({ read }) => /^(1|true)$/.test(read('date1904'))) ? 24_107 : undefined
  const rows = readRows(xml, maxRows, (type, style, text) => {
    const { format, isStruck } = styles[style] ?? {}
    if (type === 's') return { ...(texts[Number(text)] ?? { text: '' }), ...(isStruck && { isStruck }) }
    if (type === 'b') return { text: text === '1' ? 'TRUE' : 'FALSE', isStruck }
    return { text: type === '' || type === 'n' ? writeNumber(text, format, epoch) : text, isStruck }
  })
  return { rows }
}
