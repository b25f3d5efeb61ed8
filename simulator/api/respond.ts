import type { FastifyReply, FastifyRequest } from 'fastify'
import { GraphError } from '../graph/errors.ts'
import type { Trouble } from '../trouble/trouble.ts'
import { nameRequest } from '../world/request-log.ts'
import type { World } from '../world/world.ts'

/** Applies an outage, or a script that does not wait for the body, to a request. */
export const meetBeforeReading = (
  world: World,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined => {
  const refused = world.scripts.take(nameRequest(request.url), false)
  const mode = refused ? 'reset' : world.outage
  if (mode === null) return undefined
  if (mode === 'unavailable') throw new GraphError(2, { transient: true })
  world.requests.add(request, { httpStatus: null, trouble: refused ? 'refused' : `outage ${mode}` })
  if (mode === 'reset') return cut(reply)
  world.hanging.add(request.raw.socket)
  return reply.hijack()
}

/** Responds with the result of `act`, which may throw a GraphError, or with the trouble of a script. */
export const respond = (
  world: World,
  request: FastifyRequest,
  reply: FastifyReply,
  act: () => object,
  recipient?: string,
): FastifyReply => {
  const trouble = world.scripts.take(nameRequest(request.url), true, recipient)
  if (trouble?.kind === 'error') {
    const { code, details, http_status: status, retry_after_seconds: retryAfterSeconds } = trouble
    throw new GraphError(code, { details, status, retryAfterSeconds })
  }
  const body = !trouble || takesEffect(trouble) ? act() : { messaging_product: 'whatsapp' }
  const httpStatus = trouble ? (gatewayStatus[trouble.kind] ?? null) : 200
  world.requests.add(request, { httpStatus, ...(trouble && { trouble: trouble.kind }) })
  return trouble ? breakResponse(reply, trouble, body) : reply.send(body)
}

type Broken = Exclude<Trouble, { kind: 'error' }>

/** Returns true if the request takes effect although its response fails. */
const takesEffect = (trouble: Broken): boolean =>
  trouble.kind !== 'refused' && (trouble.accepted ?? (trouble.kind === 'lost' || trouble.kind === 'half'))

/** Maps troubles to the HTTP status that the client sees; in others it sees none, or half a response. */
const gatewayStatus: { [kind in Broken['kind']]?: number } = { html: 502, empty: 500 }

const breakResponse = (reply: FastifyReply, { kind }: Broken, body: object): FastifyReply => {
  const page = '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n'
  if (kind === 'html') return reply.code(502).type('text/html').send(page)
  if (kind === 'empty') return reply.code(500).send()
  return kind === 'half' ? sendHalf(reply, JSON.stringify(body)) : cut(reply)
}

const cut = (reply: FastifyReply): FastifyReply => {
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
