// Checks rows before anything is booked: reads their cells, finds their cities, then prices them in a dry run.
import { ApiError, callOrders } from '../../kit/api.js'
import { getSession } from '../../kit/session.js'
import { chunk } from '../merchant.js'
import { askPhone, findProblem, readMoney, readWeight, splitPhones } from './numbers.js'
import { readSentence, wordRefusal } from './row-problems.js'

/** @import { Mark } from './other-cells.js' @import { Problem } from './row-problems.js' */
/** @typedef {{ id: number, name: string, state: string, postal_code?: string }} City */
/**
 * Describes a row of the sheet: `values` are its cells, `headings` the sheet's own and `errors` by field, '' for the
 * whole row. A mark is a doubt; `leftOut` says why the row is not booked; `isChanged`: a person has changed the row
 * since its check, which set `cod`, `price` and `currency`. `taken` is the order number that a
 * person books again, and `surePhone` a phone that a person books although no message reaches it. `shop` names the
 * order of a shop that the row is.
 * @typedef {{ line: number, values: Record<string, string>, headings?: Record<string, string>, weightUnit?: string,
 *   marks: Mark[], leftOut?: string, taken?: string, surePhone?: string, isChanged?: boolean, city?: City | null,
 *   alternatives?: City[], errors: Record<string, Problem[]>, warnings: ({ field: string } & Problem)[], cod?: number,
 *   price?: number, currency?: string,
 *   shop?: { shop_id: string, shop_order_id: string, seen_at: string } }} Row
 */
/** @typedef {{ merchant_business_id: string, origin_city_id: string, weight: string, allPrepaid?: boolean }} General */

const placesAtOnce = 1000
export const ordersAtOnce = 500

/** @param {General} general */
export const toGeneral = ({ merchant_business_id, origin_city_id }) => ({ merchant_business_id, origin_city_id })

const readCod = (/** @type {Row} */ { values }) => readMoney(values.cod ?? '', getSession().me?.tenant.currency)
const readKilograms = (/** @type {Row} */ { values, weightUnit }, /** @type {General} */ { weight }) =>
  values.weight ? readWeight(values.weight, weightUnit ?? 'kg') : readWeight(weight, 'kg')

/** @param {Row} row @param {General} general */
export const toOrder = (row, general) => {
  const {
    destination: _,
    state_name,
    postal_code,
    ...fields
  } = Object.fromEntries(Object.entries(row.values).filter(([, text]) => text !== ''))
  const [cod, weight] = [readCod(row).value, readKilograms(row, general).value]
  return { ...fields, ...row.shop, destination_city_id: row.city?.id, cod, weight }
}

const needed = ['customer_name', 'customer_phone', 'customer_address']

/** Lists the cells that nobody can read; COD has no default. @param {Row} row @param {General} general */
const readCells = (row, general) => {
  const { values } = row
  const hasSecond = getSession().me?.tenant.secondary_phone
  splitPhones(row, hasSecond)
  const lost = { field: 'customer_secondary_phone', code: 'second_phone_lost' }
  if (!hasSecond && values[lost.field] && !row.marks.some(({ code }) => code === lost.code)) row.marks.push(lost)
  if (general.allPrepaid && !values.cod?.trim()) values.cod = '0'
  const errors = /** @type {Row['errors']} */ ({})
  const add = (/** @type {string} */ field, /** @type {string | undefined} */ code) =>
    code && Object.assign(errors, { [field]: [{ code }] })
  for (const [field, text] of Object.entries(values)) add(field, findProblem(field, text))
  for (const field of needed) add(field, values[field] ? undefined : 'missing')
  add('cod', readCod(row).problem)
  add('weight', readKilograms(row, general).problem)
  for (const { field, ask, ...question } of row.marks) {
    const others = field === 'cod' && readCod(row).problem === 'missing' ? [] : errors[field]
    if (ask) errors[field] = [question, ...(others ?? [])]
  }
  return errors
}

/** Removes leading zeros, which spreadsheets lose. */
const toCode = (text = '') => text.trim().replace(/^0+/, '')

/** Sets what the service finds for the places of rows. @param {Row[]} rows */
const resolve = async (rows, isCoded = true) => {
  const places = rows.map(({ values: { destination, customer_address, state_name = '', postal_code = '' } }) => ({
    text: (destination || customer_address || '?').slice(0, 255),
    state_name: state_name.slice(0, 255),
    postal_code: isCoded ? postal_code.slice(0, 20) : '',
  }))
  const { data } = await callOrders('/city/resolve', { method: 'POST', body: { places } })
  for (const [index, { city, alternatives }] of data.entries()) Object.assign(rows[index], { city, alternatives })
}

