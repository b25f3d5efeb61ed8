/** Where a text stops being JSON: `at position 17 (line 1 column 18)`. `error` is what JSON.parse threw for it. */
export const jsonErrorPosition = (text: string, error: unknown): string => {
  const message = String(error)
  const told = /at position \d+ \(line \d+ column \d+\)$/.exec(message)?.[0]
  if (told) return told
  // For these V8 gives no position, and quotes the text instead.
  const isCutOff = message.includes('end of JSON input')
  const offset = isCutOff ? text.length : findOffset(text)
  const lines = text.slice(0, offset).split(/\r\n|\n|\r/)
  const place = `at position ${offset} (line ${lines.length} column ${(lines.at(-1)?.length ?? 0) + 1})`
  return isCutOff ? `it ends too early, ${place}` : place
}

/** White space, a number or a word: whatever has no delimiters. */
const token = /[ \t\r\n]+|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** The first place where a value is missing or is none. */
const findOffset = (text: string): number => {
  let needsValue = true
  let at = 0
  while (at < text.length) {
    token.lastIndex = at
    const plain = token.exec(text)?.[0]
    const character = text[at] as string
    if (plain?.trim() === '') at += plain.length
    else if (plain !== undefined || character === '"') {
      at = plain === undefined ? endOfText(text, at) : at + plain.length
      needsValue = false
    } else {
      const isEmptyList = character === ']' && /\[[ \t\r\n]*$/.test(text.slice(Math.max(0, at - 64), at))
      if (!(needsValue ? isEmptyList || '{['.includes(character) : '}],:'.includes(character))) return at
      needsValue = '[,:'.includes(character)
      at++
    }
  }
  return text.length
}

const endOfText = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; at++)
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at + 1
  return text.length
}
