import { isIPv4 } from 'node:net'
import {
  LogLevel,
  Port,
  PositiveInteger,
  PostgresUrl,
  PublicUrl,
  requestSettings,
  ServiceToken,
  ServiceUrl,
  tracingSettings,
} from '@courier/shared/config.ts'
import { demonstrationProblems, demonstrationSettings } from '@courier/shared/demonstration.ts'
import { type Static, Type } from '@sinclair/typebox'
import { keyringProblem } from './core/channels/vault.ts'

/** Lists the hosts besides loopback for which plain http is allowed: the simulator of docker-compose.override.yml. */
const plainHttpHosts = ['simulator']

export const databaseSettings = {
  NOTIFIER_DATABASE_URL: PostgresUrl('the database of the notifier, as a role that reads and writes but owns nothing'),
  NOTIFIER_MIGRATE_DATABASE_URL: Type.Optional(
    PostgresUrl('the same database as the role that owns the tables; without it NOTIFIER_DATABASE_URL is used'),
  ),
}

export const orderSettings = {
  SERVICE_TOKEN: ServiceToken,
  ORDERS_URL: ServiceUrl('the address of orders; without it ORDERS_PORT on this machine'),
  ORDERS_PORT: Port(3000, 'the port of orders on this machine'),
}

export const ordersUrl = ({ ORDERS_URL, ORDERS_PORT }: Pick<Settings, 'ORDERS_URL' | 'ORDERS_PORT'>): string =>
  ORDERS_URL ?? `http://127.0.0.1:${ORDERS_PORT}`

export const ordersPublicUrl = ({ ORDERS_PUBLIC_URL, ORDERS_PORT }: Settings): string =>
  ORDERS_PUBLIC_URL?.replace(/\/$/, '') ?? `http://127.0.0.1:${ORDERS_PORT}`

export const credentialSettings = {
  CREDENTIALS_KEYS: Type.String({
    minLength: 1,
    secret: true,
    description: 'the keys that seal credentials: id:base64 of 32 bytes, the newest first, separated by commas',
    must: 'be id:key pairs separated by commas',
    problem: keyringProblem,
  }),
}

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

const properties = {
  ...databaseSettings,
  ...credentialSettings,
  ...orderSettings,
  ...requestSettings,
  ...tracingSettings,
  ...demonstrationSettings,
  ORDERS_PUBLIC_URL: PublicUrl('the URL at which browsers reach orders; without it ORDERS_PORT on this machine'),
  DEMO_ACCESS_TOKEN: Type.Optional(Type.String({ secret: true, description: 'the access token of the demo account' })),
  DEMO_APP_SECRET: Type.Optional(Type.String({ secret: true, description: 'the app secret of the demo account' })),
  HOST: Type.String({ default: '127.0.0.1', description: 'the address to listen on; 0.0.0.0 for all' }),
  NOTIFIER_PORT: Port(3001, 'the port of the notifier'),
  LOG_LEVEL: LogLevel,
  DATABASE_CONNECTIONS: PositiveInteger(10, 'maximum connections of the process to Postgres', 1000),
  MAX_MESSAGES_PER_BATCH: PositiveInteger(1000, 'maximum messages of one bulk request', 10_000),
  ...messagingSettings,
  MESSAGING_CONNECTIONS: PositiveInteger(64, 'maximum messages in flight at once', 1000),
  RECIPIENT_PAUSE_SECONDS: Type.Integer({
    default: 6,
    minimum: 0,
    maximum: 3600,
    description: 'seconds between two messages to one recipient; 0 for none',
    must: 'be a whole number, 0 to 3600',
  }),
}
export const Settings = Type.Object(properties, { problems: demonstrationProblems })
export type Settings = Static<typeof Settings>

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
