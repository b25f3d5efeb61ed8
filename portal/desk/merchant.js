// Sends the requests that several screens share, and keeps the values that the browser remembers for them.

import { saveFile } from '../kit/actions.js'
import { ApiError, callOrders } from '../kit/api.js'
import { getSession, ofBrowser, readStored } from '../kit/session.js'

const pause = (/** @type {number} */ seconds) => new Promise(resolve => setTimeout(resolve, seconds * 1000))
const maxTries = 6

/**
 * Sends a repeatable request, and repeats the request after a failure that may be temporary.
 * @template Result
 * @param {() => Promise<Result>} send
 */
export const retry = async send => {
  for (let tries = 1; ; tries++) {
    const result = await send().catch(error => error)
    if (!(result instanceof Error)) return result
    if (!(result instanceof ApiError) || result.againAfter === 0 || tries === maxTries) throw result
    await pause(Math.min(result.againAfter, 2 ** tries))
  }
}

/** @template Item @param {Item[]} items @param {number} size @returns {Item[][]} */
export const chunk = (items, size) =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size))

const labelsAtOnce = 500

/** Saves the labels of parcels, four on each page. Returns what their print warns of. @param {string[]} waybills */
export const saveLabels = async waybills => {
  const warnings = []
  for (const [index, waybill_numbers] of chunk(waybills, labelsAtOnce).entries()) {
    const body = { waybill_numbers, layout: 'a4x4' }
    const file = await callOrders('/order/labels', { method: 'POST', body, as: 'blob' })
    warnings.push(saveFile(file, `labels-${index + 1}.pdf`) ?? [])
  }
  return warnings.flat().join(' ')
}

/** @param {AbortSignal} signal */
export const readBusinesses = async signal =>
  (await callOrders('/business?noPagination=1', { signal })).data.map(({ id, name }) => ({
    id: String(id),
    label: name,
  }))

/** Reads the names of the statuses in which orders begin, and whether the company lets merchants confirm a draft. */
export const readStatuses = async (/** @type {AbortSignal} */ signal) => {
  const { data } = await callOrders('/order/status-list', { signal })
  const [draft, confirmed] = ['key_1', 'key_2'].map(key => data.find(status => status.key === key))
  const mayConfirm = confirmed?.before_statuses.includes('key_1') ?? false
  return { draft: draft?.name ?? '', confirmed: confirmed?.name ?? '', mayConfirm }
}

/** Returns the storage key of a person's values in this browser: fields by heading, business, origin, usual weight. */
const remembered = () => `courier.desk ${getSession().tenant} ${getSession().me?.email}`
export const recall = () => readStored(remembered(), {}, ofBrowser)
export const remember = (/** @type {object} */ values) =>
  ofBrowser.set(remembered(), JSON.stringify({ ...recall(), ...values }))
