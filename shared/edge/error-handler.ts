import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import {
  bodyTooLarge,
  findCode,
  type HttpError,
  httpError,
  isHttpError,
  isPlainHttpError,
  notFound,
  toBody,
} from '../errors/errors.ts'
import { CommitInDoubt, isUnavailable } from '../postgres/database.ts'
import { UnusableDatabase } from '../postgres/history.ts'
import { discardRefusedBody } from './connections.ts'

/** Configures Fastify's router and the router here that finds allowed methods. */
export const routerOptions = { ignoreTrailingSlash: true, maxParamLength: 255 }

/** Writes all error responses: JSON, `{message, code, errors?}` (docs/merchants/contract.md#error-body). */
export const handleErrors = (app: FastifyInstance): void => {
  const allowedMethods = collectMethods(app)

  app.setErrorHandler((error: FastifyError, request, reply) => send(request, reply, toHttpError(error, request), error))

  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? '/'
    const methods = allowedMethods(path)
    const allow = methods.join(', ')
    const refusal =
      allow && !methods.includes(request.method)
        ? httpError('method_not_allowed', `The ${request.method} method is not supported here; use ${allow}.`, {
            headers: { allow },
          })
        : notFound()
    return send(request, reply, refusal, refusal)
  })
}

const send = (request: FastifyRequest, reply: FastifyReply, error: HttpError, cause: Error): FastifyReply => {
  if (error.statusCode >= 500 && !isHttpError(cause)) request.log.error({ err: cause }, 'request.failed')
  return sendError(request, reply, error)
}

export const malformedAddress = (): HttpError => httpError('malformed_request', 'The address is malformed.')

const problemType = 'application/problem+json'

/** Writes a body of RFC 9457 if the client accepts one, as text: the route's serializer knows only the usual body. */
export const sendError = (request: FastifyRequest, reply: FastifyReply, error: HttpError): FastifyReply => {
  const { headers, retryAfterSeconds } = error.details
  if (headers) reply.headers(headers)
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  reply.code(error.statusCode)
  if (!request.raw.complete && reply.getHeader('connection') === 'close') discardRefusedBody(request.raw)
  if (!request.headers.accept?.includes(problemType)) return reply.send(toBody(error))
  const { message: title, code, ...details } = toBody(error)
  const problem = { type: `urn:courier:error:${code}`, title, status: error.statusCode, code, ...details }
  return reply.type(problemType).send(JSON.stringify(problem))
}

const toHttpError = (error: FastifyError, { method }: FastifyRequest): HttpError => {
  if (isHttpError(error)) return error
  const isInDoubt = error instanceof CommitInDoubt
  if (isInDoubt && !isSafe(method)) return httpError('outcome_unknown', inDoubt)
  const isClientError = error.statusCode !== undefined && error.statusCode < 500
  if (error instanceof UnusableDatabase) return httpError('unavailable', error.message, { retryAfterSeconds: 5 })
  if (isInDoubt || (!isClientError && isUnavailable(error)))
    return httpError('unavailable', unavailable, { retryAfterSeconds: 1 })
  switch (error.statusCode) {
    case 413:
      return bodyTooLarge()
    case 415:
      return httpError('unsupported_media_type', 'Send the body as application/json.')
    default:
      if (!isClientError) break
      return httpError((isPlainHttpError(error) && findCode(error.statusCode)) || 'malformed_request', error.message)
  }
  return httpError('internal_error', 'Something went wrong on our side. Quote the x-request-id of this response.')
}

/** Returns true for a request that only reads: its commit changes nothing. */
const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD'

const unavailable = 'The service is unavailable for a moment. Nothing was changed; repeat the request.'

/** Has no Retry-After: a client that repeats the request without an Idempotency-Key might do the work twice. */
const inDoubt =
  'It is not known whether the request took effect. Repeat it with the same Idempotency-Key; without one, check before you repeat it.'

/** Finds the methods that a path has routes for: Fastify itself responds with 404 to a wrong method. */
const collectMethods = (app: FastifyInstance): ((path: string) => string[]) => {
  const routes: { verb: HTTPMethod; url: string }[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const verb of [method].flat() as HTTPMethod[]) routes.push({ verb, url })
  })
  const open = () => {
    const router = findMyWay(routerOptions)
    for (const { verb, url } of routes) if (!router.hasRoute(verb, url)) router.on(verb, url, () => {})
    const verbs = [...new Set(routes.map(({ verb }) => verb))].sort()
    return (path: string) => verbs.filter(verb => router.find(verb, path))
  }
  // The router is built at the first unknown path: a start that does without it is faster.
  let find: ReturnType<typeof open> | undefined
  return path => {
    find ??= open()
    return find(path)
  }
}
