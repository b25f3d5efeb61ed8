import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type HttpError, httpError, invalid } from '../errors/errors.ts'
import { fingerprint, type IdempotencyKey } from '../postgres/idempotency.ts'

/** Describes the headers of a request that may carry an Idempotency-Key. */
export const IdempotentHeaders = Type.Object({
  'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }),
  'idempotency-key': Type.Optional(
    Type.String({
      maxLength: 255,
      pattern: '^[\\x20-\\x7e]{1,255}$',
      description: 'A request repeated under the same key takes effect once: its response is kept for 24 hours.',
      sentence: 'The Idempotency-Key header must be 1 to 255 printable ASCII characters.',
    }),
  ),
})

/** Reads the key of a request with a JSON body. `scope` names the caller and the operation. */
export const readIdempotencyKey = (request: FastifyRequest, scope: string): IdempotencyKey | undefined => {
  const key = request.headers['idempotency-key']
  return typeof key === 'string' ? { scope, key, fingerprint: fingerprint(request.rawBody) } : undefined
}

/** Marks a response that was stored for an earlier request with the same key. */
export const markReplayed = (reply: FastifyReply, isReplayed: boolean): void => {
  if (isReplayed) reply.header('idempotency-replayed', 'true')
}

/**
 * Returns the error for a key that cannot be used. `what` names the content of the body: a batch, a list, a message.
 */
export const keyRefused = (kind: 'running' | 'other_body', what: string): HttpError => {
  if (kind === 'running') return httpError('idempotency_key_running', keyIsRunning, { retryAfterSeconds: 1 })
  const sentence = `This Idempotency-Key came with another body before. Use a new key for a new ${what}.`
  return httpError('idempotency_key_reused', 'The given data was invalid.', {
    errors: { 'idempotency-key': [sentence] },
  })
}

const keyIsRunning = 'A request with this Idempotency-Key is running. Repeat this one for its response.'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** true: no response of a POST is kept under a key. PATCH, PUT and DELETE keep none anyway. */
    refusesKeys?: boolean
  }
}

export const refusesKeys = { config: { refusesKeys: true } } as const
export const keyRefusal = 'An Idempotency-Key is refused: no response is kept under it.'
const keylessMethods = new Set<unknown>(['PATCH', 'PUT', 'DELETE'])

/** Refuses an Idempotency-Key where it would promise what the route does not do, and documents the refusal. */
export const refuseVainKeys = (app: FastifyInstance): void => {
  const sentence = 'Leave the Idempotency-Key header out: no response of this operation is kept under it.'
  app.addHook('onRoute', route => {
    if (!route.config?.refusesKeys && !keylessMethods.has(route.method)) return
    route.schema = { ...route.schema, description: `${route.schema?.description ?? ''} ${keyRefusal}`.trim() }
    route.preValidation = async (request: FastifyRequest) => {
      if (request.headers['idempotency-key'] !== undefined) throw invalid({ 'idempotency-key': [sentence] })
    }
  })
}
