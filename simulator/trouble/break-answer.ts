import type { FastifyReply, FastifyRequest } from 'fastify'
import type { World } from '../world.ts'
import type { Trouble } from './trouble.ts'

/** A trouble in which the answer, not the call, goes wrong. */
export type BrokenAnswer = Exclude<Trouble, { kind: 'error' } | { kind: 'course' }>

/** Whether the call does its work although its answer goes wrong. */
export const takesEffect = (trouble: BrokenAnswer): boolean => {
  if (trouble.kind === 'slow') return true
  if (trouble.kind === 'refused') return false
  return trouble.accepted ?? (trouble.kind === 'lost' || trouble.kind === 'half')
}

/** The HTTP status that the caller sees; null when it sees none, or half an answer. */
export const statusOf = ({ kind }: BrokenAnswer): number | null =>
  ({ slow: 200, html: 502, empty: 500, lost: null, half: null, refused: null })[kind]

/** Answers with `body` as the trouble wants it. */
export const breakAnswer = (
  world: World,
  request: FastifyRequest,
  reply: FastifyReply,
  trouble: BrokenAnswer,
  body: object,
): FastifyReply => {
  switch (trouble.kind) {
    case 'slow':
      hold(world, request, trouble.seconds * 1000, isOver => (isOver ? reply.send(body) : request.raw.socket.destroy()))
      return reply
    case 'html':
      return sendBadGateway(reply)
    case 'empty':
      return reply.code(500).send()
    case 'half':
      return sendHalf(reply, JSON.stringify(body))
    default:
      return cut(reply)
  }
}

export const sendBadGateway = (reply: FastifyReply): FastifyReply =>
  reply
    .code(502)
    .type('text/html')
    .send('<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n')

/** Cuts the connection without a word. */
export const cut = (reply: FastifyReply): FastifyReply => {
  reply.hijack()
  reply.raw.destroy()
  return reply
}

/** Promises the whole answer and cuts the connection in the middle of it. */
const sendHalf = (reply: FastifyReply, text: string): FastifyReply => {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': text.length })
  raw.write(text.slice(0, text.length / 2), () => raw.destroy())
  return reply
}

/** Calls `then` after `delayMs` with true, or with false when the world lets go before; never when the caller has gone. */
export const hold = (world: World, request: FastifyRequest, delayMs: number, then: (isOver: boolean) => void): void => {
  const end = (isOver: boolean, isGone = false): void => {
    clearTimeout(timer)
    request.raw.socket.off('close', gone)
    if (world.held.delete(release) && !isGone) then(isOver)
  }
  const release = () => end(false)
  const gone = () => end(false, true)
  const timer = delayMs === Infinity ? undefined : setTimeout(end, delayMs, true).unref()
  request.raw.socket.on('close', gone)
  world.held.add(release)
}
