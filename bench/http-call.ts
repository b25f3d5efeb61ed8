import { type Agent, request } from 'node:http'

/** With a body a POST, else a GET. */
export interface Call {
  path: string
  body?: string
  headers?: Record<string, string>
}

export interface Prepared {
  url: URL
  method: string
  headers: Record<string, string>
  bytes: Buffer | undefined
}

export const prepare = (url: string, common: Record<string, string>, call: Call): Prepared => {
  const bytes = call.body === undefined ? undefined : Buffer.from(call.body)
  const length = bytes && { 'content-length': String(bytes.length) }
  const headers = { ...common, ...call.headers, ...length }
  return { url: new URL(call.path, url), method: bytes ? 'POST' : 'GET', headers, bytes }
}

/** Rejects unless the answer is 200. */
export const send = (
  { url, method, headers, bytes }: Prepared,
  agent: Agent,
  more: Record<string, string> = {},
): Promise<void> =>
  new Promise((resolve, reject) => {
    const call = request(url, { method, agent, headers: { ...headers, ...more } }, answer => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', part => {
        text += part
      })
      answer.on('error', reject)
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve()
        else reject(new Error(`${url} answered ${answer.statusCode}: ${text.slice(0, 500)}`))
      })
    })
    call.on('error', reject)
    call.end(bytes)
  })
