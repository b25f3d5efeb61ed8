// Checks rows before anything is booked: finds their cities, then prices them in a dry run.
import { ApiError, own } from '../../kit/api.js'
import { chunk } from '../merchant.js'
import { readNumber } from '../read-sheet.js'

/**
 * Describes a row of the sheet: `values` are its cells by field; `errors` are by field, '' for the whole row.
 * @typedef {{ line: number, values: Record<string, string>, city?: { id: number, name: string, state: string } | null,
 *   alternatives?: { id: number, name: string, state: string }[], errors: Record<string, string[]>, warnings: string[],
 *   price?: number }} Row
 */
/** @typedef {{ merchant_business_id: string, origin_city_id: string, weight: string }} General */

const placesAtOnce = 1000
export const ordersAtOnce = 500

/** @param {General} general */
export const toGeneral = ({ merchant_business_id, origin_city_id }) => ({ merchant_business_id, origin_city_id })

/** @param {Row} row @param {General} general */
export const toOrder = ({ values, city }, { weight }) => {
  const { destination: _, ...fields } = Object.fromEntries(Object.entries(values).filter(([, text]) => text !== ''))
  return {
    ...fields,
    destination_city_id: city?.id,
    cod: readNumber(values.cod || '0'),
    weight: readNumber(values.weight || weight),
  }
}

/** Finds the city of each row that has no city. @param {Row[]} rows @param {string} noCity */
const findCities = async (rows, noCity) => {
  for (const some of chunk(
    rows.filter(row => !row.city),
    placesAtOnce,
  )) {
    const places = some.map(({ values }) => ({
      text: (values.destination || values.customer_address || '?').slice(0, 255),
    }))
    const { data } = await own('/city/resolve', { method: 'POST', body: { places } })
    for (const [index, row] of some.entries()) {
      row.city = data[index].city
      row.alternatives = data[index].alternatives
      if (!row.city) row.errors.destination = [noCity]
    }
  }
}

/** Books rows in a dry run. A refusal names all bad rows; the other rows run again, for their prices. */
const tryBooking = async (/** @type {Row[]} */ rows, /** @type {General} */ general) => {
  for (let good = rows; good.length > 0; good = good.filter(row => Object.keys(row.errors).length === 0)) {
    const body = { general_data: toGeneral(general), order_data: good.map(row => toOrder(row, general)) }
    const result = await own('/order/bulk?dry_run=true', { method: 'POST', body }).catch(error => error)
    if (result instanceof ApiError) {
      if (result.status !== 422 || !addErrors(good, result.errors)) throw result
      continue
    }
    for (const [index, { delivery_charge }] of result.data.entries()) good[index].price = delivery_charge
    for (const [path, sentences] of Object.entries(result.warnings ?? {}))
      good[Number(path.split('.')[1])]?.warnings.push(.../** @type {string[]} */ (sentences))
    return
  }
}

/** Assigns the errors of a response to the rows. Returns false if no error is about a row. */
export const addErrors = (/** @type {Row[]} */ rows, /** @type {Record<string, string[]>} */ errors) => {
  let isOfRow = addMissingRates(rows, errors['rate_card.destination_city_id'] ?? [])
  for (const [path, sentences] of Object.entries(errors)) {
    const [, index, field = ''] = /^order_data\.(\d+)(?:\.(\w+))?/.exec(path) ?? []
    const row = index === undefined ? undefined : rows[Number(index)]
    if (!row) continue
    isOfRow = true
    row.errors[field.startsWith('destination_') ? 'destination' : field] = sentences
  }
  return isOfRow
}

/**
 * Assigns each missing rate to all rows to its city: the sentence names only the first ten of them. Returns false if
 * no sentence names a row.
 */
const addMissingRates = (/** @type {Row[]} */ rows, /** @type {string[]} */ sentences) => {
  const isTo = (/** @type {Row} */ { city }, /** @type {string} */ sentence) =>
    city && city.id === rows[Number(/ order_data\.(\d+)/.exec(sentence)?.[1])]?.city?.id
  const named = sentences.flatMap(sentence => rows.filter(row => isTo(row, sentence)).map(row => ({ row, sentence })))
  for (const { row, sentence } of named) row.errors.destination = [sentence.replace(/, for order_data\..*$/, '.')]
  return named.length > 0
}

/**
 * Checks rows, and sets their errors, warnings and prices. @param {Row[]} rows @param {General} general
 * @param {string} noCity the error of a row whose city is unclear @param {(done: number) => void} onProgress
 */
export const checkRows = async (rows, general, noCity, onProgress) => {
  for (const row of rows) Object.assign(row, { errors: {}, warnings: [], price: undefined })
  await findCities(rows, noCity)
  let done = 0
  for (const some of chunk(
    rows.filter(row => row.city),
    ordersAtOnce,
  )) {
    await tryBooking(some, general)
    done += some.length
    onProgress(done)
  }
}
