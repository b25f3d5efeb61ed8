// Names the columns of a sheet: takes the heavier of two headings, and asks when they weigh the same.
import { recognise } from './exports.js'
import {
  fieldNames,
  isOfAddress,
  nameHeading,
  ofTown,
  placeAndPerson,
  readPart,
  readSide,
  sided,
  simplify,
  weigh,
} from './headings.js'
import { findMoneyUnit, readMoney } from './numbers.js'

/**
 * @typedef {{ number: number, cells: string[], isHidden?: true, swallowed?: string, struck?: number }} SheetRow
 * `number` is the sheet's own, from 1; `swallowed` is a cell that seems to hold rows, and `struck` counts the cells
 * that are struck through.
 * @typedef {{ rows: SheetRow[], isText?: true }} Sheet `isText` where separators part the cells.
 * Describes a column: `field` is '' if it is left out; `part` is its place in a field that several columns fill, and
 * `other` is the field that it fills in rows without a receiver. `isSame` where each row has the same text.
 * @typedef {{ index: number, heading: string, words: string, field: string, part: number, side: string, weight: number,
 *   samples: string[], isSame: boolean, other?: string }} Column
 * `headingRow` is an index into the rows, or -1. `asked` lists the fields whose candidates weigh the same: each option
 * holds the indexes of the columns that fill the field together.
 * @typedef {{ headingRow: number, export?: string, columns: Column[], asked: { field: string, options: number[][] }[],
 *   allPrepaid?: boolean }} Choice
 */
/** Lists the fields that several columns may fill, with what stands between their cells. */
export const joined = { customer_name: ' ', customer_address: ', ', description: ', ', remark: ', ' }
const looksLikePhone = (/** @type {string} */ cell) => /^'?[+0][\d ()-]{8,16}$/.test(cell)

