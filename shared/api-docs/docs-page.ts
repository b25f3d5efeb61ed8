import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify, { type FastifyInstance, type FastifyRequest, type FastifySchema, type RouteOptions } from 'fastify'
import courier from '../../package.json' with { type: 'json' }
import { errorResponses } from '../errors/errors.ts'
import type { ApiDescription, Audience } from './description.ts'
import { completeDocument, type OpenApi, selectPart } from './openapi.ts'

interface Pages {
  title: string
  description: string
  audiences: readonly Audience[]
  /** Holds the configured address of the service. */
  url: string | undefined
}

const rules =
  'A request with an Idempotency-Key parameter takes effect once for each key, and Idempotency-Replayed: true marks a repeated ' +
  'response. Some requests refuse that header, as their description says. All others ignore it: they only read, log in or ' +
  'log out, or come from another service. Every response has an X-Request-Id to quote in questions. Responses below /api/ ' +
  'carry RateLimit and RateLimit-Policy; responses to requests that may succeed later carry Retry-After, in seconds.'

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
 * Creates the application that writes the document and the pages of `app`, from the routes of `app` and their schemas.
 * Requests name the address of `app` in `x-public-url`.
 */
export const openPages = async (
  app: FastifyInstance,
  routes: readonly RouteOptions[],
  { tags, webhooks }: ApiDescription,
  pages: Pages,
): Promise<FastifyInstance> => {
  const { title, description, url } = pages
  const docsApp = Fastify()
  docsApp.setValidatorCompiler(() => () => true)
  docsApp.setSerializerCompiler(() => data => JSON.stringify(data))
  docsApp.decorateRequest('publicUrl', {
    getter(this: FastifyRequest) {
      return String(this.headers['x-public-url'])
    },
  })
  await docsApp.register(swagger, {
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
  for (const { method, url, schema, bodyLimit } of routes)
    docsApp.route({ method, url, handler: async () => {}, ...(schema && { schema }), ...(bodyLimit && { bodyLimit }) })
  for (const audience of pages.audiences) await serveAudience(docsApp, pages, audience)
  await docsApp.ready()
  return docsApp
}

const readAsset = (filename: string) => ({
  filename,
  content: readFileSync(join(import.meta.dirname, 'docs-page', filename), 'utf8'),
})

/** Serves an audience's page: Swagger UI with that part of the document, only from files on this machine. */
const serveAudience = async (app: FastifyInstance, pages: Pages, audience: Audience): Promise<void> => {
  const { url } = pages
  const path = `/docs/${audience.name}`
  const title = `${pages.title} · ${audience.title}`
  const address = url === undefined ? undefined : new URL(url)
  // The plugin decorates the instance in which it is registered, so each audience has its own instance.
  await app.register(async scope => {
    await scope.register(swaggerUi, {
      routePrefix: path,
      indexPrefix: address?.pathname ?? '/',
      // Requests that the page sends go to the configured URL.
      staticCSP: `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ${address?.origin ?? ''}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      theme: { title, css: [readAsset('page.css')], js: [readAsset('page.js')] },
      transformSpecification: (_whole, { publicUrl }) => {
        const part = selectPart(app.swagger() as unknown as OpenApi, audience.tags)
        return { ...part, info: { ...part.info, title, description: introduce(pages, audience, publicUrl) } }
      },
      transformSpecificationClone: false,
      uiConfig: {
        layout: 'BaseLayout',
        // Deep links would nest links in buttons.
        deepLinking: false,
        persistAuthorization: true,
        defaultModelsExpandDepth: -1,
        // The highlighting has colours with too little contrast.
        syntaxHighlight: false,
      },
    })
  })
}

/** Writes the text above the requests, in Markdown. */
const introduce = ({ audiences }: Pages, audience: Audience, publicUrl: string): string => {
  const { description, quickStart } = audience
  const others = audiences.filter(each => each !== audience)
  const links = others.map(({ name, title }) => `[${title}](${publicUrl}/docs/${name})`)
  return [
    description,
    ...(quickStart === undefined ? [] : [`\`\`\`sh\n${quickStart.replaceAll('$URL', publicUrl)}\n\`\`\``]),
    '**Requests that you send from this page are real.** The page asks before it sends one that changes anything.',
    ...(links.length > 0 ? [`Other requests: ${links.join(', ')}`] : []),
  ].join('\n\n')
}

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
