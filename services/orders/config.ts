import { CapabilityNames } from '@courier/shared/capabilities.ts'
import {
  failoverSettings,
  LogLevel,
  Origins,
  Port,
  PositiveInteger,
  PostgresUrl,
  requestSettings,
  tracingSettings,
} from '@courier/shared/config.ts'
import { demonstrationProblems, demonstrationSettings } from '@courier/shared/demonstration.ts'
import { keysProblem } from '@courier/shared/vault.ts'
import { type Static, Type } from '@sinclair/typebox'
import { capabilities } from './capabilities.ts'
import { findProvidersProblem } from './core/access/providers.ts'
import { notifierSettings } from './core/relay/settings.ts'

export const databaseSettings = {
  ORDERS_DATABASE_URL: PostgresUrl('the database of orders, as a role that reads and writes but owns nothing'),
  ORDERS_MIGRATE_DATABASE_URL: Type.Optional(
    PostgresUrl('the same database, as the role that owns the tables; without it ORDERS_DATABASE_URL is used'),
  ),
}

export const capabilitySettings = { ORDERS_CAPABILITIES: CapabilityNames('ORDERS_CAPABILITIES', capabilities) }

/** Returns the addresses where browsers open the staff console. */
export const portalOrigins = ({
  PORTAL_ORIGINS,
  NOTIFIER_PORT: port,
}: Pick<Settings, 'PORTAL_ORIGINS' | 'NOTIFIER_PORT'>): string =>
  PORTAL_ORIGINS ?? `http://127.0.0.1:${port},http://localhost:${port}`

export const webhookSettings = {
  WEBHOOK_KEYS: Type.Optional(
    Type.String({
      secret: true,
      description:
        "the keys that seal the secrets of merchants' webhooks, like CREDENTIALS_KEYS; without them, no webhooks",
      must: 'be id:key pairs separated by commas',
      problem: (text: string) => keysProblem('WEBHOOK_KEYS', text),
    }),
  ),
}

/** Lists every environment variable that the process reads. */
const properties = {
  ...databaseSettings,
  ...capabilitySettings,
  ...notifierSettings,
  ...requestSettings,
  ...tracingSettings,
  ...failoverSettings,
  ...webhookSettings,
  ...demonstrationSettings,
  HOST: Type.String({ default: '127.0.0.1', description: 'the address to listen on; 0.0.0.0 for all' }),
  ORDERS_PORT: Port(3000, 'the port of orders'),
  LOG_LEVEL: LogLevel,
  MESSAGING_API_URL: Type.Optional(
    Type.String({
      description: "the notifier's messaging API; demonstration secrets are refused unless it is the simulator",
    }),
  ),
  DATABASE_CONNECTIONS: PositiveInteger(10, 'maximum connections of the process to Postgres', 1000),
  MAX_ORDERS_PER_BATCH: PositiveInteger(1000, 'maximum orders in one bulk request', 100_000),
  CATALOGUE_MEMORY_BYTES: Type.Integer({
    minimum: 2 ** 20,
    maximum: 2 ** 40,
    default: 2 ** 28,
    description: 'maximum bytes of the catalogues that the process keeps in memory',
    must: `be a whole number of bytes from ${2 ** 20} to ${2 ** 40}`,
  }),
  LOGIN_TOKEN_DAYS: PositiveInteger(30, 'days that a token created by a login is valid', 3650),
  STAFF_LOGIN_HOURS: PositiveInteger(12, 'hours that a token created by a login of staff is valid', 8760),
  LOGIN_TRIES_PER_EMAIL: PositiveInteger(5, 'maximum wrong logins per minute for one e-mail address from one network'),
  LOGIN_TRIES_PER_ADDRESS: PositiveInteger(30, 'maximum wrong logins per minute from one network'),
  WEBHOOK_PRIVATE_ADDRESSES: Type.String({
    default: 'false',
    maxLength: 5,
    pattern: '^(true|false)$',
    description: 'true allows webhooks to http addresses and private networks, for development',
    must: 'be true or false',
  }),
  SIGN_IN_PROVIDERS: Type.Optional(
    Type.String({
      secret: true,
      maxLength: 1_000_000,
      description: 'the OpenID providers that sign people in, as JSON; needs PUBLIC_URL',
      must: 'be a list of providers',
      problem: findProvidersProblem,
    }),
  ),
  SMTP_URL: Type.Optional(
    Type.String({
      secret: true,
      maxLength: 2048,
      pattern: '^smtps?://[^\\s]+$',
      description: 'the mail server that sends invitations; without it their links are shown to be copied',
      must: 'be a URL such as smtps://user:password@mail.example:465',
    }),
  ),
  MAIL_FROM: Type.Optional(
    Type.String({
      maxLength: 320,
      pattern: '^[^@\\s]+@[^@\\s]+$',
      description: 'the sender of invitations; without it courier@ and the host of PUBLIC_URL',
      must: 'be an e-mail address',
    }),
  ),
  PORTAL_ORIGINS: Origins(
    'the origins of the staff console, whose requests to /api/staff/ are allowed; without it NOTIFIER_PORT on this machine',
  ),
  PUBLIC_RATE_LIMIT_PER_MINUTE: PositiveInteger(
    60,
    'maximum requests without a token per minute from one network address',
  ),
}
const findProblems: typeof demonstrationProblems = settings => [
  ...demonstrationProblems(settings),
  ...(settings.SIGN_IN_PROVIDERS !== undefined && settings.PUBLIC_URL === undefined
    ? [['PUBLIC_URL', 'is missing: providers send people back there'] as [string, string]]
    : []),
]

export const Settings = Type.Object(properties, { problems: findProblems })
export type Settings = Static<typeof Settings>
