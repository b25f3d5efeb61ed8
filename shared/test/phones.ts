import { type CountryCode, getCountries, getCountryCallingCode, parsePhoneNumberFromString } from 'libphonenumber-js'
import examples from 'libphonenumber-js/examples.mobile.json'

const codes = [...new Set(getCountries().map(country => getCountryCallingCode(country)))].toSorted()

/** Lists countries whose numbers have 10 or 11 digits without the code, then those with 9 or 8. */
const countries = `NG IN US CA CN BR MX RU TR PK BD PH ID JP KR GB DE IT AT AR CO VE EG NP
  LK KE ZA GH TZ AU FR ES PL UA SA AE SG HK NO QA`.split(/\s+/) as CountryCode[]

const read = (number: string) => {
  const found = parsePhoneNumberFromString(number)
  return found?.isValid() && found.number === number ? found : undefined
}

/** Finds another valid number with the last nine digits of a number, of the same country if it has one. */
const findTwin = (number: string, country: CountryCode) => {
  const end = number.slice(-9)
  const own = `+${getCountryCallingCode(country)}`
  const free = number.length - 9 - own.length
  const starts = free > 0 ? Array.from({ length: 10 ** free }, (_, n) => own + String(n).padStart(free, '0')) : []
  const others = codes.flatMap(code => ['', '1', '7', '9'].map(more => `+${code}${more}`))
  const start = [...starts, ...others].find(start => start + end !== number && read(start + end))
  return read(`${start}${end}`)
}

/** Holds, for each of 40 countries, two numbers that differ only before their last nine digits. */
export const sameDigits = countries.map(country => {
  const one = parsePhoneNumberFromString(examples[country], country)
  const other = one && findTwin(one.number, country)
  if (!other) throw new Error(`${country} has no two such numbers`)
  return { country, one, other }
})
