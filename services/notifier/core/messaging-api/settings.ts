import { isIPv4 } from 'node:net'
import { requestSettings } from '@courier/shared/config.ts'
import { Type } from '@sinclair/typebox'

/** Lists the hosts besides loopback for which plain http is allowed: the simulator of docker-compose.override.yml. */
const plainHttpHosts = ['simulator']

export const messagingSettings = {
  MESSAGING_API_URL: Type.String({
    default: 'https://graph.facebook.com',
    description: 'the messaging API; https outside this machine and compose',
    problem: (url: string) => {
      const problem = baseUrlProblem(url, plainHttpHosts)
      return problem && `MESSAGING_API_URL ${problem}`
    },
  }),
  MESSAGING_API_VERSION: Type.String({
    default: 'v17.0',
    maxLength: 16,
    pattern: '^v\\d+\\.\\d+$',
    description: 'the version in the paths of the messaging API',
    must: 'be a version such as v17.0',
  }),
  MESSAGING_PRODUCT: Type.String({ default: 'whatsapp', description: 'the product named in every request' }),
  PUBLIC_URL: requestSettings.PUBLIC_URL,
}

/**
 * Returns why `url` is not allowed for the messaging API; undefined when it is. Tokens travel with every request, so
 * plain http is only for loopback and the given hosts (those of docker compose). The sentence does not repeat the URL.
 */
export const baseUrlProblem = (url: string, allowPlainHttpHosts: readonly string[] = []): string | undefined => {
  if (!URL.canParse(url)) return 'must be a URL such as https://graph.facebook.com'
  const { protocol, hostname, username, password, search, hash } = new URL(url)
  if (protocol !== 'https:' && protocol !== 'http:') return 'must be an https URL'
  if (username || password) return 'must have no user name or password in it'
  if (search || hash) return 'must have no query and no fragment'
  if (protocol === 'http:' && !isLoopback(hostname) && !allowPlainHttpHosts.includes(hostname))
    return 'must be https: plain http is for loopback and the hosts of docker compose'
  return undefined
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
