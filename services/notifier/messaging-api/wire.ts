import { type Client, Pool } from 'undici'
import { type Answered, type Failed, readAnswer } from './answers.ts'
import { Exchange, TracedClient } from './exchange.ts'

export interface WireOptions {
  /** See `baseUrlProblem`. */
  readonly baseUrl: string
  /** So many calls are on their way at once; more wait for a free connection. */
  readonly connections?: number
  // undici looks at these three every half a second, and not before a whole one is over.
  readonly connectMilliseconds?: number
  /** From the request to the head of its answer. */
  readonly headersMilliseconds?: number
  /** Between two parts of an answer. */
  readonly bodyMilliseconds?: number
  /** For the whole call, the wait for a connection included: to the millisecond. */
  readonly callMilliseconds?: number
  readonly maxAnswerBytes?: number
}

export interface Call<Value> {
  readonly accessToken: string
  readonly path: string
  /** Without one it is a GET. */
  readonly body?: object
  readonly read: (body: unknown) => Value | undefined
  /** What of the call must not stand in the words of a refusal, beside the token. */
  readonly carried?: readonly string[]
}

export type Caller = <Value>(call: Call<Value>) => Promise<Answered<Value> | Failed>

/** Makes calls, each once, and reads their answers. Redirects are answers like any other: they are not followed. */
export const createWire = (options: WireOptions): { call: Caller; close: () => Promise<void> } => {
  const { origin, pathname } = new URL(options.baseUrl)
  const prefix = pathname.replace(/\/+$/, '')
  const pool = createPool(origin, options)

  const call: Caller = async ({ accessToken, path, body, read, carried = [] }) => {
    const exchange = new Exchange(options.callMilliseconds ?? 15_000)
    const headers = { authorization: `Bearer ${accessToken}` }
    if (body) {
      const json = { ...headers, 'content-type': 'application/json' }
      pool.dispatch({ method: 'POST', path: prefix + path, headers: json, body: JSON.stringify(body) }, exchange)
    } else pool.dispatch({ method: 'GET', path: prefix + path, headers }, exchange)
    return readAnswer(await exchange.result, read, [accessToken, ...carried], new Date())
  }
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    // A second close() of a Pool rejects.
    closed ??= pool.close()
    return closed
  }
  return { call, close }
}

const createPool = (origin: string, options: WireOptions): Pool =>
  new Pool(origin, {
    connections: options.connections ?? 64,
    connect: { timeout: options.connectMilliseconds ?? 3_000 },
    headersTimeout: options.headersMilliseconds ?? 10_000,
    bodyTimeout: options.bodyMilliseconds ?? 5_000,
    maxResponseSize: options.maxAnswerBytes ?? 262_144,
    // Both keep undici from writing a request twice: over HTTP/2 it repeats a POST after GOAWAY and REFUSED_STREAM, and
    // of several requests in a pipeline it writes all but the first again when the connection ends.
    allowH2: false,
    pipelining: 1,
    factory: (origin, clientOptions: Client.Options) => new TracedClient(origin, clientOptions),
  })
