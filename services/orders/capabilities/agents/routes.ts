import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { ErrorBody, httpError, invalid, isHttpError, toBody } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OrderScope } from '../../core/access/merchant.ts'
import { buildRequest, createTools, type Tools } from './tools.ts'

const instructions =
  'Books and follows parcels of one merchant. Quote before you book, show your user the prices and warnings, and ' +
  'book the same content with its digest. Errors say how to fix each field. Take a suggested city, or ask your user.'

const rpc = {
  jsonrpc: Type.Literal('2.0'),
  id: Type.Optional(Type.Union([Type.String({ maxLength: 255 }), Type.Integer(), Type.Null()])),
}
const anyFields = Type.Optional(Type.Object({}, { additionalProperties: true }))
const call = { method: 'tools/call', params: { name: 'track', arguments: { waybill: 'DM00000001' } } }
const Message = Type.Object(
  { ...rpc, method: Type.String({ maxLength: 255 }), params: anyFields },
  { title: 'AgentMessage', examples: [{ jsonrpc: '2.0', id: 1, ...call }] },
)
const Answer = Type.Object(
  { ...rpc, result: anyFields, error: anyFields },
  { title: 'AgentAnswer', examples: [{ jsonrpc: '2.0', id: 1, result: { structuredContent: { data: {} } } }] },
)
const Refused = Type.Union([Answer, ErrorBody], { description: 'The message, or the request, is malformed.' })

const schema = {
  operationId: 'callTool',
  summary: 'List and call the tools of agents',
  description: 'Serves the Model Context Protocol, without sessions (docs/merchants/agents.md).',
  body: Message,
  response: { 200: Answer, 202: { type: 'null', description: 'A notification.' }, 400: Refused, 404: Refused },
}

type AgentOptions = { readonly serviceToken: string; readonly path?: string }

/** Serves tools. A call sends a request of this service as its caller: with its token, address, limits and errors. */
export const agentRoutes: FastifyPluginAsyncTypebox<AgentOptions> = async (app, { serviceToken, path = '/mcp' }) => {
  acceptJson(app)
  const digests = createDigests(serviceToken)
  let tools: Tools | undefined
  const hidden = path === '/mcp' ? {} : { hide: true }
  // The limit fits a thousand usual orders.
  const options = { ...refusesKeys, bodyLimit: 524_288, serializerCompiler: () => JSON.stringify }
  app.post(path, { ...options, schema: { ...schema, ...hidden } }, async (request, reply) => {
    tools ??= createTools(await app.readDocument())
    return reply.send((await serve(request, tools, createCaller(app, request, tools, digests))) as never)
  })
}

const createCaller =
  (app: FastifyInstance, request: FastifyRequest, tools: Tools, digests: ReturnType<typeof createDigests>) =>
  async (name: string, given: Record<string, unknown>) => {
    const { merchant, traceparent, ip: remoteAddress } = request
    const { authorization = '', 'x-tenant': tenant = '' } = request.headers
    const tool = tools.get(name)
    if (!tool) throw invalid({ name: [`There is no such tool. The tools are ${[...tools.keys()].join(', ')}.`] })
    const { method, url, body: payload } = buildRequest(tool, given)
    const isBooking = name === 'book'
    if (isBooking && !digests.isValid(String(given.digest), merchant, payload)) throw invalid({ digest: [notQuoted] })
    const response = await app.inject({
      ...{ method, url: name === 'quote' ? `${url}?dry_run=true` : url, remoteAddress },
      headers: {
        ...{ authorization, 'x-tenant': tenant, 'content-type': 'application/json' },
        ...(traceparent && { traceparent }),
        // Depends on the content alone: an agent that lost the response and quotes anew books nothing twice.
        ...(isBooking && { 'idempotency-key': hash('sha256', payload) }),
      },
      ...(method === 'POST' && { payload }),
    })
    const isError = response.statusCode !== 200
    const digest = name === 'quote' && !isError && { digest: digests.create(merchant, payload) }
    const { 'retry-after': retry, 'idempotency-replayed': isReplayed } = response.headers
    const repeat = isReplayed && { replayed: true, note: alreadyBooked }
    const wait = retry && { retry_after_seconds: Number(retry) }
    return { answer: { ...response.json(), ...digest, ...repeat, ...wait }, isError }
  }

const alreadyBooked =
  'An earlier call booked this, and nothing was created now. An equal parcel needs another order_no.'
const notQuoted =
  'This content was not quoted with this digest in the last hour. Call quote with the same content for a new digest.'

type CallTool = ReturnType<typeof createCaller>

const serve = async (request: FastifyRequest, tools: Tools, callTool: CallTool): Promise<Response> => {
  // Takes 35 MB and a fifth of a second, which processes without agents save.
  const sdk = await import('@modelcontextprotocol/server')
  const { version } = (await request.server.readDocument()).info
  const create = () => {
    const about = { name: 'courier', version }
    const server = new sdk.Server(about, { capabilities: { tools: {} }, instructions })
    const list = [...tools.values()].map(tool => tool.listed) as never
    server.setRequestHandler('tools/list', async () => ({ tools: list }))
    server.setRequestHandler('tools/call', async ({ params }) => {
      const calling = callTool(params.name, params.arguments ?? {})
      const { answer, isError } = await calling.catch(error => describe(error, request))
      const content = [{ type: 'text' as const, text: JSON.stringify(answer) }]
      return isError ? { content, isError } : { content, structuredContent: { ...answer } }
    })
    return server
  }
  const headers = { ...(request.headers as Record<string, string>), accept: 'application/json, text/event-stream' }
  const message = new Request('http://localhost/mcp', { method: 'POST', headers })
  const body = { parsedBody: request.body }
  if (!(await sdk.isLegacyRequest(message, request.body)))
    return sdk.createMcpHandler(create, { legacy: 'reject', maxSubscriptions: 0 }).fetch(message, body)
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await create().connect(transport)
  return transport.handleRequest(message, body)
}

/** Describes an error. One that is no response, as while the process closes, is logged: any call may be repeated. */
const describe = (error: unknown, { log }: FastifyRequest) => {
  if (isHttpError(error)) return { answer: toBody(error), isError: true }
  log.error({ err: error }, 'request.failed')
  return { answer: toBody(httpError('unavailable', failed)), isError: true }
}
const failed = 'The call failed on our side. Repeat it with the same arguments.'

const validMs = 3_600_000

/**
 * Signs what a merchant's agent quoted, with the secret that all processes share: one process accepts the digest of
 * another, and none keeps it. Each quote has a digest of its own.
 */
export const createDigests = (serviceToken: string, now = Date.now) => {
  const key = createHmac('sha256', serviceToken).update('quotes of agents').digest()
  const sign = ({ tenant, merchantId }: OrderScope, content: string, end: number): string =>
    `${end}.${createHmac('sha256', key).update([tenant, merchantId, end, content].join('\n')).digest('base64url')}`
  return {
    create: (merchant: OrderScope, content: string) => sign(merchant, content, now() + validMs),
    /** Returns true for a digest of the last hour, for this merchant and content. */
    isValid: (given: string, merchant: OrderScope, content: string): boolean => {
      const end = Number.parseInt(given, 10)
      const [one, other] = [given, sign(merchant, content, end)].map(text => Buffer.from(text)) as [Buffer, Buffer]
      return one.length === other.length && timingSafeEqual(one, other) && end > now()
    },
  }
}
