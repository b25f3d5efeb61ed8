import { readDigits, readPhone } from '@courier/shared/phone-number.ts'
import { type CountryCode, getCountryCallingCode, isSupportedCountry } from 'libphonenumber-js'
import { listStored } from '../database/phone-columns.ts'

/**
 * Limits the orders that a search reads. Names have no index: it would cost each booking more than searches are worth.
 */
export const maxSearched = 20_000

/**
 * Lists patterns of `customer_phone`: of the number that a text is, or of all numbers with the part that it is. Returns
 * an empty list for any other text.
 */
export const listPhonePatterns = (text: string, country: string): string[] => {
  if (/^[^\p{Nd}]*\p{L}/u.test(text)) return []
  const { key, number } = readPhone(text, country)
  return number === undefined
    ? listPhoneParts(text, country).map(part => `%${part}%`)
    : listStored(key, country).map(spelling => `${spelling}%`)
}

/** Lists the digits in `customer_phone` that a typed part of a phone number may stand for. */
export const listPhoneParts = (text: string, country: string): string[] => {
  const typed = readDigits(text)
  if (/\p{L}/u.test(text) || typed.length < 3) return []
  const code = isSupportedCountry(country) ? getCountryCallingCode(country as CountryCode) : ''
  const digits = typed.replace(/^00/, '')
  const national = digits.startsWith(code) ? digits.slice(code.length) : ''
  if (code && digits.startsWith('0')) return [digits, code + digits.slice(1)]
  return code && national.length >= 2 ? [digits, `0${national}`] : [digits]
}

/**
 * Selects the orders that have a text in their name or waybill number, or a part of a phone number, among the newest of
 * `from`.
 */
export const searchSql = (from: string, text: string, phoneParts: string): string => `
  select * from (${from} order by created_at desc, waybill_number desc limit ${maxSearched}) newest
  where strpos(lower(normalize(customer_name, NFC) collate "pg_c_utf8"), lower(${text}::text collate "pg_c_utf8")) > 0
    or strpos(lower(waybill_number), lower(${text}::text collate "C")) > 0
    or translate(customer_phone, ' -().', '') like any(${phoneParts}::text[])`
