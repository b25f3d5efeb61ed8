import { BrokenCircuitError, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel'
import { Pool } from 'undici'

export interface ServiceClientOptions {
  /** Is an address such as http://notifier:3001. */
  readonly baseUrl: string
  readonly serviceToken: string
  /** Limits the whole request, including the wait for a connection. */
  readonly callMilliseconds?: number
  /** The circuit opens after this many consecutive requests without a response. */
  readonly failuresToOpen?: number
  /** An open circuit refuses requests for this long before it lets one through. */
  readonly openMilliseconds?: number
}

/** Describes the outcome of a request. `reason` shows nothing of the request. */
type ServiceResponse =
  /** `body` is undefined when it is not JSON. */
  | { readonly kind: 'response'; readonly status: number; readonly body: unknown }
  /** The other service may have handled the request. */
  | { readonly kind: 'unreachable'; readonly reason: string }

export interface ServiceClient {
  readonly get: (path: string) => Promise<ServiceResponse>
  readonly post: (path: string, body: object, traceparent?: string) => Promise<ServiceResponse>
  readonly close: () => Promise<void>
}

/** Is the default time limit of a request. */
export const serviceRequestMilliseconds = 5_000

/**
 * Sends each request to the other service once, with SERVICE_TOKEN. Never rejects. After several consecutive requests
 * without a response the circuit opens: requests are refused unsent until one that is let through gets a response. Any
 * response, even an error, closes the circuit: it shows that the service is up.
 */
export const createServiceClient = (options: ServiceClientOptions): ServiceClient => {
  const { callMilliseconds = serviceRequestMilliseconds } = options
  // The signal of each request limits the wait for its head and body.
  const pool = new Pool(new URL(options.baseUrl).origin, {
    connections: 8,
    connect: { timeout: 1_000 },
    maxResponseSize: 1_048_576,
    // With both, undici never sends a request twice.
    allowH2: false,
    pipelining: 1,
  })
  const circuit = circuitBreaker(handleAll, {
    halfOpenAfter: options.openMilliseconds ?? 2_000,
    breaker: new ConsecutiveBreaker(options.failuresToOpen ?? 5),
  })
  const authorization = `Bearer ${options.serviceToken}`

  const send = async (
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    traceparent?: string,
  ): Promise<ServiceResponse> => {
    // Starts outside the circuit, so that the wait for the request that is let through counts too.
    const signal = AbortSignal.timeout(callMilliseconds)
    const json = body && { 'content-type': 'application/json' }
    const headers = { authorization, accept: 'application/json', ...json, ...(traceparent && { traceparent }) }
    const text = body ? JSON.stringify(body) : null
    try {
      return await circuit.execute(async () => {
        const response = await pool.request({ method, path, headers, body: text, signal })
        return { kind: 'response', status: response.statusCode, body: readJson(await response.body.text()) }
      })
    } catch (error) {
      return { kind: 'unreachable', reason: wordReason(error) }
    }
  }
  let closed: Promise<void> | undefined
  return {
    get: path => send('GET', path),
    post: (path, body, traceparent) => send('POST', path, body, traceparent),
    // Pool.close() rejects the second time.
    close: () => {
      closed ??= pool.close()
      return closed
    },
  }
}

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
  EPIPE: 'connection closed',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'no response in time',
  UND_ERR_BODY_TIMEOUT: 'no response in time',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'the response is too large',
  UND_ERR_INVALID_ARG: 'a request that cannot be written as HTTP',
  UND_ERR_CLOSED: 'shutting down',
  UND_ERR_DESTROYED: 'shutting down',
  // These errors have only a name.
  TimeoutError: 'no response in time',
  HTTPParserError: 'the response is not HTTP',
}

/** Says why there was no response, never by the error's own message, which may show the request. */
export const wordReason = (error: unknown): string => {
  if (error instanceof BrokenCircuitError) return 'not tried: the circuit is open'
  const { code, name = '' } = error as { code?: unknown; name?: string }
  const known = reasons[String(code)] ?? reasons[name]
  if (known !== undefined) return known
  if (/CERT|SIGNATURE/.test(String(code))) return `the certificate is not trusted: ${code}`
  return /^[A-Z0-9_]{1,40}$/.test(String(code)) ? String(code) : 'failure of the connection'
}