/** Finds the city of each row that has no city. A postal code that no city has says nothing. @param {Row[]} rows */
const findCities = async rows => {
  const isUnknown = (/** @type {Row} */ { city, alternatives, values: { postal_code } }) =>
    !city && toCode(postal_code) && !alternatives?.some(each => toCode(each.postal_code) === toCode(postal_code))
  const lost = rows.filter(row => !row.city)
  for (const some of chunk(lost, placesAtOnce)) {
    await resolve(some)
    const unknown = some.filter(isUnknown)
    if (unknown.length > 0) await resolve(unknown, false)
    for (const row of some) if (!row.city) row.errors.destination = [{ code: 'no_city' }]
  }
}

/**
 * Books rows in a dry run. A refusal names all bad rows; the other rows run again, for their prices. Returns how many
 * messages may leave, where that is limited and known (docs/merchants/bulk-call.md#prices-without-orders).
 */
const tryBooking = async (/** @type {Row[]} */ rows, /** @type {General} */ general) => {
  for (let good = rows; good.length > 0; good = good.filter(row => !isBad(row))) {
    const body = { general_data: toGeneral(general), order_data: good.map(row => toOrder(row, general)) }
    const result = await callOrders('/order/bulk?dry_run=true', { method: 'POST', body }).catch(error => error)
    if (result instanceof ApiError) {
      if (result.status !== 422) throw result
      if (!addErrors(good, result.errors)) throw new ApiError(wordRefusal(result.errors) || result.message)
      continue
    }
    for (const [index, { delivery_charge: price, currency }] of result.data.entries())
      Object.assign(good[index], { price, currency })
    for (const { row, field, problem } of assign(good, result.warnings ?? {})) {
      if (field === 'customer_phone' && askPhone(row, problem.code)) continue
      row.warnings.push({ field, ...problem })
      if (problem.code === 'used_before' && row.taken !== row.values.order_no) row.leftOut = 'used'
    }
    return result.messages
  }
}

/** Assigns sentences to the rows and fields of their paths. */
const assign = (/** @type {Row[]} */ rows, /** @type {Record<string, string[]>} */ errors) =>
  Object.entries(errors).flatMap(([path, sentences]) => {
    const [, index, field = ''] = /^order_data\.(\d+)(?:\.(\w+))?/.exec(path) ?? []
    const row = rows[Number(index)]
    if (!row) return []
    const of = field.startsWith('destination_') ? 'destination' : field
    return sentences.map(sentence => ({ row, field: of, problem: readSentence(sentence, rows) }))
  })

/** Assigns the errors of a response to the rows. Returns false if no error is about a row. */
export const addErrors = (/** @type {Row[]} */ rows, /** @type {Record<string, string[]>} */ errors) => {
  const found = [...assign(rows, errors), ...findMissingRates(rows, errors['rate_card.destination_city_id'])]
  for (const { row, field, problem } of found) row.errors[field] = [problem]
  return found.length > 0
}

/** Finds all rows to a city without a rate: its sentence names only the first ten of them. */
const findMissingRates = (/** @type {Row[]} */ rows, /** @type {string[]} */ sentences = []) =>
  sentences.flatMap(sentence => {
    const city = rows[Number(/ order_data\.(\d+)/.exec(sentence)?.[1])]?.city
    const problem = { code: 'no_rate', city: `${city?.name}, ${city?.state}` }
    return rows.filter(row => city && row.city?.id === city.id).map(row => ({ row, field: 'destination', problem }))
  })

export const isBad = (/** @type {Row} */ row) => Object.keys(row.errors).length > 0
/** Returns false also for a row that was not checked, such as after a lost connection. */
export const isGood = (/** @type {Row} */ row) => row.price !== undefined && !row.isChanged && !isBad(row)

/**
 * Checks rows, and sets their errors, warnings and prices. The last dry run says how many messages may leave:
 * returns that.
 * @param {Row[]} rows @param {General} general
 */
export const checkRows = async (rows, general, /** @type {(done: number) => void} */ onProgress) => {
  for (const row of rows) {
    Object.assign(row, { errors: readCells(row, general), warnings: [], price: undefined, isChanged: false })
    row.cod = readCod(row).value
  }
  await findCities(rows)
  const good = rows.filter(row => !isBad(row))
  let messages
  for (const [index, some] of chunk(good, ordersAtOnce).entries()) {
    messages = await tryBooking(some, general)
    onProgress(index * ordersAtOnce + some.length)
  }
  return messages
}
