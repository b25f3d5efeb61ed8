import type { FastifyReply, FastifyRequest } from 'fastify'
import { callNameOf } from '../graph/calls.ts'
import { GraphError } from '../graph/errors.ts'
import type { World } from '../world.ts'
import { breakAnswer, cut, hold, sendBadGateway, statusOf, takesEffect } from './break-answer.ts'
import { magicTrouble } from './magic.ts'
import type { Course, Trouble } from './trouble.ts'

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
  if (mode === 'html') return sendBadGateway(reply)
  if (mode === 'reset') return cut(reply)
  reply.hijack()
  hold(world, request, Infinity, () => request.raw.socket.destroy())
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
  const body = takesEffect(trouble) ? act() : { messaging_product: 'whatsapp' }
  world.calls.add(world.clock.now(), request, { httpStatus: statusOf(trouble), trouble: trouble.kind })
  return breakAnswer(world, request, reply, trouble, body)
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
