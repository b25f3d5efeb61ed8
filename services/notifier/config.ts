import { CapabilityNames } from '@courier/shared/capabilities.ts'
import {
  failoverSettings,
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
import { capabilities } from './capabilities.ts'
import { keyringProblem } from './core/channels/vault.ts'
import { messagingSettings } from './core/messaging-api/settings.ts'

export const databaseSettings = {
  NOTIFIER_DATABASE_URL: PostgresUrl('the database of the notifier, as a role that reads and writes but owns nothing'),
  NOTIFIER_MIGRATE_DATABASE_URL: Type.Optional(
    PostgresUrl('the same database as the role that owns the tables; without it NOTIFIER_DATABASE_URL is used'),
  ),
}

export const capabilitySettings = { NOTIFIER_CAPABILITIES: CapabilityNames('NOTIFIER_CAPABILITIES', capabilities) }

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

const properties = {
  ...databaseSettings,
  ...credentialSettings,
  ...orderSettings,
  ...capabilitySettings,
  ...requestSettings,
  ...tracingSettings,
  ...failoverSettings,
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
