// Words what is wrong with a row in the language of the desk. Recognises the sentences of the service, which never
// change (docs/merchants/contract.md#other-requests), because they name fields and rows as programs do.
import { named, t } from '../../kit/i18n.js'

/** @typedef {{ code: string } & Record<string, unknown>} Problem `row.CODE` is its text; the rest is filled in. */

const sentences = /** @type {[RegExp, string][]} */ ([
  [/^The waybill number field is required/, 'own_waybills'],
  [/^The order is booked as (?<waybill>\S+)\.$/, 'shop_booked'],
  [/^The (shop has changed the order|order is being booked)/, 'shop_changed'],
  [/field is required/, 'missing'],
  [/not be greater than (?<max>\d+) characters/, 'too_long'],
  [/must be an integer/, 'fraction'],
  [/must be a number above 0/, 'weight'],
  [/null character/, 'replaced_characters'],
  [/selected destination .* is invalid/, 'no_city'],
  [/selected (origin .*|merchant business id) is invalid/, 'begin_again'],
  [/assign a rate card/, 'no_card'],
  [/^No rate card is assigned .* to (?<city>.+ in .+?)(?:, for order_data.*|\.)$/, 'no_rate'],
  [/^Fewer waybill numbers/, 'no_numbers'],
  [/seems to hold two numbers/, 'two_phones'],
  [/is no phone number/, 'no_phone'],
  [/^The order looks like order_data\.(?<index>\d+)(?: and (?<more>\d+) more)?/, 'repeat'],
  [/is that of order_data\.(?<index>\d+)(?: and (?<more>\d+) more)?/, 'repeated_no'],
  [/^The order looks like (?<waybill>\S+) of the last/, 'alike'],
  [/is that of (?<waybill>\S+) of the last/, 'used_no'],
  [/is that of (?<waybill>\S+), booked on (?<day>\S+), too/, 'used_before'],
  [/was that of (?<waybill>\S+), booked on (?<day>\S+) and cancelled/, 'cancelled_before'],
  [/^None of your last (?<count>\d+) orders went to (?<city>.+): check/, 'new_city'],
  [/^None of your last (?<count>\d+) orders weighed more than (?<max>[\d.]+) kg/, 'heavy'],
  [/^(?<returned>\d+) of the last (?<count>\d+) parcels to this phone number came back/, 'returns'],
])

/**
 * Reads a sentence of the service. Another sentence stays as it is, but names the sheet's rows.
 * @param {string} sentence @param {{ line: number }[]} rows of the request @returns {Problem}
 */
export const readSentence = (sentence, rows = []) => {
  for (const [form, code] of sentences) {
    const found = form.exec(sentence)
    if (!found) continue
    const { index, more, ...values } = found.groups ?? {}
    const line = rows[Number(index)]?.line
    return { code, ...values, ...(index && { line, more: more ? ` (+${more})` : '' }) }
  }
  const nameRow = (/** @type {string} */ path, /** @type {string} */ index) =>
    rows[Number(index)] ? t('upload.line', { line: rows[Number(index)].line }) : path
  return { code: 'other', text: sentence.replace(/\border_data\.(\d+)/g, nameRow) }
}

/** @param {Problem} problem */
export const wordProblem = ({ code, ...values }) =>
  Object.keys(values).length > 0 ? t(`row.${code}`, values) : named('row', code)

/** Names the column of a field as the sheet does. @param {{ headings?: Record<string, string> }} row */
export const nameColumn = (row, /** @type {string} */ field) => row.headings?.[field] || t(`field.${field}`)

/** Words the errors of a response that are about no row. @param {Record<string, string[]>} errors */
export const wordRefusal = errors =>
  Object.entries(errors)
    .filter(([path]) => !/^(order_data\.\d|rate_card)/.test(path))
    .flatMap(([, sentences]) => sentences.map(sentence => wordProblem(readSentence(sentence))))
    .join(' ')
