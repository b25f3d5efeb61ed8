import type { FastifyInstance } from 'fastify'
import { DomainError } from './errors.ts'

const bytesOfBody = new WeakMap<object, Buffer>()

/** JSON bodies for the routes of `app`; nothing else is taken. */
export const acceptJson = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => {
    // Portals announce JSON on every call, also on those without a body.
    if (bytes.length === 0) return done(null, undefined)
    try {
      const body = JSON.parse(bytes.toString())
      if (typeof body === 'object' && body !== null) bytesOfBody.set(body, bytes as Buffer)
      done(null, body)
    } catch {
      done(new DomainError('malformed', 'The body is not valid JSON.'))
    }
  })
}

/** The bytes that a body came as. */
export const bytesOf = (body: unknown): Buffer =>
  (typeof body === 'object' && body !== null && bytesOfBody.get(body)) || Buffer.alloc(0)
