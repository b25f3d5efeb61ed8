// The merchant's own operations, and the choices that forms offer.
import { orders, withQuery } from '../kit/api.js'
import { getSession } from '../kit/session.js'

/** @param {string} path such as /order @param {import('../kit/api.js').Options} [options] */
export const merchant = (path, options = {}) => orders(`/api/public/merchant${path}`, options)

const label = (/** @type {any} */ city) => ({ id: String(city.id), label: `${city.name}, ${city.state.name}` })

/** @param {{ id?: string, name?: string }} wanted @param {AbortSignal} signal */
export const findCities = async ({ id, name = '' }, signal) => {
  const path = withQuery('/city', { id, name: name.replace(/,.*/, ''), per_page: 20 })
  return (await merchant(path, { signal })).data.map(label)
}

/** @param {AbortSignal} signal */
export const readBusinesses = async signal =>
  (await merchant('/business?noPagination=1', { signal })).data.map(({ id, name }) => ({ id: String(id), label: name }))

/** What this browser remembers for the merchant: the fields of headings, the business, the origin, the usual weight. */
const remembered = () => `courier.desk ${getSession().tenant} ${getSession().me?.email}`
export const recall = () => JSON.parse(localStorage.getItem(remembered()) ?? '{}')
export const remember = (/** @type {object} */ values) =>
  localStorage.setItem(remembered(), JSON.stringify({ ...recall(), ...values }))
