// Finds the names of people of whom the notifier knows only the phone number.
import { callOrders, withQuery } from '../kit/api.js'
import { t } from '../kit/i18n.js'
import { getSession, may } from '../kit/session.js'
import { useLive } from '../kit/ui.js'

/** @type {Map<string, Promise<string | undefined>>} */
const names = new Map()

/** Reads the name on the newest parcel to a phone number, once for each number. @param {string} phone */
const readName = phone => {
  const key = `${getSession().tenant} ${phone}`
  const read = () =>
    callOrders(withQuery('/order', { phone: `+${phone}`, per_page: 1 })).then(
      ({ data }) => data[0]?.customer_name,
      () => void names.delete(key),
    )
  const name = names.get(key) ?? read()
  names.set(key, name)
  return name
}

/** Returns the name of the person with a phone number, in E.164 digits; undefined: no parcel names one. */
export const useCustomerName = (/** @type {string | null} */ phone) =>
  useLive(() => (phone && may('listAllOrders') ? readName(phone) : Promise.resolve(undefined)), 0, [phone]).data

/** Shows the name of the person with a phone number; if there is none, the word for a customer. */
export const CustomerName = ({ phone }) => useCustomerName(phone) ?? t('field.customer_name')
