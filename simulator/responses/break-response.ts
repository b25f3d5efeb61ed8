import type { FastifyReply } from 'fastify'
import type { Trouble } from '../trouble/trouble.ts'

/** A failure of the response, not of the request. */
type BrokenResponse = Exclude<Trouble, { kind: 'error' }>

/** Returns true if the request takes effect although its response fails. */
export const takesEffect = (trouble: BrokenResponse): boolean =>
  trouble.kind !== 'refused' && (trouble.accepted ?? (trouble.kind === 'lost' || trouble.kind === 'half'))

/** Returns the HTTP status that the client sees; null when it sees none, or half a response. */
export const statusOf = ({ kind }: BrokenResponse): number | null =>
  ({ html: 502, empty: 500, lost: null, half: null, refused: null })[kind]

/** Responds with `body`, broken as the trouble says. */
export const breakResponse = (reply: FastifyReply, { kind }: BrokenResponse, body: object): FastifyReply => {
  if (kind === 'html') return sendBadGateway(reply)
  if (kind === 'empty') return reply.code(500).send()
  return kind === 'half' ? sendHalf(reply, JSON.stringify(body)) : cut(reply)
}

const sendBadGateway = (reply: FastifyReply): FastifyReply =>
  reply
    .code(502)
    .type('text/html')
    .send('<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n')

/** Closes the connection without a response. */
export const cut = (reply: FastifyReply): FastifyReply => {
  reply.hijack()
  reply.raw.destroy()
  return reply
}

/** Announces the whole response and closes the connection in the middle of it. */
const sendHalf = (reply: FastifyReply, text: string): FastifyReply => {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': text.length })
  raw.write(text.slice(0, text.length / 2), () => raw.destroy())
  return reply
}
