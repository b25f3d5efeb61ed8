import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { bodyTooLarge, type HttpError, httpError } from '../errors/errors.ts'
import { readAddress } from './addresses.ts'
import { rateLimited } from './limits.ts'
import { createGauges } from './metrics.ts'

/** Limits the body of routes that set no other limit: enough for a few short fields. */
export const smallBodyBytes = 4_096

/** Fastify caches the content types that it meets. */
const maxContentTypeLength = 255

/** Limits the bytes of request bodies that are being received or handled. */
export interface BytesInFlight {
  inAll: number
  ofAddress: number
}

/** Refuses bodies by their head, before a byte of them is read. */
export const refuseLargeBodies = (app: FastifyInstance): void => {
  app.addHook('onRequest', (request, reply, done) => {
    const { 'content-type': type = '' } = request.headers
    const length = readLength(request)
    // The getter routeOptions costs more than everything else here.
    const isTooLarge = length > smallBodyBytes && length > (request.routeOptions.bodyLimit ?? smallBodyBytes)
    // No parser reads the body after such a head; otherwise Node would read all of it before the next request.
    if (isTooLarge || (isBodyless(request) && request.headers['transfer-encoding'])) reply.header('connection', 'close')
    if (isTooLarge) done(bodyTooLarge())
    else if (type.length > maxContentTypeLength)
      done(httpError('unsupported_media_type', 'Send the body as application/json.'))
    else done()
  })
}

const readLength = ({ headers }: FastifyRequest): number => Number(headers['content-length'] ?? 0)

/** Returns true for the methods whose bodies Fastify does not read. */
const isBodyless = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'

/**
 * Bounds the bytes that all bodies hold until their responses are sent. A body counts by the bytes received, not
 * announced, unless it is small: a client that sends slowly leaves room for others.
 */
export const limitBytesInFlight = (app: FastifyInstance, limits: BytesInFlight, registry: Registry): void => {
  const ofAddresses = new Map<string, number>()
  let inAll = 0
  createGauges(registry, async () => ({ body_bytes_in_flight: inAll }), {
    body_bytes_in_flight: 'Bytes of request bodies that are being received or handled.',
  })

  const findRefusal = (address: string, more: number): HttpError | undefined => {
    if (inAll + more > limits.inAll) return httpError('unavailable', busy, { retryAfterSeconds: 1 })
    return (ofAddresses.get(address) ?? 0) + more > limits.ofAddress ? rateLimited(1) : undefined
  }
  const add = (address: string, bytes: number): void => {
    inAll += bytes
    const held = (ofAddresses.get(address) ?? 0) + bytes
    if (held > 0) ofAddresses.set(address, held)
    else ofAddresses.delete(address)
  }

  app.addHook('preParsing', (request, reply, payload, done) => {
    const length = readLength(request)
    if (isBodyless(request) || (length === 0 && !request.headers['transfer-encoding'])) return done(null, payload)
    // The client has disconnected: no `close` would end the count.
    if (reply.raw.closed) return done(null, payload)
    const address = readAddress(request)
    const refusal = findRefusal(address, length)
    if (refusal) {
      reply.header('connection', 'close')
      return done(refusal)
    }
    if (length > 0 && length <= smallBodyBytes) {
      add(address, length)
      reply.raw.once('close', () => add(address, -length))
      return done(null, payload)
    }
    let held = 0
    const release = (): void => {
      payload.off('data', take)
      add(address, -held)
      held = 0
    }
    const take = (chunk: Buffer): void => {
      const refusal = findRefusal(address, chunk.length)
      held += chunk.length
      add(address, chunk.length)
      if (!refusal) return
      release()
      // The parser responds with this error. It no longer listens once it has refused the body itself.
      if (payload.listenerCount('error') > 0) payload.emit('error', refusal)
    }
    // The parser starts the stream; this listener alone must not.
    payload.pause()
    payload.on('data', take)
    reply.raw.once('close', release)
    done(null, payload)
  })
}

const busy = 'The service is receiving too much at once. Nothing was changed; repeat the request.'
