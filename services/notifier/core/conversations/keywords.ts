/** Holds a text prepared for comparison: its words, or the text itself if it has none. */
interface Phrase {
  readonly words: readonly string[]
  readonly exact: string
}

export interface Keywords {
  readonly stop: readonly Phrase[]
  readonly noThanks: readonly Phrase[]
  readonly start: readonly Phrase[]
}

export type Keyword = 'stop' | 'start'
/** `no thanks` opts out of marketing messages alone. */
export type KeywordChoice = Keyword | 'no thanks'

/** CANCEL, END and QUIT are missing: to a courier they are about the parcel. */
const defaultStopWords = `STOP,STOPALL,UNSUBSCRIBE,OPT OUT,OPTOUT,නවත්වන්න,නවතන්න,නවත්තන්න,ස්ටොප්,
  நிறுத்து,நிறுத்தவும்,நிறுத்துங்கள்,ஸ்டாப்`.split(/,\s*/)
/** These words may answer anything, most often an offer: they refuse all messages only beside a word for messages. */
const noThanksWords = ['එපා', 'வேண்டாம்']
const defaultStartWords = ['START', 'ආරම්භ කරන්න', 'පටන් ගන්න', 'தொடங்கு', 'தொடங்கவும்']

/** Stands for the default keywords: the words of a company that names none (docs/operators/company-files.md). */
export const unnamed = { stop: ['STOP'], start: ['START'] }
const isUnnamed = (words: readonly string[], kind: Keyword): boolean => words.join() === unnamed[kind].join()

/** Reads stored keywords. */
export const readKeywords = (stopWords: readonly string[], startWords: readonly string[]): Keywords => ({
  stop: (isUnnamed(stopWords, 'stop') ? defaultStopWords : stopWords).map(readPhrase),
  noThanks: isUnnamed(stopWords, 'stop') ? noThanksWords.map(readPhrase) : [],
  start: (isUnnamed(startWords, 'start') ? defaultStartWords : startWords).map(readPhrase),
})

/** Limit a text in UTF-16 units, and a sentence in words: a longer one contains more than a keyword. */
const maxLength = 100
const maxWords = 6

const messageWords = new Set(
  `message messages msg msgs sms texts whatsapp notification notifications alerts updates spam
  පණිවිඩ පණිවිඩය පනිවිඩ මැසේජ් செய்தி செய்திகள் செய்திகளை குறுஞ்செய்தி குறுஞ்செய்திகள் மெசேஜ்`.match(/\S+/g),
)
/** These words may surround the keyword in a sentence that asks for nothing else. */
const anywhere = messageWords.union(
  new Set(
    `please pls plz kindly thanks thank thx now hi hello dear sir madam
    කරුණාකර කරුණාකරලා ස්තූතියි ස්තුතියි එවන එවන්න එවීම යැවීම තව තවත් සියලු සියලුම
    தயவு செய்து தயவுசெய்து நன்றி அனுப்ப அனுப்புவதை இனி எல்லா அனைத்து`.match(/\S+/g),
  ),
)
/** These words may only follow the keyword; before the keyword they would make it the object: "text me the stop". */
const afterwards = new Set('me you to all any more the these those your sending texting messaging'.split(' '))

/** Returns the words of a text, which have letters and digits alone: no punctuation, emoji or formatting characters. */
const splitWords = (text: string): string[] =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\p{Cf}|[\ufe00-\ufe0f]/gu, '')
    .match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu) ?? []

const readPhrase = (text: string): Phrase => ({
  words: splitWords(text),
  exact: text.normalize('NFKC').trim().toLowerCase(),
})

/** Returns true for the keyword alone, with any punctuation. */
const isKeyword = ({ words, exact }: Phrase, keyword: Phrase): boolean =>
  keyword.words.length > 0
    ? words.join(' ') === keyword.words.join(' ')
    : keyword.exact !== '' && exact === keyword.exact

/** Returns true for a short sentence with the keyword: "Please stop sending messages", not "Stop at the gate". */
const isSentence = ({ words }: Phrase, keyword: Phrase): boolean => {
  if (keyword.words.length === 0 || words.length > maxWords) return false
  const at = words.findIndex((_, start) => keyword.words.every((word, offset) => words[start + offset] === word))
  const mayFollow = (word: string): boolean =>
    anywhere.has(word) || afterwards.has(word) || keyword.words.includes(word)
  return at >= 0 && words.slice(0, at).every(word => anywhere.has(word)) && words.slice(at).every(mayFollow)
}

/** Returns the keyword that texts contain. A sentence may opt out; to opt in, the keyword must stand alone. */
export const findKeyword = (texts: readonly (string | undefined)[], { stop, noThanks, start }: Keywords) => {
  const given = texts
    .filter(text => text !== undefined)
    .map(text => text.trim())
    .filter(text => text.length <= maxLength)
    .map(readPhrase)
  const say = (keywords: readonly Phrase[]) =>
    given.find(text => keywords.some(word => isKeyword(text, word) || isSentence(text, word)))
  if (say(stop)) return 'stop'
  const refusal = say(noThanks)
  if (refusal) return refusal.words.some(word => messageWords.has(word)) ? 'stop' : 'no thanks'
  return start.some(word => given.some(text => isKeyword(text, word))) ? 'start' : undefined
}
