import { Agent, request } from 'node:http'
import type { Response } from './document.ts'

export type Headers = Readonly<Record<string, string>>

/** Describes a request; its body is JSON unless its headers say something else. */
export interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body?: string | Buffer | undefined
}

export type Send = (request: Request) => Promise<Response>

/** Creates a function that sends requests to a server, any number of them at once. */
export const createSender = (url: string): Send => {
  const agent = new Agent({ keepAlive: true })
  const send: Send = wanted =>
    new Promise(resolve => {
      const { method, path, headers, body } = wanted
      const started = performance.now()
      let text = ''
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const type = body === undefined ? {} : { 'content-type': 'application/json' }
      // Sends the path unchanged: a URL would resolve its `%2e%2e`.
      const sent = request(url, { path, method, agent, headers: { ...type, ...headers, ...length } }, response => {
        const { statusCode: status = 0, headers } = response
        response.setEncoding('utf8').on('data', part => (text += part))
        response.on('close', () => resolve({ status, headers, text, ms: performance.now() - started }))
      })
      const fail = ({ code }: NodeJS.ErrnoException) => {
        // The server had closed the idle connection while this process was busy.
        if (sent.reusedSocket && code === 'ECONNRESET') return resolve(send(wanted))
        resolve({ status: 0, headers: {}, text, ms: performance.now() - started })
      }
      sent.setTimeout(60_000, () => sent.destroy(new Error('there was no response'))).on('error', fail)
      sent.end(body)
    })
  return send
}
