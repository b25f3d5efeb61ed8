import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import courier from '../../package.json' with { type: 'json' }
import { errorResponses } from '../errors/errors.ts'
import { type Audience, listAudiences, serveAudience } from './docs-page.ts'
import { completeDocument, type OpenApi } from './openapi.ts'
import { servePages } from './pages.ts'

export interface ApiDescription {
  title: string
  description: string
  /** Lists the groups of operations, in the order of the page. */
  tags: { name: string; description: string }[]
  /** Describes the requests that the service sends, by name; their schemas are read like those of routes. */
  webhooks?: Record<string, object>
  /** Without audiences there is one page for all, and none at `/`. */
  audiences?: Audience[]
  /** Lists the pages of docs/ that a program reads first, such as merchants/contract. Without them none is served. */
  pages?: readonly string[]
}

const rules =
  'A request with an Idempotency-Key parameter takes effect once for each key, and Idempotency-Replayed: true marks a repeated ' +
  'response. Some requests refuse that header, as their description says. All others ignore it: they only read, log in or ' +
  'log out, or come from another service. Every response has an X-Request-Id to quote in questions. Responses below /api/ ' +
  'carry RateLimit and RateLimit-Policy; responses to requests that may succeed later carry Retry-After, in seconds.'

/** Replaces the demo's login with placeholders: where the demo is hidden, nobody should try it. */
const hideLogin = (audience: Audience): Audience => {
  const { quickStart = '' } = audience
  const named = quickStart.replace(/"(email|password)": "[^"]*"/g, '"$1": "YOUR $1"')
  return { ...audience, ...(named && { quickStart: named.replace(/(X-tenant: |--tenant )demo/g, '$1COMPANY') }) }
}

interface DocsOptions {
  publicUrl?: string | undefined
  /** Leaves out the demo's login. */
  hidesDemo?: boolean | undefined
}

const hidden = { schema: { hide: true } }

/** Lists the error statuses that any request of a kind may get; a route's schema names the others. */
const listUsualErrors = (schema: FastifySchema, method: string | string[], path: string): number[] => {
  const { security = [], headers, body, querystring } = schema as FastifySchema & { headers?: { properties: object } }
  // Any request may be too slow, or its headers or body too large.
  const statuses = [408, 413, 431]
  // A segment of the path may be overlong.
  if (path.includes(':')) statuses.push(400)
  if (security.length === 0) return statuses
  if (security.some(scheme => 'token' in scheme) || body !== undefined) statuses.push(400)
  if (/:(id|waybill)\b/.test(path)) statuses.push(404)
  if (method !== 'GET') statuses.push(415)
  if (body !== undefined || querystring !== undefined) statuses.push(422)
  if (headers && 'idempotency-key' in headers.properties) statuses.push(409)
  return [...statuses, 401, 405, 429, 503]
}

/**
 * Serves /openapi.json, generated from the routes' schemas, and below /docs a page for each audience to read and try
 * the API.
 */
export const docs = async (
  app: FastifyInstance,
  api: ApiDescription,
  { publicUrl: url, hidesDemo }: DocsOptions = {},
): Promise<void> => {
  const { title, description, webhooks } = api
  const tags = [...api.tags, ...commonTags]
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title,
        version: courier.version,
        description: `${description} ${rules}`,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      // Without a configured URL, the document refers to the origin that it was read from.
      servers: [{ url: url ?? '/' }],
      tags,
      ...(webhooks && { webhooks }),
      components: { securitySchemes },
    },
    // Without this, a path that begins as the configured URL ends would lose that part.
    stripBasePath: false,
    transform: ({ schema, url, route }) => ({
      url,
      schema: {
        ...schema,
        ...(schema?.body !== undefined && { 'x-max-body-bytes': route.bodyLimit ?? app.initialConfig.bodyLimit }),
        response: {
          ...errorResponses(...listUsualErrors(schema ?? {}, route.method, url)),
          ...(schema?.response as object),
        },
      },
    }),
    transformObject: generated => completeDocument((generated as { openapiObject: object }).openapiObject) as object,
  })
  const document = () => app.swagger() as unknown as OpenApi
  app.get('/openapi.json', hidden, async () => document())

  const all = { name: 'all', title: 'Requests', description, tags: tags.map(({ name }) => name) }
  const audiences = (api.audiences ?? [all]).map(audience => (hidesDemo ? hideLogin(audience) : audience))
  const pages = { title, description, audiences, document, url }
  for (const audience of audiences) await serveAudience(app, pages, audience)
  if (api.pages) servePages(app, { title, description, pages: api.pages, audiences })
  const sendList = (request: FastifyRequest, reply: FastifyReply) => {
    const depth = request.url.split('?', 1)[0]?.split('/').length ?? 0
    reply.header('content-security-policy', listPolicy).type('text/html; charset=utf-8')
    return reply.send(listAudiences(pages, '../'.repeat(depth - 2)))
  }
  app.get('/docs', hidden, sendList)
  if (!api.audiences) return
  app.get('/', hidden, (request, reply) => {
    if (request.headers.accept?.includes('text/html')) return sendList(request, reply)
    const paths = Object.fromEntries(audiences.map(({ name }) => [name, `/docs/${name}`]))
    return reply.send({ name: title, docs: paths, openapi: '/openapi.json', health: '/health/ready' })
  })
}

const listPolicy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'"

const commonTags = [{ name: 'operations', description: 'Health and metrics of the process.' }]

const securitySchemes = {
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of a merchant or of a member of staff, without the word Bearer.',
  },
  service: {
    type: 'http',
    scheme: 'bearer',
    description: 'SERVICE_TOKEN: authenticates the services to each other.',
  },
} as const
