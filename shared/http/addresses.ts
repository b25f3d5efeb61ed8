import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { DomainError } from './errors.ts'
import { Limit, tooManyCalls } from './limits.ts'

/** What one network address may do in a minute. */
export interface AddressLimits {
  calls: number
  /** Calls that were refused because nobody knew their token or signature: 401 and 403. */
  refusals: number
}

/** The network that counts as one caller: an IPv4 address, the first 64 bits of an IPv6 address. */
export const networkOf = (address: string): string => {
  if (!address.includes(':')) return address
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array<string>(Math.max(0, zeros)).fill('0'), ...last]
  return groups.slice(0, 4).map(shortest).join(':')
}

/** The network that a call came from. */
export const addressOf = (request: FastifyRequest): string => networkOf(request.ip)

const shortest = (group: string): string => group.toLowerCase().replace(/^0+(?=.)/, '')

/**
 * These are not counted by address. Health and figures are asked by machines of ours; /internal/ is proved by one
 * comparison; of webhooks a burst comes from few addresses, and each must be taken.
 */
const uncounted = ['/health/', '/metrics', '/internal/', '/webhooks/']

const isUncounted = (url: string): boolean => {
  for (const path of uncounted) if (url.startsWith(path)) return true
  return false
}

/** Of calls whose address was refused too often lately: for how many seconds it guesses no more. */
const pauses = new WeakMap<FastifyRequest, number>()

/** For how many seconds no unknown token or signature of this call's address is tried; undefined: it is. */
export const guessingPause = (request: FastifyRequest): number | undefined => pauses.get(request)

/** How a call is refused whose token or signature is wrong, or was not tried. */
export const refusal = (request: FastifyRequest, wrong: DomainError): DomainError => {
  const seconds = pauses.get(request)
  return seconds === undefined ? wrong : tooManyCalls(seconds)
}

/** Limits the calls of each network address before anyone asks who is calling. */
export const limitAddresses = (app: FastifyInstance, limits: AddressLimits): void => {
  const calls = new Limit('address', limits.calls)
  const refusals = new Limit('refusals', limits.refusals)

  app.addHook('onRequest', (request, reply, done) => {
    const address = addressOf(request)
    const pause = refusals.secondsSpent(address)
    if (pause > 0) pauses.set(request, pause)
    if (isUncounted(request.url)) return done()
    const { left, seconds } = calls.count(address)
    calls.tell(reply, left, seconds)
    done(left < 0 ? tooManyCalls(seconds) : undefined)
  })
  app.addHook('onSend', (request: FastifyRequest, reply: FastifyReply, payload, done) => {
    if (reply.statusCode === 401 || reply.statusCode === 403) refusals.count(addressOf(request))
    done(null, payload)
  })
}

/** How long an address is known for a good signature. */
const knownMilliseconds = 3_600_000

/** Addresses that good signatures came from: a forger behind the same address does not keep those from being taken. */
export const createKnownAddresses = () => {
  const known = new LRUCache<string, true>({ max: 10_000, ttl: knownMilliseconds })
  return {
    add: (request: FastifyRequest): void => void known.set(addressOf(request), true),
    /** An onRequest hook: an address that was refused too often and is not known waits. */
    admit: async (request: FastifyRequest): Promise<void> => {
      const seconds = guessingPause(request)
      if (seconds !== undefined && !known.has(addressOf(request))) throw tooManyCalls(seconds)
    },
  }
}
