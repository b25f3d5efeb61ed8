/** A tenant's words for it. */
export interface Words {
  readonly stopWords: readonly string[]
  readonly startWords: readonly string[]
}

/** What a person asks for by writing one of the words: no more messages, or messages again. */
export type Wish = 'stop' | 'start'

/** Blanks around it, case and the width of letters do not matter. */
const plain = (text: string): string => text.normalize('NFKC').trim().toLowerCase()

/** The wish in what a person wrote or tapped: the whole of it must be one of the words. */
export const wishOf = (texts: readonly (string | undefined)[], { stopWords, startWords }: Words): Wish | undefined => {
  const said = new Set(texts.filter(text => text !== undefined).map(plain))
  const isSaid = (word: string): boolean => plain(word) !== '' && said.has(plain(word))
  if (stopWords.some(isSaid)) return 'stop'
  return startWords.some(isSaid) ? 'start' : undefined
}
