import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { errorBody, GraphError, servedVersion } from '../graph/errors.ts'
import type { World } from '../world/world.ts'
import { meetBeforeReading } from './respond.ts'

/** Adds everything that the requests of the messaging API share: headers, parsing, errors, latency, outages. */
export const respondAsGraph = (app: FastifyInstance, world: World): void => {
  readBodiesLeniently(app)

  app.addHook('onRequest', async (request, reply) => {
    const { version } = request.params as { version?: string }
    reply.headers({
      'facebook-api-version': servedVersion(version),
      'cache-control': 'private, no-cache, no-store, must-revalidate',
    })
    return meetBeforeReading(world, request, reply)
  })

  app.addHook('onSend', (_request, _reply, payload, done) => {
    const { answer_latency_ms } = world.behaviour
    if (answer_latency_ms === 0) done(null, payload)
    else setTimeout(done, answer_latency_ms, null, payload)
  })

  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const refusal = error instanceof GraphError ? error : asGraphError(error)
    if (refusal !== error && refusal.status >= 500) request.log.error({ err: error }, 'request.failed')
    return refuse(world, request, reply, refusal)
  })
}

/** Treats a body that is not JSON, or whose content type is not JSON, as no body at all. */
const readBodiesLeniently = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    try {
      done(null, JSON.parse(text as string))
    } catch {
      done(null, undefined)
    }
  })
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, _text, done) => done(null, undefined))
}

const refuse = (world: World, request: FastifyRequest, reply: FastifyReply, error: GraphError): FastifyReply => {
  const { retryAfterSeconds } = error.options
  const details = error.options.details ?? error.message
  world.requests.add(request, { httpStatus: error.status, code: error.code, details })
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  if (authenticationCodes.includes(error.code))
    reply.header(
      'www-authenticate',
      `OAuth "Facebook Platform" "invalid_token" "${error.message.replaceAll('"', "'")}"`,
    )
  return reply.code(error.status).send(errorBody(error))
}

const authenticationCodes = [0, 10, 104, 190, 200]

const asGraphError = ({ statusCode = 500 }: { statusCode?: number }): GraphError =>
  statusCode < 500
    ? new GraphError(100, { status: statusCode, details: 'The request cannot be read.' })
    : new GraphError(1, { status: 500 })

/** Responds to every other path below a version. */
export const unknownPaths: FastifyPluginAsync = async app => {
  app.all('/*', { schema: { hide: true } }, async request => {
    const path = (request.params as { '*': string })['*']
    const unknown = path.split('/').slice(1).join('/').slice(0, 200)
    throw new GraphError(2500, { message: `Unknown path components: /${unknown}`, status: 400 })
  })
}
