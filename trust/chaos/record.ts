import { setTimeout as delay } from 'node:timers/promises'
import { type Call, isSettled, readEnding } from './history.ts'

/** Describes a request that a client is about to send. */
export interface Wanted extends Pick<Call, 'who' | 'what' | 'name' | 'parts' | 'asked'> {
  readonly url: string
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: object
  readonly key?: string | undefined
  /** true: what the body lists has ids of its own, and the route refuses the header. */
  readonly isKeyInBody?: boolean
}

/** Clients wait this long for a response: after that, the request is in doubt. */
const timeoutMs = 12_000

/** Sends requests for the clients and records each. */
export const createRecorder = () => {
  const history: Call[] = []
  let givesUpAt = Number.POSITIVE_INFINITY

  /** Never rejects. */
  const call = async ({ url, method, headers, body, key, isKeyInBody, ...about }: Wanted): Promise<Call> => {
    const sentAt = Date.now()
    const init = {
      method: method ?? (body ? 'POST' : 'GET'),
      headers: {
        ...headers,
        ...(body && { 'content-type': 'application/json' }),
        ...(key && !isKeyInBody && { 'idempotency-key': key }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    }
    const result = await fetch(url, init)
      .then(async response => ({ response, body: (await response.json()) as { code?: string; data?: unknown } }))
      .catch(error => ({ error }))
    const response = 'response' in result ? result.response : undefined
    const failure: string | null = 'error' in result ? (result.error.cause?.code ?? result.error.name) : null
    const [status, code] = [response?.status ?? 0, ('body' in result && result.body.code) || failure]
    // The connection was refused: nothing was sent.
    const isUnsent = 'error' in result && result.error.cause?.syscall === 'connect'
    const made: Call = {
      ...about,
      key: key ?? null,
      sentAt,
      respondedAt: Date.now(),
      status,
      code,
      hasRetryAfter: response?.headers.has('retry-after') ?? false,
      ending: isUnsent ? 'refused' : readEnding(status, code),
      data: 'body' in result ? (result.body.data ?? null) : null,
    }
    history.push(made)
    return made
  }

  /**
   * Repeats the request until it gets a final response; without a key only while its responses say that nothing was
   * changed.
   */
  const insist = async (wanted: Wanted): Promise<Call> => {
    for (let pause = 200; ; pause = Math.min(1_000, pause * 1.5)) {
      const made = await call(wanted)
      const mayRepeat = wanted.key !== undefined || made.ending === 'refused'
      if (isSettled(made) || !mayRepeat || Date.now() > givesUpAt) return made
      await delay(pause)
    }
  }

  return {
    history,
    call,
    insist,
    giveUpIn: (seconds: number): void => {
      givesUpAt = Date.now() + seconds * 1000
    },
  }
}

export type Recorder = ReturnType<typeof createRecorder>
