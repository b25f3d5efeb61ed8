import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { escapeHtml } from '../escape-html.ts'
import type { ApiDescription, Audience } from './description.ts'
import type { OpenApi } from './openapi.ts'
import { servePages } from './pages.ts'

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

declare module 'fastify' {
  interface FastifyInstance {
    /** Returns the document of all routes. */
    readDocument(): Promise<OpenApi>
  }
}

const hidden = { schema: { hide: true } }

/**
 * Serves /openapi.json, generated from the routes' schemas, and below /docs a page for each audience to read and try
 * the API. The first of these requests loads the code that writes them, since few processes get one.
 */
export const docs = (
  app: FastifyInstance,
  api: ApiDescription,
  { publicUrl: url, hidesDemo }: DocsOptions = {},
): void => {
  const { title, description } = api
  const tags = [...api.tags, ...commonTags]
  const all = { name: 'all', title: 'Requests', description, tags: tags.map(({ name }) => name) }
  const audiences = (api.audiences ?? [all]).map(audience => (hidesDemo ? hideLogin(audience) : audience))
  const pages = { title, description, audiences, url }
  const open = openOnce(app, () =>
    import('./docs-page.ts').then(({ openPages }) => openPages(app, routes, { ...api, tags }, pages)),
  )
  const routes = collectRoutes(app)
  app.decorate('readDocument', async () => (await open()).swagger() as unknown as OpenApi)
  app.get('/openapi.json', hidden, () => app.readDocument())

  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    const { method, url, publicUrl = '' } = request
    const headers = { ...request.headers, 'x-public-url': publicUrl }
    const response = await (await open()).inject({ method: method as 'GET', url, headers })
    if (response.statusCode === 404) return reply.callNotFound()
    const { connection: _one, date: _two, ...kept } = response.headers
    return reply.code(response.statusCode).headers(kept).send(response.rawPayload)
  }
  for (const { name } of audiences)
    for (const path of [`/docs/${name}`, `/docs/${name}/*`]) app.get(path, hidden, serve)
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

/** Collects the routes that the document describes, as they are added. */
const collectRoutes = (app: FastifyInstance): RouteOptions[] => {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', route => {
    if (route.method !== 'HEAD' && !route.schema?.hide) routes.push(route)
  })
  return routes
}

/** Opens an application with the first call that succeeds, and closes it with `app`. */
const openOnce = (app: FastifyInstance, open: () => Promise<FastifyInstance>): (() => Promise<FastifyInstance>) => {
  let opened: Promise<FastifyInstance> | undefined
  app.addHook('onClose', async () => void (await opened?.catch(() => undefined))?.close())
  return () => {
    opened ??= open().catch(error => {
      opened = undefined
      throw error
    })
    return opened
  }
}

const listPolicy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'"

/** Writes the page that lists the audiences. `base` leads from it to the root of the service. */
const listAudiences = (
  { title, description, audiences }: Pick<ApiDescription, 'title' | 'description'> & { audiences: readonly Audience[] },
  base: string,
): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}docs/${audiences[0]?.name}/static/theme/page.css">
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(description)}</p>
<ul>${audiences.map(each => writeLink(each, base)).join('\n')}</ul>
<p>For programs: <a href="${base}openapi.json">openapi.json</a> describes all requests, and
<a href="${base}health/ready">health/ready</a> says whether the service works.</p>
</main>
</body>
</html>
`

const writeLink = ({ name, title, description }: Audience, base: string): string =>
  `<li><a href="${base}docs/${name}">${title}</a>: ${escapeHtml(description)}</li>`

/** Lists the groups of operations that every service has. */
const commonTags = [{ name: 'operations', description: 'Health and metrics of the process.' }]
