// Writes texts, numbers and times in the language of the person. The texts stand in texts.json of the kit and of each
// face, as `key: [English, Sinhala, Tamil]`; `{name}` is filled in. The service serves them by language.
import { getSession, ofBrowser } from './session.js'

export const languages = { en: 'English', si: 'සිංහල', ta: 'தமிழ்' }
let language = 'en'
/** Maps each language to the locale in which it writes numbers and dates. */
const locales = { en: 'en-GB', si: 'si-LK', ta: 'ta-LK' }
/** @type {Record<string, string>} */
let texts = {}

export const getLanguage = () => language

/** Reads the texts of the kit and of the face. @param {string} wanted */
export const setLanguage = async wanted => {
  const name = Object.hasOwn(languages, wanted) ? wanted : 'en'
  texts = (await import(new URL(`texts/${name}.js`, document.baseURI).href)).default
  language = name
  document.documentElement.lang = name
  ofBrowser.set('courier.language', name)
}

/** Returns the language chosen before, or else the browser's language. */
export const readLanguage = () => ofBrowser.get('courier.language') ?? navigator.language.slice(0, 2)

/** Returns a text with `{name}` filled in. @param {string} key @param {Record<string, unknown>} [values] */
export const t = (key, values = {}) =>
  (texts[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ''))

/**
 * Returns the text of a value that a service names, or the name itself if it has no text.
 * @param {string} group
 * @param {string} name
 */
export const named = (group, name) => {
  const key = `${group}.${name}`
  return Object.hasOwn(texts, key) ? t(key) : name.replaceAll('_', ' ')
}

/** Translates the name of a default status. A company's own statuses are not translated. @param {string} name */
export const statusName = name => texts[`status.${name}`] ?? name

/** @param {number} value */
export const number = value => value.toLocaleString(locales[language])

/** @param {number | string} amount @param {string} currency */
export const money = (amount, currency) => {
  const { tenant } = getSession().me ?? {}
  const decimals = currency === tenant?.currency ? tenant.decimals : 2
  const digits = { minimumFractionDigits: Number.isInteger(Number(amount)) ? 0 : decimals, maximumFractionDigits: 4 }
  return `${currency} ${Number(amount).toLocaleString(locales[language], digits)}`
}

/** Writes an amount in the currency of the company. @param {number} amount */
export const companyMoney = amount => money(amount, getSession().me?.tenant.currency ?? '')

/** Returns the smallest amount of the company's currency, for the steps of inputs. */
export const smallest = () => {
  const decimals = getSession().me?.tenant.decimals ?? 2
  return (10 ** -decimals).toFixed(decimals)
}

/** Formats in the company's time zone. @param {Intl.DateTimeFormatOptions} options */
const format = options => (/** @type {string} */ iso) =>
  new Intl.DateTimeFormat(locales[language], { ...options, timeZone: getSession().me?.tenant.time_zone }).format(
    new Date(iso),
  )

export const dateTime = format({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
export const time = format({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

const stamp = (/** @type {Intl.DateTimeFormatOptions} */ options) => (/** @type {number | string | Date} */ at) =>
  new Intl.DateTimeFormat('sv-SE', { ...options, timeZone: getSession().me?.tenant.time_zone }).format(new Date(at))

/** Writes the company's day at a time, such as 2026-02-19. */
export const companyDay = stamp({ dateStyle: 'short' })
const companyTime = stamp({ dateStyle: 'short', timeStyle: 'medium' })

/** Returns the instant at which the company's clock shows a local time, such as 2026-02-19T23:59:59, as ISO 8601. */
export const fromCompanyTime = (/** @type {string} */ local) => {
  const wanted = Date.parse(`${local}Z`)
  const ahead = (/** @type {number} */ at) => Date.parse(`${companyTime(at).replace(' ', 'T')}Z`) - at
  // The zone's distance from UTC may differ between the first guess and the instant itself.
  return new Date(wanted - ahead(wanted - ahead(wanted))).toISOString()
}

/** @param {string} iso @param {string} timeZone */
export const day = (iso, timeZone) =>
  new Intl.DateTimeFormat(locales[language], { day: 'numeric', month: 'short', timeZone }).format(new Date(iso))

/** Returns minutes since midnight. @param {string} iso @param {string} timeZone */
export const minuteOfDay = (iso, timeZone) => {
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone })
  const [hours, minutes] = clock.format(new Date(iso)).split(':').map(Number)
  return hours * 60 + minutes
}
