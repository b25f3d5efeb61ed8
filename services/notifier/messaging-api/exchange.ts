import { subscribe } from 'node:diagnostics_channel'
import type { IncomingHttpHeaders } from 'node:http'
import { wordReason } from '@courier/shared/service-client.ts'
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
  /** A time of `performance.now()`. */
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
    if (status >= 200) this.#head = { status, headers }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#finish(null)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish(wordReason(error))
  }

  /** Ends the exchange now, as its deadline does. */
  giveUp(): void {
    this.#finish(this.#isWritten ? 'no response in time' : 'no connection in time')
    this.#controller?.abort(new Error('given up'))
  }

  #finish(brokenBy: string | null): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#deadline)
    if (this.#head) this.#settle({ kind: 'response', ...this.#head, body: Buffer.concat(this.#chunks), brokenBy })
    else this.#settle({ kind: this.#isWritten ? 'no_response' : 'not_written', reason: brokenBy ?? 'no response' })
  }
}

const exchanges = new WeakMap<object, Exchange>()
let dispatched: Exchange | undefined

/** A connection that knows the exchange of a request: undici makes its request object before `dispatch` returns. */
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
