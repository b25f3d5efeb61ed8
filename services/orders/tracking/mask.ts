import { parseIncompletePhoneNumber } from 'libphonenumber-js'

/** Keeps only the first letter of each word, "N*** P***", and nothing of a word of one letter. */
export const maskName = (name: string): string =>
  name
    .trim()
    .split(/\s+/)
    .map(word => {
      const [first = '', ...rest] = word
      return rest.length > 0 ? `${first}***` : '***'
    })
    .join(' ')

/** Returns the digits of a phone number as 0 to 9: Arabic and full-width digits count as well. */
export const readDigits = (phone: string): string => parseIncompletePhoneNumber(`+${phone}`).slice(1)

/** Keeps only the last two digits of a phone number with at least seven. */
export const maskPhone = (phone: string): string => {
  const digits = readDigits(phone)
  return digits.length >= 7 ? `***${digits.slice(-2)}` : '***'
}
