import type { IncomingHttpHeaders } from 'node:http'
import { wordReason } from '@courier/shared/service-client.ts'
import type { Dispatcher } from 'undici'

/** Describes the outcome of a request on the wire. A reason never quotes the request. */
export type Exchanged =
  | {
      readonly kind: 'response'
      readonly status: number
      readonly headers: IncomingHttpHeaders
      readonly body: Buffer
      /** Says why the body is incomplete; null when it is complete. */
      readonly brokenBy: string | null
    }
  | { readonly kind: 'not_written' | 'no_response'; readonly reason: string }

/**
 * Exchanges one request and its response, and ends after `deadlineMilliseconds` whatever its state. `not_written` is a
 * promise: not a byte has left, and none will. The exchange stops an expired request at the moment undici is about to
 * write it, and also a request that undici is about to write a second time.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #settled = Promise.withResolvers<Exchanged>()
  readonly result = this.#settled.promise
  #isSettled = false
  /** Is set once undici is about to write: from then on the request may have been sent. */
  #controller: Dispatcher.DispatchController | undefined
  #head: { status: number; headers: IncomingHttpHeaders } | undefined
  readonly #chunks: Buffer[] = []
  readonly #deadline: NodeJS.Timeout
  /** Comes from `performance.now()`. */
  readonly #endsAt: number

  constructor(deadlineMilliseconds: number) {
    this.#endsAt = performance.now() + deadlineMilliseconds
    this.#deadline = setTimeout(() => this.giveUp(), deadlineMilliseconds)
  }

  /** Runs right before each write; after a pause of the process, even before the timer of the deadline. */
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
    this.#finish(this.#controller ? 'no response in time' : 'no connection in time')
    this.#controller?.abort(new Error('given up'))
  }

  #finish(brokenBy: string | null): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#deadline)
    if (this.#head)
      this.#settled.resolve({ kind: 'response', ...this.#head, body: Buffer.concat(this.#chunks), brokenBy })
    else {
      const kind = this.#controller ? 'no_response' : 'not_written'
      this.#settled.resolve({ kind, reason: brokenBy ?? 'no response' })
    }
  }
}
