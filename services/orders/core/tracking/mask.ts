import { readDigits } from '@courier/shared/phone-number.ts'

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

/** Keeps only the last two digits of a phone number with at least seven. */
export const maskPhone = (phone: string): string => {
  const digits = readDigits(phone)
  return digits.length >= 7 ? `***${digits.slice(-2)}` : '***'
}
