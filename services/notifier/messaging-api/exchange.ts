import { subscribe } from 'node:diagnostics_channel'
import type { IncomingHttpHeaders } from 'node:http'
import { Client, type DiagnosticsChannel, type Dispatcher } from 'undici'

/** The outcome of a request on the wire. Reasons contain nothing of the request. */
export type Exchanged =
  | {
      readonly kind: 'response'
      readonly status: number
      readonly headers: IncomingHttpHeaders
      readonly body: Buffer
      /** The reason why the body is incomplete; null when it is complete. */
      readonly brokenBy: string | null
    }
  | { readonly kind: 'not_written' | 'no_response'; readonly reason: string }

/**
 * One request and its response, ended after `deadlineMilliseconds` in whatever state it is. `not_written` is a promise:
 * not a byte has left, and none will. It stops an expired request at the moment undici is about to write it, and also
 * one that undici is about to write a second time.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly result: Promise<Exchanged>
  #settle: (result: Exchanged) => void = () => {}
  #isSettled = false
  #isWritten = false
  #controller: Dispatcher.DispatchController | undefined
  #head: { status: number; headers: IncomingHttpHeaders } | undefined
  readonly #chunks: Buffer[] = []
  readonly #deadline: NodeJS.Timeout
  /** On the clock of `performance.now()`. */
  readonly #endsAt: number

  constructor(deadlineMilliseconds: number) {
    this.#endsAt = performance.now() + deadlineMilliseconds
    this.result = new Promise(resolve => {
      this.#settle = resolve
    })
    this.#deadline = setTimeout(() => this.giveUp(), deadlineMilliseconds)
  }

  /** Records that undici is about to write the first byte: from here on the request may have been sent. */
  markWritten(): void {
    this.#isWritten = true
  }

  /** Runs right before each writing, the last moment to stop it; in a paused process before its timers run. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isSettled || this.#controller || performance.now() > this.#endsAt)
      controller.abort(new Error('given up, or written before'))
    else this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // A 1xx response is informational.
    if (status >= 200) this.#head = { status, headers }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#finish(null)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish(reasonOf(error))
  }

  /** Ends the exchange now, as its deadline does. */
  giveUp(): void {
    this.#finish(this.#isWritten ? 'no answer in time' : 'no connection in time')
    this.#controller?.abort(new Error('given up'))
  }

  #finish(brokenBy: string | null): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#deadline)
    if (this.#head) this.#settle({ kind: 'response', ...this.#head, body: Buffer.concat(this.#chunks), brokenBy })
    else this.#settle({ kind: this.#isWritten ? 'no_response' : 'not_written', reason: brokenBy ?? 'no answer' })
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
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'the answer is too large',
  UND_ERR_INVALID_ARG: 'a request that cannot be written as HTTP',
  UND_ERR_CLOSED: 'shutting down',
  UND_ERR_DESTROYED: 'shutting down',
  // The error has only a name.
  HTTPParserError: 'the answer is not HTTP',
}

/** Never returns the message of an error: it may show the request. */
const reasonOf = (error: Error & { code?: unknown }): string => {
  const code = String(error.code ?? '')
  return reasons[code] ?? reasons[error.name] ?? (/^[A-Z0-9_]{1,40}$/.test(code) ? code : 'failure of the connection')
}

const exchanges = new WeakMap<object, Exchange>()
let dispatched: Exchange | undefined

/**
 * A connection that knows for which exchange undici makes its request object: undici does so before `dispatch` returns.
 */
export class TracedClient extends Client {
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    dispatched = handler instanceof Exchange ? handler : undefined
    try {
      return super.dispatch(options, handler)
    } finally {
      dispatched = undefined
    }
  }
}

// These channels report every request of every undici in the process: all but our own are ignored.
subscribe('undici:request:create', message => {
  if (dispatched) exchanges.set((message as DiagnosticsChannel.RequestCreateMessage).request, dispatched)
  dispatched = undefined
})
subscribe('undici:client:sendHeaders', message => {
  exchanges.get((message as DiagnosticsChannel.ClientSendHeadersMessage).request)?.markWritten()
})
