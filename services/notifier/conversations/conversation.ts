/** The state of the conversation between a person and one of our numbers. */
export interface Conversation {
  readonly lastInboundAt: Date | null
  /** Set while the person is opted out. */
  readonly optedOutAt: Date | null
}

/** A person's message opens the conversation with a number for this long (docs/contract.md#session-rule). */
export const windowHours = 24

/** When the conversation closes, or closed; null: the person never wrote. */
export const expiresAt = (lastInboundAt: Date | null): Date | null =>
  lastInboundAt && new Date(lastInboundAt.getTime() + windowHours * 3_600_000)

export const isOpen = (lastInboundAt: Date | null, now: Date): boolean => {
  const end = expiresAt(lastInboundAt)
  return end !== null && now < end
}

/** A tenant's opt-out keywords and opt-in keywords. */
export interface Keywords {
  readonly stopWords: readonly string[]
  readonly startWords: readonly string[]
}

/** `stop`: the person opted out; `start`: the person opted in again. */
export type Keyword = 'stop' | 'start'

/** Surrounding blanks, case and the width of letters do not matter. */
const normalise = (text: string): string => text.normalize('NFKC').trim().toLowerCase()

/** The keyword that an inbound message or button consists of; undefined when it says anything else. */
export const keywordIn = (
  texts: readonly (string | undefined)[],
  { stopWords, startWords }: Keywords,
): Keyword | undefined => {
  const given = new Set(texts.filter(text => text !== undefined).map(normalise))
  const isGiven = (word: string): boolean => normalise(word) !== '' && given.has(normalise(word))
  if (stopWords.some(isGiven)) return 'stop'
  return startWords.some(isGiven) ? 'start' : undefined
}
