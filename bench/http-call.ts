import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** With a body a POST, else a GET. */
export interface Call {
  path: string
  body?: string
  headers?: Record<string, string>
}

/** A call as bytes: all but the blank line and the body, and these. */
export interface Prepared {
  head: string
  body: string
}

export const prepare = (url: string, common: Record<string, string>, call: Call): Prepared => {
  const { host } = new URL(url)
  const length = call.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(call.body)) }
  const headers = Object.entries({ host, ...common, ...call.headers, ...length })
  const lines = [`${call.body === undefined ? 'GET' : 'POST'} ${call.path} HTTP/1.1`, ...headers.map(h => h.join(': '))]
  return { head: lines.join('\r\n'), body: call.body ?? '' }
}

/** One kept connection that makes one call at a time. It shares the machine with the service, so it does the least. */
export class Connection {
  readonly #socket: Socket
  #answer: Buffer = Buffer.alloc(0)
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay()
    socket.on('data', part => this.#read(part))
    socket.on('error', error => this.#end(error))
    socket.on('close', () => this.#end(new Error('the service closed the connection')))
  }

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    return new Connection(socket)
  }

  /** Rejects unless the answer is 200. */
  send({ head, body }: Prepared, more = ''): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#settle = { resolve, reject }
    this.#socket.write(`${head}${more}\r\n\r\n${body}`)
    return promise
  }

  close(): void {
    this.#settle = undefined
    this.#socket.destroy()
  }

  #read(part: Buffer): void {
    this.#answer = this.#answer.length === 0 ? part : Buffer.concat([this.#answer, part])
    const headEnd = this.#answer.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = this.#answer.toString('latin1', 0, headEnd)
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    if (length === undefined) return this.#end(new Error(`the answer has no length: ${head}`))
    if (this.#answer.length < headEnd + 4 + Number(length)) return
    const isGood = head.startsWith('HTTP/1.1 200 ')
    const error = isGood ? undefined : new Error(`the service answered ${this.#answer.toString().slice(0, 1000)}`)
    this.#answer = Buffer.alloc(0)
    this.#end(error)
  }

  #end(error: Error | undefined): void {
    const settle = this.#settle
    this.#settle = undefined
    if (error) settle?.reject(error)
    else settle?.resolve()
  }
}
