import type { FastifyInstance, FastifyRequest } from 'fastify'
import { notFound } from '../errors/errors.ts'

/** Matches characters that the router may not read as they are written. */
const isOdd = /^[^/]|[%#]|\/\.|\/(\?|$)/

/**
 * Returns true if the path of a matched request is spelt as its route is. The router decodes `%6d` to m, ends a path at
 * #, accepts an absolute URL and ignores a trailing slash: ways around the rules of a proxy in front of it.
 */
export const isAsWritten = (request: FastifyRequest): boolean => {
  if (!isOdd.test(request.url)) return true
  const sent = (request.url.split('?', 1)[0] ?? '').split('/')
  const written = (request.routeOptions.url ?? '').split('/')
  if (sent[0] !== '' || sent.some(part => part.includes('#') || /^(\.|%2e){1,2}$/i.test(part))) return false
  // Merchants' programs request the API with a trailing slash, and people request pages with one.
  if (
    /^(api|docs|portal|desk|rider|t)$/.test(sent[1] ?? '') &&
    sent.length === written.length + 1 &&
    sent.at(-1) === ''
  )
    sent.pop()
  if (sent.length !== written.length && written.at(-1) !== '*') return false
  return written.every((part, index) => part.startsWith(':') || part === '*' || part === sent[index])
}

/** Serves paths only as they are documented; in parameters anything may be percent-encoded. */
export const refuseOddPaths = (app: FastifyInstance): void => {
  app.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 || isAsWritten(request) ? undefined : notFound())
  })
}
