/**
 * Returns the form in which names compare: without letter case and extra white space
 * (docs/merchants/contract.md#reading-rules).
 */
export const nameKey = (name: string): string => {
  const text = name.normalize('NFKC')
  return text.length > maxNameLength ? text : text.trim().replace(/\s+/g, ' ').toLowerCase()
}

/** Limits every name; normalization can turn one character into eighteen. */
const maxNameLength = 255
