/** A name of which only the first letter of each word is told: "N*** P***". A word of one letter is not told at all. */
export const maskName = (name: string): string =>
  name
    .trim()
    .split(/\s+/)
    .map(word => {
      const [first = '', ...rest] = word
      return rest.length > 0 ? `${first}***` : '***'
    })
    .join(' ')

/** A phone number of which the last two digits are told, if it has at least seven. */
export const maskPhone = (phone: string): string => {
  const digits = phone.replace(/\D/g, '')
  return digits.length >= 7 ? `***${digits.slice(-2)}` : '***'
}
