import { once } from 'node:events'
import { connect } from 'node:net'

export interface WireResponse {
  status: number
  headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: a response is whatever came over the wire
  body: any
}

/** Sends the bytes of one request on a connection of its own and reads the response to its end. */
export const sendBytes = async (
  base: string,
  line: string,
  headers: readonly (readonly [string, string])[],
  body?: string,
): Promise<WireResponse> => {
  const { hostname, port, host } = new URL(base)
  const socket = connect(Number(port), hostname).setTimeout(30_000, () => socket.destroy(new Error(`${line}: timeout`)))
  const bytes = Buffer.from(body ?? '')
  const all = [['Host', host], ...headers, ['Connection', 'close']]
  if (body !== undefined) all.push(['Content-Length', String(bytes.length)])
  const head = `${line} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  socket.write(Buffer.concat([Buffer.from(head), bytes]))
  await once(socket, 'end')
  socket.destroy()
  return readResponse(Buffer.concat(chunks).toString())
}

const readResponse = (text: string): WireResponse => {
  const end = text.indexOf('\r\n\r\n')
  const [first = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const rest = text.slice(end + 4)
  const content = headers['transfer-encoding'] === 'chunked' ? decodeChunks(rest) : rest
  return { status: Number(first.split(' ')[1]), headers, body: content === '' ? undefined : JSON.parse(content) }
}

/** Decodes a chunked JSON body. */
const decodeChunks = (text: string): string => {
  const bytes = Buffer.from(text)
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.subarray(at, end).toString(), 16)
    if (!size) return Buffer.concat(parts).toString()
    parts.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
