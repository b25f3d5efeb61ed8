import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { refusal } from './addresses.ts'
import { unauthenticated } from './authenticate.ts'
import { bearerToken } from './bearer.ts'

/** An onRequest hook: lets only the other service pass, which knows SERVICE_TOKEN. Compares in constant time. */
export const requireService = (serviceToken: string) => {
  const expected = digest(serviceToken)
  return async (request: FastifyRequest): Promise<void> => {
    const given = bearerToken(request.headers.authorization)
    if (given === undefined || !timingSafeEqual(digest(given), expected)) throw refusal(request, unauthenticated())
  }
}

/** Equal lengths for the comparison. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
