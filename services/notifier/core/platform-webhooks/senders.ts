import { unauthenticated } from '@courier/shared/access/authenticate.ts'
import { readAddress, refusal } from '@courier/shared/edge/addresses.ts'
import { Limit, rateLimited } from '@courier/shared/edge/limits.ts'
import { atMost } from '@courier/shared/lru-limit.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { readSignature } from './verify.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Lists the limits that the webhook counts towards, each with its caller. */
    countedSenders?: (readonly [Limit, string])[]
  }
}

/** Repeats the API's own maximum, which limits any sender. */
export const maxBodyBytes = 3 * 1024 * 1024
const smallBytes = 64 * 1024
/** Limits large bodies with a wrong signature per minute, for all unknown addresses together and for each known one. */
const maxLarge = 20
const knownMilliseconds = 3_600_000

/**
 * Limits the webhooks that are verified. An address with a recent valid signature is unlimited, until it forges too
 * often: then only its small webhooks are, so that a genuine sender at the same address gets through. An unknown
 * address may send few webhooks, and fewer large ones, since each costs work before it proves forged: 3 MB take 2 ms to
 * verify after they were read. The limit of an address cannot replace these, since webhooks come in bursts from few
 * addresses.
 */
export const createSenders = (strangersPerMinute: number) => {
  const known = new LRUCache<string, true>({ ...atMost(10_000), ttl: knownMilliseconds })
  const strangers = new Limit('webhooks', strangersPerMinute)
  const large = new Limit('large webhooks', maxLarge)

  const count = (request: FastifyRequest, limit: Limit, caller: string): void => {
    const { left, seconds } = limit.count(caller)
    if (left < 0) throw rateLimited(seconds)
    request.countedSenders = [...(request.countedSenders ?? []), [limit, caller]]
  }

  return {
    /** Runs as an onRequest hook, before the body is read. */
    admit: async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      // Lets a refusal here end without waiting for the body.
      if (isLarge(request)) reply.header('connection', 'close')
      const signature = request.headers['x-hub-signature-256']
      if (request.method === 'POST' && !readSignature(String(signature))) {
        request.log.warn({ reason: signature ? 'malformed_signature' : 'no_signature' }, 'webhook.refused')
        throw refusal(request, unauthenticated())
      }
      // Fastify itself refuses larger bodies.
      if (readLength(request) > maxBodyBytes) return
      const network = readAddress(request)
      const pause = request.guessingPause
      const isKnown = known.has(network)
      if (pause !== undefined && (!isKnown || request.method !== 'POST')) throw rateLimited(pause)
      if (!isKnown) count(request, strangers, network)
      if (isLarge(request) && (!isKnown || pause !== undefined)) count(request, large, isKnown ? network : 'unknown')
      reply.removeHeader('connection')
    },
    welcome: (request: FastifyRequest): void => void known.set(readAddress(request), true),
    /** Runs as an onResponse hook: only refused requests count. */
    settle: async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      if (reply.statusCode >= 400 && reply.statusCode < 500) return
      for (const [limit, caller] of request.countedSenders ?? []) limit.giveBack(caller)
    },
  }
}

/** Returns true for a large request, and for a chunked one, whose length is unknown. */
const isLarge = (request: FastifyRequest): boolean =>
  request.headers['transfer-encoding'] !== undefined || readLength(request) > smallBytes

const readLength = ({ headers }: FastifyRequest): number => Number(headers['content-length'] ?? 0)
