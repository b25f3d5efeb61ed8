import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { chooseVersion, GraphError, writeErrorBody } from '../graph/errors.ts'
import type { Trouble } from '../trouble/trouble.ts'
import { nameRequest } from '../world/request-log.ts'
import type { World } from '../world/world.ts'

/** Adds everything that the requests of the messaging API share: headers, parsing, errors, latency, outages. */
export const respondAsGraph = (app: FastifyInstance, world: World): void => {
  readBodiesLeniently(app)

  app.addHook('onRequest', async (request, reply) => {
    const { version } = request.params as { version?: string }
    reply.headers({
      'facebook-api-version': chooseVersion(version),
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
    const refusal = error instanceof GraphError ? error : toGraphError(error)
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
  return reply.code(error.status).send(writeErrorBody(error))
}

const authenticationCodes = [0, 10, 104, 190, 200]

const toGraphError = ({ statusCode = 500 }: { statusCode?: number }): GraphError =>
  statusCode < 500
    ? new GraphError(100, { status: statusCode, details: 'The request cannot be read.' })
    : new GraphError(1, { status: 500 })

/** Responds with error 2500 to every other path below a version. */
export const unknownPathRoutes: FastifyPluginAsync = async app => {
  app.all('/*', { schema: { hide: true } }, async request => {
    const path = (request.params as { '*': string })['*']
    const unknown = path.split('/').slice(1).join('/').slice(0, 200)
    throw new GraphError(2500, { message: `Unknown path components: /${unknown}`, status: 400 })
  })
}

/** Applies an outage, or a script that does not wait for the body, to a request. */
const meetBeforeReading = (world: World, request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined => {
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

/** Maps troubles to the HTTP status of their complete response; other troubles cut the response off. */
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
