/**
 * Returns the form in which names compare: without letter case and extra white space
 * (docs/merchants/contract.md#reading-rules).
 */
export const nameKey = (name: string): string => {
  const text = name.normalize('NFKC')
  return text.length > maxNameLength ? text : text.trim().replace(/\s+/g, ' ').toLowerCase()
}

/** Lists the Unicode forms in which a text may be stored: they look the same. */
export const listForms = (text: string): string[] => [...new Set([text, text.normalize('NFC'), text.normalize('NFD')])]

/** Limits every name; normalization can turn one character into eighteen. */
const maxNameLength = 255