/** Removes what spreadsheets put around a text that must stay a text: '0770001202 and ="0770001202". */
export const clean = (text = '') => text.replace(/^="(.*)"$/s, '$1').replace(/^'(?=[\d+(])/, '')

/**
 * Finds the row with the most known headings, among the first; -1 if the sheet has no headings.
 * @param {Sheet} sheet
 */
const findHeadings = ({ rows }) => {
  const counts = rows
    .slice(0, 20)
    .map(({ cells }) => new Set(cells.map(cell => looksLikePhone(cell) || nameHeading(cell).field)))
    .map(names => (names.has(true) ? 0 : names.size - Number(names.has(''))))
  return counts.indexOf(Math.max(...counts, 2))
}

/** @param {Sheet} sheet @param {number} headingRow @returns {Column[]} */
const listColumns = ({ rows }, headingRow) => {
  const body = rows.slice(headingRow + 1)
  const width = rows.reduce((most, { cells }) => Math.max(most, cells.length), 0)
  return Array.from({ length: width }, (_, index) => {
    const heading = rows[headingRow]?.cells[index] ?? ''
    const plain = heading.replace(findMoneyUnit(heading), '')
    const { field, weight } = nameHeading(plain)
    const words = simplify(plain)
    const texts = body.map(({ cells }) => clean(cells[index]))
    const samples = texts.filter(Boolean).slice(0, 20)
    const isSame = texts.length > 1 && new Set(texts).size === 1
    return {
      index,
      heading,
      words,
      field,
      weight,
      part: readPart(words, field),
      side: readSide(words),
      samples,
      isSame,
    }
  })
}

/** A column of Yes and No, or of 1 and 0, is no COD, and one of numbers no contents. */
const fits = (/** @type {string} */ field, /** @type {string} */ text) =>
  field === 'cod'
    ? ['ambiguous', 'fraction', 'unit', undefined].includes(readMoney(text).problem)
    : field !== 'description' || /\p{L}/u.test(text)

/**
 * Returns the options of a field: each a list of columns. The heaviest column wins; its parts are one option together.
 * @param {Column[]} columns @param {string} field
 */
const listOptions = (columns, field) => {
  const hasReceiver = columns.some(({ side, field: of }) => side === 'receiver' && placeAndPerson.includes(of))
  const isLeft = hasReceiver && [...placeAndPerson, ...ofTown].includes(field)
  const candidates = columns
    .filter(column => column.field === field && !(isLeft && column.side === 'payer'))
    .filter(({ samples }) => !(field === 'cod' && samples.includes('1') && samples.every(text => /^[01]$/.test(text))))
    .filter(({ samples }) => samples.length === 0 || samples.some(text => fits(field, text)))
  const heaviest = Math.max(...candidates.map(({ weight }) => weight))
  const winners = candidates.filter(({ weight }) => weight === heaviest)
  const parts = winners.filter(({ part }) => part > 0).sort((one, two) => one.part - two.part)
  const wholes = winners.filter(({ part }) => part === 0)
  if (wholes.length === 1 && parts.every(({ part }) => part > 1)) return [[...wholes, ...parts]]
  const isClear = parts.length > 0 && new Set(parts.map(({ part }) => part)).size === parts.length
  return [...wholes.map(column => [column]), ...(isClear ? [parts] : parts.map(part => [part]))]
}

/**
 * Fills what the heaviest columns leave: another phone of the same side is the second phone, a district beside the town
 * tells towns apart, and a plain Name beside the recipient's name is the order number, if it holds numbers.
 * @param {Column[]} columns @param {Map<number, string>} fields
 */
const fillRest = (columns, fields) => {
  const has = (/** @type {string} */ field) => [...fields.values()].includes(field)
  const isBeside = (/** @type {Column} */ { side }, /** @type {string} */ field) =>
    side !== 'sender' &&
    (side !== 'payer' || columns.some(each => fields.get(each.index) === field && each.side === side))
  const lost = (/** @type {string} */ field) =>
    columns.filter(column => column.field === field && !fields.has(column.index))
  const phone = columns.find(({ index }) => fields.get(index) === 'customer_phone')
  const others = lost('customer_phone').filter(({ side, weight }) => side === phone?.side && weight < phone.weight)
  if (others.length === 1 && !has('customer_secondary_phone')) fields.set(others[0].index, 'customer_secondary_phone')
  for (const column of columns) {
    const { index, words } = column
    if (fields.has(index)) continue
    if (has('destination') && isBeside(column, 'destination') && weigh(words, 'state_name'))
      fields.set(index, 'state_name')
    const isOwn = column.isSame && /^company/.test(words)
    if (has('customer_address') && isBeside(column, 'customer_address') && isOfAddress(words) && !isOwn)
      fields.set(index, 'customer_address')
  }
  const name = lost('customer_name').find(({ words }) => words === 'name')
  if (name && has('customer_name') && !has('order_no') && name.samples.every(text => /^[#a-z]{0,5}-?\d+$/i.test(text)))
    fields.set(name.index, 'order_no')
}

/** Gives each field its columns, or asks. @param {Column[]} columns */
const chooseFields = columns => {
  const fields = new Map()
  const asked = fieldNames.flatMap(field => {
    const options = listOptions(columns, field)
    if (options.length > 1) return [{ field, options: options.map(option => option.map(({ index }) => index)) }]
    for (const { index } of options[0] ?? []) fields.set(index, field)
    return []
  })
  fillRest(columns, fields)
  return { fields, asked }
}

/**
 * Chooses the columns of a sheet; `isPlain` ignores that its headings are those of a known export.
 * @param {Sheet} sheet @param {number} [headingRow] @param {boolean} [isPlain] @returns {Choice}
 */
export const chooseColumns = (sheet, headingRow = findHeadings(sheet), isPlain = false) => {
  const columns = listColumns(sheet, headingRow)
  const found = isPlain ? undefined : recognise(columns.map(({ heading }) => heading))
  if (found) {
    const names = columns.map(({ heading }) => heading.toLowerCase())
    const field = (/** @type {string} */ name, /** @type {number} */ index) =>
      (names.indexOf(name) === index && found.fields.get(name)) || ''
    const named = columns.map((each, index) => ({ ...each, field: field(names[index], index) }))
    return { headingRow, export: found.name, columns: named, asked: [] }
  }
  const { fields, asked } = chooseFields(columns)
  if (headingRow < 0) {
    const phones = columns.filter(({ samples }) => samples.some(looksLikePhone)).map(({ index }) => index)
    if (phones.length > 1) asked.push({ field: 'customer_phone', options: phones.map(index => [index]) })
    else for (const index of phones) fields.set(index, 'customer_phone')
  }
  const ofReceiver = columns.filter(({ index, side }) => side === 'receiver' && sided.includes(fields.get(index)))
  const replaced = ofReceiver.map(({ index }) => fields.get(index))
  if (replaced.includes('destination')) replaced.push(...ofTown)
  const others = chooseFields(columns.filter(({ side }) => side !== 'receiver')).fields
  const named = columns.map(each => {
    const [field = '', other] = [fields.get(each.index), others.get(each.index)]
    return { ...each, field, ...(!field && replaced.includes(other) && { other }) }
  })
  return { headingRow, columns: named, asked }
}

/** Gives a column to a field, and takes it from the columns that cannot share it. @param {Choice} choice */
export const assign = (choice, /** @type {number[]} */ indexes, /** @type {string} */ field) => ({
  ...choice,
  columns: choice.columns.map(column => {
    if (indexes.includes(column.index)) return { ...column, field }
    return column.field === field && !Object.hasOwn(joined, field) ? { ...column, field: '' } : column
  }),
  asked: choice.asked.filter(question => question.field !== field),
})
