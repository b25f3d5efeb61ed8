// Words acts and parcels in the rider's language.

import { companyMoney, dateTime, t } from '../kit/i18n.js'

/** @param {import('./queue.js').Act} act */
export const sumUp = ({ kind, waybill_number: waybill, amount, happened_at }) =>
  [t(`act.${kind}`), waybill, amount ? companyMoney(amount) : '', dateTime(happened_at)].filter(Boolean).join(' · ')

/** Returns the address of a route to a parcel: of an app for maps, or of a page. */
export const mapLinks = ({ customer_address: address, city, state_name: state }) => {
  const query = encodeURIComponent([address, city, state].filter(Boolean).join(', '))
  const web = `https://www.google.com/maps/search/?api=1&query=${query}`
  return { web, app: /Android/.test(navigator.userAgent) ? `geo:0,0?q=${query}` : web }
}
