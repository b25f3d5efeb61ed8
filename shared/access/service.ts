import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { refusal } from '../edge/addresses.ts'
import { bearerToken, unauthenticated } from './authenticate.ts'

/** An onRequest hook: admits only the other service, by SERVICE_TOKEN. Compares in constant time. */
export const requireService = (serviceToken: string) => {
  const expected = digest(serviceToken)
  return async (request: FastifyRequest): Promise<void> => {
    const given = bearerToken(request.headers.authorization)
    if (given === undefined || !timingSafeEqual(digest(given), expected)) throw refusal(request, unauthenticated())
  }
}

/** Equal lengths for the comparison. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
