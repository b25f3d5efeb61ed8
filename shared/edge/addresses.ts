import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HttpError } from '../errors/errors.ts'
import { Limit, rateLimited } from './limits.ts'
import { isAsWritten } from './paths.ts'

/** Limits one network address in each minute. */
export interface AddressLimits {
  requests: number
  /** Limits requests refused with 401 or 403, for an unknown token or signature. */
  refusals: number
}

/**
 * Returns the network that counts as one caller: an IPv4 address, or the first 64 bits of an IPv6 address. Connections
 * that were reset before they were accepted have no address, and count as one caller.
 */
export const findNetwork = (address = ''): string => {
  if (!address.includes(':')) return address
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const [first, last] = [head, tail ?? ''].map(text => (text === '' ? [] : text.split(':'))) as [string[], string[]]
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array<string>(Math.max(0, zeros)).fill('0'), ...last]
  return groups.slice(0, 4).map(shorten).join(':')
}

/** Identifies the network that a request came from. */
export const readAddress = (request: FastifyRequest): string => findNetwork(request.ip)

const shorten = (group: string): string => group.toLowerCase().replace(/^0+(?=.)/, '')

/**
 * Lists paths that are not counted by address: only our own machines request health and metrics; /internal/ costs one
 * comparison; webhooks come in bursts from few addresses, must all be accepted and have limits of their own.
 */
const uncounted = ['/health/', '/metrics', '/internal/', '/webhooks/']

/** Returns true for the uncounted paths; a path below them that no route serves is counted. */
const isUncounted = (request: FastifyRequest): boolean => {
  for (const path of uncounted) if (request.url.startsWith(path)) return !request.is404 && isAsWritten(request)
  return false
}

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Holds the seconds for which wrong tokens and signatures from this network get 429, after too many of them;
     * undefined: there were not too many.
     */
    guessingPause?: number
    /** Is true if the token or signature was wrong, or was not checked. */
    isGuess?: boolean
  }
}

/** Marks a request whose token or signature is wrong, or was not checked, and returns its error. */
export const refusal = (request: FastifyRequest, wrong: HttpError): HttpError => {
  const { guessingPause } = request
  request.isGuess = true
  return guessingPause === undefined ? wrong : rateLimited(guessingPause)
}

/** Limits the requests of each network address before authentication. Returns the function that counts a request. */
export const limitAddresses = (app: FastifyInstance, limits: AddressLimits) => {
  const requests = new Limit('address', limits.requests)
  const refusals = new Limit('refusals', limits.refusals)

  const countRequest = (request: FastifyRequest, reply: FastifyReply, done: (refusal?: HttpError) => void): void => {
    const address = readAddress(request)
    const pause = refusals.secondsSpent(address)
    if (pause > 0) request.guessingPause = pause
    if (isUncounted(request)) return done()
    const { left, seconds } = requests.count(address)
    requests.setHeaders(reply, left, seconds)
    done(left < 0 ? rateLimited(seconds) : undefined)
  }
  app.addHook('onRequest', countRequest)
  app.addHook('onSend', (request: FastifyRequest, reply: FastifyReply, payload, done) => {
    // A request that a role may not send is not a guess: the token was right.
    const { staff, merchant } = request as FastifyRequest & { merchant?: unknown }
    const isRefused = reply.statusCode === 401 || (reply.statusCode === 403 && !staff && !merchant)
    if (isRefused) refusals.count(readAddress(request))
    // Wrong tokens have a limit of their own: they leave the limit of all requests to the right tokens behind the same
    // address.
    if ((isRefused || request.isGuess) && !isUncounted(request)) requests.giveBack(readAddress(request))
    done(null, payload)
  })
  return countRequest
}
