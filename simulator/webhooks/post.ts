import http from 'node:http'
import https from 'node:https'

/** A callback has so long to answer. */
const timeoutMs = 10_000
const mostOfAnswer = 10_000

/** What came back: a status and the start of the body, or why there was none. */
export type Outcome = { status: number; body: string } | { status: null; error: string }

export interface Poster {
  request(method: 'GET' | 'POST', url: string, body?: Buffer, headers?: Record<string, string>): Promise<Outcome>
  /** Cuts what is under way. The poster can be used afterwards. */
  reset(): void
}

export const createPoster = (): Poster => {
  const plain = new http.Agent({ keepAlive: true, maxSockets: 64 })
  const secure = new https.Agent({ keepAlive: true, maxSockets: 64 })

  const request: Poster['request'] = (method, url, body, headers = {}) =>
    new Promise(resolve => {
      const fail = (error: Error & { code?: string }): void =>
        resolve({ status: null, error: error.code ?? error.message })
      if (!URL.canParse(url)) return fail(new Error(`${url} is not an address`))
      const { protocol } = new URL(url)
      const options = {
        method,
        headers: { ...headers, ...(body && { 'content-length': body.length }) },
        timeout: timeoutMs,
      }
      const sent =
        protocol === 'https:'
          ? https.request(url, { ...options, agent: secure })
          : http.request(url, { ...options, agent: plain })
      sent.on('timeout', () => sent.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)))
      sent.on('error', fail)
      sent.on('response', response => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          if (text.length < mostOfAnswer) text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
        response.on('error', fail)
      })
      sent.end(body)
    })

  return {
    request,
    reset() {
      plain.destroy()
      secure.destroy()
    },
  }
}
