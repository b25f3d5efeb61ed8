import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Lists the response headers that scripts may read. */
const exposedHeaders =
  'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Idempotency-Replayed, Location, ' +
  'ETag, X-Print-Warnings, WWW-Authenticate'

/** Sets the seconds for which a browser need not repeat a preflight; each browser caps them at its own maximum. */
const maxAge = 86_400

/** Matches the requests of merchants, their customers and their agents. */
const isOpen = /^\/(api\/(public|merchant)\/|mcp(?![^/?])|\.well-known\/oauth-)/

/** Is the value of CORS_ORIGINS that allows only the portal's origins. */
const none = 'none'

/**
 * Lets scripts of the `configured` origins (`*`, `none`, or a comma-separated list) request /api/ and what is open. By
 * default, scripts of all origins may send only the requests that are open. Scripts of `portal` origins may request
 * /api/staff/ in addition. Requests carry bearer tokens and no cookies: credentials are never allowed.
 */
export const allowOrigins = async (app: FastifyInstance, configured?: string, portal?: string): Promise<void> => {
  const listed = configured === none ? false : configured?.split(',')
  const portalOrigins = portal?.split(',')
  const chooseOrigin = (url: string): '*' | string[] | false => {
    if (!url.startsWith('/api/') && !isOpen.test(url)) return false
    if (portalOrigins && url.startsWith('/api/staff/')) return [...(listed || []), ...portalOrigins]
    return listed ?? (isOpen.test(url) ? '*' : false)
  }
  const chooseOptions = ({ headers, url }: FastifyRequest): FastifyCorsOptions => ({
    // Only browsers send an origin.
    origin: headers.origin === undefined ? false : chooseOrigin(url),
    methods: 'GET, HEAD, POST, PUT, PATCH, DELETE',
    exposedHeaders,
    maxAge,
    // No route serves any other OPTIONS request.
    preflight: headers['access-control-request-method'] !== undefined,
  })
  await app.register(cors, { delegator: (request, done) => done(null, chooseOptions(request)) })
}
