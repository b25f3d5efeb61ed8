/**
 * Lists the characters that each font of labels holds, as classes of a regular expression, in the order of choice. A
 * test compares them with the files. The numerals of old Sinhala stand apart: the check of slow patterns knows no
 * classes beyond U+FFFF.
 */
export const fontCharacters = {
  latin:
    ' -~\\u00a0-\\u00ff\\u0131\\u0152\\u0153\\u02bb\\u02bc\\u02c6\\u02da\\u02dc\\u0300\\u0301\\u0303\\u0304\\u0308\\u0309' +
    '\\u0323\\u0329\\u2002\\u2009\\u200b\\u2013\\u2014\\u2018-\\u201a\\u201c-\\u201e\\u2022\\u2026\\u2032\\u2033\\u2039' +
    '\\u203a\\u2044\\u20ac\\u2122\\u2212\\ufeff\\ufffd',
  'latin-ext':
    '\\u0100-\\u0130\\u0132-\\u0151\\u0154-\\u02ba\\u02bd-\\u02c5\\u02c7-\\u02cc\\u02ce-\\u02d7\\u02dd-\\u02ff' +
    '\\u1d00-\\u1dbf\\u1e00-\\u1e9f\\u1ef2-\\u1eff\\u2020\\u20a0-\\u20ab\\u20ad-\\u20c0\\u2113\\u2c60-\\u2c7f' +
    '\\ua720-\\ua7ca\\ua7d0\\ua7d1\\ua7d3\\ua7d5-\\ua7d9\\ua7f2-\\ua7ff',
  sinhala:
    '\\u0964\\u0965\\u0d81-\\u0d83\\u0d85-\\u0d96\\u0d9a-\\u0db1\\u0db3-\\u0dbb\\u0dbd\\u0dc0-\\u0dc6\\u0dca' +
    '\\u0dcf-\\u0dd4\\u0dd6\\u0dd8-\\u0ddf\\u0de6-\\u0def\\u0df2-\\u0df4\\u200c\\u200d\\u25cc',
  tamil:
    '\\u0b82\\u0b83\\u0b85-\\u0b8a\\u0b8e-\\u0b90\\u0b92-\\u0b95\\u0b99\\u0b9a\\u0b9c\\u0b9e\\u0b9f\\u0ba3\\u0ba4' +
    '\\u0ba8-\\u0baa\\u0bae-\\u0bb9\\u0bbe-\\u0bc2\\u0bc6-\\u0bc8\\u0bca-\\u0bcd\\u0bd0\\u0bd7\\u0be6-\\u0bfa',
} as const

export const isOldNumeral = (character: string): boolean => character >= '\u{111e1}' && character <= '\u{111f4}'

/** Finds the first character beyond ASCII; most texts have none. */
const special = /[^ -~]/
const unprintable = new RegExp(`[^\\s${Object.values(fontCharacters).join('')}]`, 'gu')
const codePoint = (character: string): string =>
  `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`

/**
 * Returns what labels print for a character that no font holds: nothing for an invisible one, letters that mean the
 * same, such as `fi` for a ligature, or the letter without its marks. undefined: no letter prints it.
 */
const replaceUnprintable = (character: string): string | undefined => {
  if (isOldNumeral(character)) return character
  if (/[\p{Default_Ignorable_Code_Point}\p{Cc}]/u.test(character)) return ''
  const simple = character.normalize('NFKD').replace(/\p{Script=Inherited}/gu, '')
  return simple.search(unprintable) < 0 ? simple : undefined
}

/** Returns the text as labels print it: a character that no font shows becomes its code point, such as `[U+4E2D]`. */
export const toPrintable = (text: string): string =>
  !special.test(text)
    ? text
    : text
        .normalize('NFC')
        .replace(unprintable, character => replaceUnprintable(character) ?? `[${codePoint(character)}]`)

/** Lists the characters that labels print as code points, each once. Costs hardly anything for plain text. */
const findUnprintable = (text: string | null | undefined): string[] => {
  if (!text || !special.test(text) || text.search(unprintable) < 0) return []
  const odd = text.normalize('NFC').match(unprintable) ?? []
  return [...new Set(odd)].filter(character => replaceUnprintable(character) === undefined)
}

const maxNamed = 5
const wordSome = (all: readonly string[], separator: string): string =>
  all.slice(0, maxNamed).join(separator) + (all.length > maxNamed ? ` and ${all.length - maxNamed} more` : '')

/** Lists the code points that labels print in place of the characters of texts: `U+4E2D`. Empty: there are none. */
export const listCodePoints = (texts: readonly (string | null | undefined)[]): string =>
  wordSome([...new Set(texts.flatMap(findUnprintable))].map(codePoint), ' ')

/** Warns of characters that labels print as code points; undefined: there are none. */
export const warnUnprintable = (text: string | null | undefined): string | undefined => {
  const odd = findUnprintable(text)
  if (odd.length === 0) return undefined
  const named = wordSome(
    odd.map(character => `${character} (${codePoint(character)})`),
    ', ',
  )
  return `Labels have no letter for ${named}: they print the code in its place.`
}
