/** Says what the client knows of a request: it was done, it was refused, or neither is known. */
type Ending = 'done' | 'refused' | 'in doubt'

/** Describes a request as its client saw it. Times are in milliseconds since 1970. */
export interface Call {
  readonly who: string
  readonly what: string
  /** Names the intent: requests that repeat one another share it, and everything stored because of them carries it. */
  readonly name: string
  readonly key: string | null
  /** Lists the parts that are stored once the request is done, such as the indexes of the orders in a batch. */
  readonly parts: readonly string[]
  /** Holds the requested values that a check compares with the stored ones. */
  readonly asked?: unknown
  readonly sentAt: number
  readonly respondedAt: number
  /** 0: no response. */
  readonly status: number
  /** Holds the code of the error, or the reason why there was no response. */
  readonly code: string | null
  readonly hasRetryAfter: boolean
  readonly ending: Ending
  /** Holds the `data` of the response. */
  readonly data: unknown
}

/** Describes a client's intent: a request and its repetitions. */
export interface Intent extends Pick<Call, 'name' | 'what' | 'key' | 'parts' | 'ending'> {
  readonly calls: readonly Call[]
}

/**
 * Classifies a response. A 503 `unavailable` says that nothing was changed: it counts as refused, and the audit
 * verifies that.
 */
export const readEnding = (status: number, code: string | null): Ending => {
  if (status >= 200 && status < 300) return 'done'
  return (status >= 400 && status < 500) || code === 'unavailable' ? 'refused' : 'in doubt'
}

/** Lists the 4xx errors that the client retries: docs/merchants/errors.md. */
const repeated: readonly (string | null)[] = ['request_timeout', 'idempotency_key_running', 'rate_limited']

/** Returns true for a response that needs no repetition. */
export const isSettled = ({ code, status }: Pick<Call, 'code' | 'status'>): boolean =>
  status >= 200 && status < 500 && !repeated.includes(code)

/** Classifies the requests of an intent. With a key, a final refusal means that none took effect, in doubt or not. */
const readIntentEnding = (calls: readonly Call[]): Ending => {
  if (calls.some(({ ending }) => ending === 'done')) return 'done'
  const last = calls[0]?.key === null ? 0 : Math.max(0, calls.findLastIndex(isSettled))
  return calls.slice(last).every(({ ending }) => ending === 'refused') ? 'refused' : 'in doubt'
}

/** Lists the requests that only read and so have no effects. */
export const reads: readonly string[] = ['look up', 'read']

export const groupIntents = (history: readonly Call[]): Intent[] =>
  [...Map.groupBy(history, ({ name }) => name)].map(([name, calls]) => {
    const { what, key, parts } = calls[0] as Call
    return { name, what, key, parts, calls, ending: readIntentEnding(calls) }
  })

const seconds = (at: number, start: number): string => `${((at - start) / 1000).toFixed(2).padStart(7)} s`

/** Shows a violation: its requests, other events of the same subjects, and the faults around them. */
export const makeExcerpt = (
  sentence: string,
  history: readonly Call[],
  others: readonly { readonly at: number; readonly text: string }[],
  most = 25,
): string => {
  const words = new Set(sentence.match(/[\w.-]*\d[\w.-]*/g) ?? [])
  const toText = (call: Call): string => [call.name, ...call.parts, JSON.stringify(call.data ?? '')].join(' ')
  const isAbout = (text: string): boolean => (text.match(/[\w.-]*\d[\w.-]*/g) ?? []).some(word => words.has(word))
  const about = history.filter(call => isAbout(toText(call)))
  const start = Math.min(...history.map(({ sentAt }) => sentAt))
  const [first, last] = [about[0]?.sentAt ?? 0, Math.max(0, ...about.map(({ respondedAt }) => respondedAt))]
  const calls = about.map(call => {
    const asked = `${call.who}: ${call.what} ${call.name}${call.key ? ' with its key' : ''}`
    const ms = Math.round(call.respondedAt - call.sentAt)
    const text = `${asked} -> ${call.status || 'no response'} ${call.code ?? ''} after ${ms} ms: ${call.ending}`
    return { at: call.sentAt, text }
  })
  const isNear = (at: number): boolean => at > first - 10_000 && at < last + 10_000
  const near = others.filter(({ at, text }) => isAbout(text) || (text.startsWith('**') && isNear(at)))
  return [...calls.slice(0, most), ...near.slice(0, most)]
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, text }) => `    ${seconds(at, start)}  ${text}`)
    .join('\n')
}
