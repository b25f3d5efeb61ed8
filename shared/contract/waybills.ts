/** Limits the text that can be a waybill number, spaces included. */
const maxTypedLength = 100

/** Matches text that has one spelling: ASCII without blanks or lower-case letters. */
export const hasOneSpelling = /^[\x21-\x60\x7b-\x7e]*$/

/**
 * Lists the forms in which a typed waybill number may be stored, the likeliest first: without its spaces, then also in
 * capitals. No format has spaces, but one may have lower-case letters, so the typed spelling comes first.
 */
export const spellWaybill = (typed: string): string[] => {
  if (typed.length > maxTypedLength || hasOneSpelling.test(typed)) return [typed]
  const plain = typed.replace(/\s/g, '')
  return [...new Set([plain, plain.toUpperCase()])]
}
