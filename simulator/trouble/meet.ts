import type { FastifyReply, FastifyRequest } from 'fastify'
import { callNameOf } from '../graph/calls.ts'
import { GraphError } from '../graph/errors.ts'
import type { World } from '../world.ts'
import { magicTrouble } from './magic.ts'
import type { Course, Trouble } from './trouble.ts'

const badGateway =
  '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n'

/** What an outage, or a script that does not wait for the body, does to a call. */
export const meetBeforeReading = (
  world: World,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined => {
  const refused = world.scripts.takeBeforeReading(callNameOf(request.url))
  const mode = refused ? 'reset' : world.outage
  if (mode === null) return undefined
  if (mode === 'unavailable') throw new GraphError(2, { transient: true })
  const trouble = refused ? 'refused' : `outage ${mode}`
  world.calls.add(world.clock.now(), request, { httpStatus: mode === 'html' ? 502 : null, trouble })
  if (mode === 'html') return reply.code(502).type('text/html').send(badGateway)
  reply.hijack()
  if (mode === 'reset') request.raw.socket.destroy()
  else hold(world, request, Infinity, () => request.raw.socket.destroy())
  return reply
}

/**
 * Answers a call that has passed its checks: with the result of `act`, or with the trouble that a script or, for a
 * send, its recipient asks for. `act` makes the call take effect; it may still throw a GraphError.
 */
export const answer = (
  world: World,
  request: FastifyRequest,
  reply: FastifyReply,
  act: (course?: Course) => object,
  recipient?: string,
): FastifyReply => {
  const trouble = troubleOf(world, request, recipient)
  if (trouble?.kind === 'error') throw errorOf(trouble)
  if (!trouble || trouble.kind === 'course') {
    const body = act(trouble)
    world.calls.add(world.clock.now(), request, { httpStatus: 200, ...(trouble && { trouble: trouble.kind }) })
    return reply.send(body)
  }
  return meet(world, request, reply, trouble, act)
}

const troubleOf = (world: World, request: FastifyRequest, recipient: string | undefined): Trouble | undefined =>
  world.scripts.take(callNameOf(request.url), recipient) ??
  (recipient !== undefined && world.behaviour.magic_recipients ? magicTrouble(recipient) : undefined)

const errorOf = (trouble: Extract<Trouble, { kind: 'error' }>): GraphError =>
  new GraphError(trouble.code, {
    details: trouble.details,
    status: trouble.http_status,
    subcode: trouble.subcode,
    transient: trouble.is_transient,
    retryAfterSeconds: trouble.retry_after_seconds,
    regainMinutes: trouble.regain_minutes,
  })

type Broken = Exclude<Trouble, { kind: 'error' } | { kind: 'course' } | { kind: 'refused' }>

const meet = (
  world: World,
  request: FastifyRequest,
  reply: FastifyReply,
  trouble: Broken | { kind: 'refused' },
  act: () => object,
): FastifyReply => {
  const note = (httpStatus: number | null) =>
    world.calls.add(world.clock.now(), request, { httpStatus, trouble: trouble.kind })
  switch (trouble.kind) {
    case 'slow': {
      const body = act()
      note(200)
      hold(world, request, trouble.seconds * 1000, isOver => (isOver ? reply.send(body) : request.raw.socket.destroy()))
      return reply
    }
    case 'html':
      if (trouble.accepted ?? false) act()
      note(502)
      return reply.code(502).type('text/html').send(badGateway)
    case 'empty':
      if (trouble.accepted ?? false) act()
      note(500)
      return reply.code(500).send()
    case 'half': {
      const body = (trouble.accepted ?? true) ? act() : { messaging_product: 'whatsapp' }
      note(null)
      return sendHalf(reply, body)
    }
    default:
      if (trouble.kind === 'lost' && (trouble.accepted ?? true)) act()
      note(null)
      reply.hijack()
      request.raw.socket.destroy()
      return reply
  }
}

/** Promises the whole answer and cuts the connection in the middle of it. */
const sendHalf = (reply: FastifyReply, body: object): FastifyReply => {
  const text = JSON.stringify(body)
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': text.length })
  raw.write(text.slice(0, text.length / 2), () => raw.destroy())
  return reply
}

/** Calls `then` after `delayMs` with true, or with false when the world lets go before; never when the caller has gone. */
const hold = (world: World, request: FastifyRequest, delayMs: number, then: (isOver: boolean) => void): void => {
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
