import { BrokenCircuitError, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel'
import { Pool } from 'undici'

export interface ServiceClientOptions {
  /** http://notifier:3001 */
  readonly baseUrl: string
  readonly serviceToken: string
  readonly connections?: number
  readonly connectMilliseconds?: number
  /** For the whole call, the wait for a connection included. */
  readonly callMilliseconds?: number
  /** So many calls without an answer, one after the other, open the circuit. */
  readonly failuresToOpen?: number
  /** How long an open circuit refuses calls before it lets one try. */
  readonly openMilliseconds?: number
}

/** What became of a call. `reason` names neither the request nor anything in it. */
export type ServiceAnswer =
  /** `body` is undefined when it is not JSON. */
  | { readonly kind: 'answered'; readonly status: number; readonly body: unknown }
  /** Whether the other service did what was asked is not known. */
  | { readonly kind: 'unreachable'; readonly reason: string }

export interface ServiceClient {
  readonly get: (path: string) => Promise<ServiceAnswer>
  readonly post: (path: string, body: object) => Promise<ServiceAnswer>
  readonly close: () => Promise<void>
}

/** Longer than this no call takes. */
export const serviceCallMilliseconds = 5_000

/**
 * Calls the other service, each call once, with SERVICE_TOKEN. Never rejects. After some calls without an answer the
 * circuit opens: calls are then refused without being made, until one that is let through is answered. Any answer will
 * do, also an error: it is of a service that is there.
 */
export const createServiceClient = (options: ServiceClientOptions): ServiceClient => {
  const { callMilliseconds = serviceCallMilliseconds } = options
  const pool = createPool(options)
  const circuit = circuitBreaker(handleAll, {
    halfOpenAfter: options.openMilliseconds ?? 2_000,
    breaker: new ConsecutiveBreaker(options.failuresToOpen ?? 5),
  })
  const authorization = `Bearer ${options.serviceToken}`

  const call = async (method: 'GET' | 'POST', path: string, body?: object): Promise<ServiceAnswer> => {
    // Outside the circuit: the wait for the one that is let through counts too.
    const signal = AbortSignal.timeout(callMilliseconds)
    const json = body && { 'content-type': 'application/json' }
    const headers = { authorization, accept: 'application/json', ...json }
    const text = body ? JSON.stringify(body) : null
    try {
      return await circuit.execute(async () => {
        const answer = await pool.request({ method, path, headers, body: text, signal })
        return { kind: 'answered', status: answer.statusCode, body: readJson(await answer.body.text()) }
      })
    } catch (error) {
      return { kind: 'unreachable', reason: reasonOf(error) }
    }
  }
  let closed: Promise<void> | undefined
  return {
    get: path => call('GET', path),
    post: (path, body) => call('POST', path, body),
    // A second close() of a Pool rejects.
    close: () => {
      closed ??= pool.close()
      return closed
    },
  }
}

const createPool = (options: ServiceClientOptions): Pool =>
  new Pool(new URL(options.baseUrl).origin, {
    connections: options.connections ?? 8,
    connect: { timeout: options.connectMilliseconds ?? 1_000 },
    headersTimeout: options.callMilliseconds ?? serviceCallMilliseconds,
    bodyTimeout: options.callMilliseconds ?? serviceCallMilliseconds,
    maxResponseSize: 1_048_576,
    // Both keep undici from writing a request twice.
    allowH2: false,
    pipelining: 1,
  })

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found for now',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'no answer in time',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'the answer is too large',
  TimeoutError: 'no answer in time',
  HTTPParserError: 'the answer is not HTTP',
}

/** Never the message of an error: it may show the request. */
const reasonOf = (error: unknown): string => {
  if (error instanceof BrokenCircuitError) return 'not tried: the circuit is open'
  const { code, name } = error as { code?: unknown; name?: string }
  return reasons[String(code)] ?? reasons[name ?? ''] ?? 'failure of the connection'
}
