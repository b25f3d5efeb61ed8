/** A longer text is no waybill number, however many blanks it has. */
const maxTypedLength = 100

/**
 * How the waybill number that somebody typed may be stored, the likeliest first: without its blanks, and with capitals.
 * No format has blanks, but one may have lower-case letters, so an order spelt as it was typed comes before one in
 * capitals.
 */
export const spellWaybill = (typed: string): string[] => {
  if (typed.length > maxTypedLength) return [typed]
  const plain = typed.replace(/\s/g, '')
  return [...new Set([plain, plain.toUpperCase()])]
}
