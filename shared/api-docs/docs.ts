import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import courier from '../../package.json' with { type: 'json' }
import { errorResponses } from '../errors/errors.ts'
import { type Audience, hidden, listAudiences, serveAudience } from './docs-page.ts'
import { completeDocument, type DocumentOptions, type OpenApi } from './openapi.ts'

export interface ApiDescription extends DocumentOptions {
  title: string
  description: string
  /** The groups of operations, in the order of the page. */
  tags: { name: string; description: string }[]
  /** Without them there is one for all, and no page at `/`. */
  audiences?: Audience[]
}

const keyRule =
  'A request with an Idempotency-Key parameter takes effect once for each key. Some requests refuse that header, as their ' +
  'description says. All others ignore it: they only read, log in or log out.'

/** Where the demo's login is not to be shown: nobody should try it there. */
const hideLogin = (audience: Audience): Audience => {
  const { quickStart = '' } = audience
  const named = quickStart.replace(/"(email|password)": "[^"]*"/g, '"$1": "YOUR $1"')
  return { ...audience, ...(named && { quickStart: named.replace(/(X-tenant: |--tenant )demo/g, '$1COMPANY') }) }
}

interface DocsOptions {
  publicUrl?: string | undefined
  /** Leaves the login of the demo out. */
  hidesDemo?: boolean | undefined
}

/** Serves /openapi.json, generated from the routes' schemas, and below /docs a page for each audience to read and try it. */
export const docs = async (
  app: FastifyInstance,
  given: ApiDescription,
  { publicUrl: url, hidesDemo }: DocsOptions = {},
): Promise<void> => {
  const api = hidesDemo && given.audiences ? { ...given, audiences: given.audiences.map(hideLogin) } : given
  const { tags, webhooks, audiences: _, ...info } = api
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        ...info,
        version: courier.version,
        description: `${info.description} ${keyRule}`,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      // Without a configured one, whatever the document was read from.
      servers: [{ url: url ?? '/' }],
      tags: [...tags, ...commonTags],
      components: { securitySchemes },
    },
    // A path may begin with what the configured URL ends with.
    stripBasePath: false,
    transform: ({ schema, url, route }) => ({
      url,
      schema: {
        ...schema,
        ...(schema?.body !== undefined && { 'x-max-body-bytes': route.bodyLimit ?? app.initialConfig.bodyLimit }),
        // Any request may have a head or a size that is refused.
        response: { ...errorResponses(408, 413, 431), ...(schema?.response as object) },
      },
    }),
  })
  let complete: OpenApi | undefined
  const document = (): OpenApi => {
    complete ??= completeDocument(app.swagger(), { webhooks })
    return complete
  }
  app.get('/openapi.json', hidden, async () => document())
  await servePages(app, api, document, url)
}

const servePages = async (app: FastifyInstance, api: ApiDescription, document: () => OpenApi, url?: string) => {
  const { title, description, tags } = api
  const names = [...tags, ...commonTags].map(({ name }) => name)
  const { audiences = [{ name: 'all', title: 'Requests', description, tags: names }] } = api
  const docs = { title, description, audiences, document, url }
  for (const audience of audiences) await serveAudience(app, docs, audience)

  const sendList = (request: FastifyRequest, reply: FastifyReply) => {
    const depth = request.url.split('?', 1)[0]?.split('/').length ?? 0
    reply.header('content-security-policy', listPolicy).type('text/html; charset=utf-8')
    return reply.send(listAudiences(docs, '../'.repeat(depth - 2)))
  }
  app.get('/docs', hidden, sendList)
  if (!api.audiences) return
  app.get('/', hidden, (request, reply) => {
    if (request.headers.accept?.includes('text/html')) return sendList(request, reply)
    const pages = Object.fromEntries(audiences.map(({ name }) => [name, `/docs/${name}`]))
    return reply.send({ name: title, docs: pages, openapi: '/openapi.json', health: '/health/ready' })
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
