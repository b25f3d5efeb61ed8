import { type LookupAddress, type LookupOptions, promises } from 'node:dns'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Agent } from 'undici'

/** Lists public addresses that lead to private services: Azure's metadata and DNS. */
const metadataAddresses = ['168.63.129.16']

/**
 * Returns true for an IP address of the internet: not a private, loopback, link-local, shared, reserved, multicast or
 * tunnel address.
 */
export const isPublicAddress = (address: string): boolean => {
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast' || metadataAddresses.includes(parsed.toString())) return false
  // Other IPv6 addresses, such as ::127.0.0.1, are assigned to nobody.
  return parsed.kind() === 'ipv4' || parsed.match(ipaddr.parse('2000::'), 3)
}

const privateNames = /(^|\.)(localhost|local|internal|home\.arpa)$/i

/** Returns the error of an endpoint's URL, as the end of a sentence. `allowsPrivate` is for development. */
export const findUrlProblem = (text: string, allowsPrivate: boolean): string | undefined => {
  if (!URL.canParse(text)) return 'is not a URL'
  const { protocol, username, password, hostname } = new URL(text)
  if (protocol !== 'https:' && !(allowsPrivate && protocol === 'http:')) return 'must begin with https://'
  if (username || password) return 'must not have a user name or password'
  if (allowsPrivate) return undefined
  // The URL parser turns spellings such as 0x7f.1 and 2130706433 into 127.0.0.1.
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const isPublic = isIP(host) ? isPublicAddress(host) : host.includes('.') && !privateNames.test(host)
  return isPublic ? undefined : privateProblem
}

export const privateProblem = 'must not lead to a private network'

/** Resolves a host name to its addresses. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

/** Creates a resolver that queries name servers. It has a time limit, and blocks no threads as getaddrinfo would. */
export const createResolve = (): Resolve => {
  const resolver = new promises.Resolver({ timeout: 2_000, tries: 2 })
  return async hostname => {
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = found.flatMap(result => (result.status === 'fulfilled' ? result.value : []))
    if (addresses.length === 0) throw Object.assign(new Error('host not found'), { code: 'ENOTFOUND' })
    return addresses.map(address => ({ address, family: isIP(address) }))
  }
}

/** Returns true if the host has a private address. A name that has no address now may get one. */
export const leadsToPrivate = async (url: string, resolve: Resolve): Promise<boolean> => {
  const { hostname } = new URL(url)
  const addresses = hostname.startsWith('[') || isIP(hostname) ? [] : await resolve(hostname).catch(() => [])
  return addresses.some(({ address }) => !isPublicAddress(address))
}

export const refusedCode = 'ADDRESS_REFUSED'

type Done = (error: Error | null, addresses: string | LookupAddress[], family?: number) => void

/**
 * Looks up a host for net.connect, which connects to exactly the addresses returned. Fails if any of them is private.
 */
const lookUp = (resolve: Resolve) => (hostname: string, options: LookupOptions, done: Done) => {
  const give = (addresses: readonly LookupAddress[]): void => {
    const refused = addresses.some(({ address }) => !isPublicAddress(address))
    if (refused) throw Object.assign(new Error(privateProblem), { code: refusedCode })
    const [first] = addresses
    if (options.all) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
  resolve(hostname)
    .then(give)
    .catch((error: Error) => done(error, ''))
}

/** Creates the agent that connects to endpoints. Without `resolve` any address is allowed. It follows no redirects. */
export const createAgent = (resolve: Resolve | undefined): Agent =>
  new Agent({
    connect: { timeout: 5_000, ...(resolve && { lookup: lookUp(resolve) }) },
    // Without HTTP/2 and pipelining, undici never sends a request twice.
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: 4_000,
  })
