import type { FastifyReply, FastifyRequest } from 'fastify'
import { GraphError } from '../graph/errors.ts'
import { requestNameOf } from '../world/request-log.ts'
import type { World } from '../world/world.ts'
import { breakResponse, cut, statusOf, takesEffect } from './break-response.ts'

/** Applies an outage, or a script that does not wait for the body, to a request. */
export const meetBeforeReading = (
  world: World,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined => {
  const refused = world.scripts.takeBeforeReading(requestNameOf(request.url))
  const mode = refused ? 'reset' : world.outage
  if (mode === null) return undefined
  if (mode === 'unavailable') throw new GraphError(2, { transient: true })
  world.requests.add(Date.now(), request, { httpStatus: null, trouble: refused ? 'refused' : `outage ${mode}` })
  if (mode === 'reset') return cut(reply)
  world.hanging.add(request.raw.socket)
  return reply.hijack()
}

/**
 * Responds to a request that has passed its checks: with the result of `act`, or with the trouble of a script. `act`
 * makes the request take effect; it may still throw a GraphError.
 */
export const respond = (
  world: World,
  request: FastifyRequest,
  reply: FastifyReply,
  act: () => object,
  recipient?: string,
): FastifyReply => {
  const trouble = world.scripts.take(requestNameOf(request.url), recipient)
  if (trouble?.kind === 'error')
    throw new GraphError(trouble.code, {
      details: trouble.details,
      status: trouble.http_status,
      retryAfterSeconds: trouble.retry_after_seconds,
    })
  if (!trouble) {
    const body = act()
    world.requests.add(Date.now(), request, { httpStatus: 200 })
    return reply.send(body)
  }
  const body = takesEffect(trouble) ? act() : { messaging_product: 'whatsapp' }
  world.requests.add(Date.now(), request, { httpStatus: statusOf(trouble), trouble: trouble.kind })
  return breakResponse(reply, trouble, body)
}
