import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { readPortalFiles } from './files.ts'

export interface PortalOptions {
  /** The address at which browsers reach orders. */
  readonly ordersUrl: string
}

/**
 * The policy admits scripts and styles from our files, and requests to the two services; nothing writes HTML into the
 * page.
 */
const policyOf = (ordersUrl: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    `connect-src 'self' ${new URL(ordersUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

/** The staff console. */
export const portalRoutes: FastifyPluginAsync<PortalOptions> = async (app, { ordersUrl }) => {
  const files = readPortalFiles()
  const headers = {
    'cache-control': 'no-cache',
    'content-security-policy': policyOf(ordersUrl),
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
  }
  const schema = { hide: true }

  const serve = (path: string, request: FastifyRequest, reply: FastifyReply) => {
    const file = files.get(path)
    if (!file) return reply.callNotFound()
    reply.headers(headers).header('etag', file.etag)
    if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
    return reply.type(file.type).send(file.bytes)
  }

  // The router treats both spellings alike; the page's own files are relative to the second.
  app.get('/portal', { schema }, async (request, reply) =>
    /^\/portal\/(\?|$)/.test(request.url) ? serve('index.html', request, reply) : reply.redirect('portal/'),
  )
  app.get('/portal/settings.json', { schema }, async (_request, reply) =>
    reply.headers(headers).send({ orders_url: ordersUrl }),
  )
  app.get<{ Params: { '*': string } }>('/portal/*', { schema }, async (request, reply) =>
    serve(request.params['*'], request, reply),
  )
}
