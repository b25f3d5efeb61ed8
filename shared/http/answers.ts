import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { CommitInDoubt, isUnavailable } from '../database.ts'
import { DomainError } from './errors.ts'

/** How paths are read, here and by Fastify. */
export const routerOptions = { ignoreTrailingSlash: true, maxParamLength: 255 }

/** Makes every answer other than success a JSON body `{message, errors?}` (spec.md 2.5), in this one place. */
export const answerErrors = (app: FastifyInstance): void => {
  const allowedMethods = collectMethods(app)

  app.setErrorHandler((error: FastifyError, request, reply) => send(request, reply, asDomainError(error), error))

  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? '/'
    const methods = allowedMethods(path)
    const allow = methods.join(', ')
    const refusal =
      allow && !methods.includes(request.method)
        ? new DomainError('method_not_allowed', `The ${request.method} method is not supported here; use ${allow}.`, {
            headers: { allow },
          })
        : new DomainError('not_found', 'There is nothing at this address.')
    return send(request, reply, refusal, refusal)
  })
}

const send = (request: FastifyRequest, reply: FastifyReply, answer: DomainError, cause: Error): FastifyReply => {
  if (answer.status >= 500 && !(cause instanceof DomainError)) request.log.error({ err: cause }, 'request.failed')
  const { headers, retryAfterSeconds } = answer.details
  if (headers) reply.headers(headers)
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  return reply.code(answer.status).send(answer.body)
}

const asDomainError = (error: FastifyError): DomainError => {
  if (error instanceof DomainError) return error
  if (error instanceof CommitInDoubt) return new DomainError('unavailable', inDoubt)
  const isOfCaller = error.statusCode !== undefined && error.statusCode < 500
  if (!isOfCaller && isUnavailable(error)) return new DomainError('unavailable', unavailable, { retryAfterSeconds: 1 })
  switch (error.statusCode) {
    case 413:
      return new DomainError('too_large', 'The body is too large. Send it in smaller parts.')
    case 415:
      return new DomainError('unsupported_media_type', 'Send the body as application/json.')
    default:
      if (isOfCaller) return new DomainError('malformed', error.message)
      return new DomainError('internal', 'Something went wrong on our side. Quote the x-request-id of this answer.')
  }
}

const unavailable = 'The service is unavailable for a moment. Nothing was changed; repeat the call.'

/** No Retry-After: a client that repeats without a key would do it twice. */
const inDoubt =
  'It is not known whether the call was done. Repeat it with the same Idempotency-Key; without one, look before you repeat.'

/** Which methods a path has routes for: Fastify itself answers 404 to a wrong method. */
const collectMethods = (app: FastifyInstance): ((path: string) => string[]) => {
  const router = findMyWay(routerOptions)
  const methods = new Set<HTTPMethod>()
  app.addHook('onRoute', ({ method, url }) => {
    for (const verb of [method].flat() as HTTPMethod[]) {
      methods.add(verb)
      if (!router.hasRoute(verb, url)) router.on(verb, url, () => {})
    }
  })
  return path => [...methods].filter(method => router.find(method, path)).sort()
}
