import { LogLevel, Port, PositiveInteger, PostgresUrl, ServiceToken, ServiceUrl } from '@courier/shared/config.ts'
import { type Static, Type } from '@sinclair/typebox'

/** What the operator's commands read. */
export const databaseSettings = {
  ORDERS_DATABASE_URL: PostgresUrl('the database of orders, as a role that reads and writes but owns nothing'),
  ORDERS_MIGRATE_DATABASE_URL: Type.Optional(
    PostgresUrl('the same database as the role that owns the tables; without it ORDERS_DATABASE_URL is used'),
  ),
}

const byte = '(25[0-5]|2[0-4]\\d|1?\\d?\\d)'
const ipv4 = `${byte}(\\.${byte}){3}(/(3[0-2]|[12]?\\d))?`
const ipv6 = '[\\da-fA-F]{0,4}(:[\\da-fA-F]{0,4}){2,7}(/(12[0-8]|1[01]\\d|\\d?\\d))?'
const proxy = `(${ipv4}|${ipv6})`

/** Every environment variable that the process reads. */
export const Settings = Type.Object({
  ...databaseSettings,
  HOST: Type.String({ default: '127.0.0.1', description: 'the address to listen on; 0.0.0.0 for all' }),
  ORDERS_PORT: Port(3000, 'the port of orders'),
  SERVICE_TOKEN: ServiceToken,
  NOTIFIER_URL: ServiceUrl('the address of the notifier; without it NOTIFIER_PORT on this machine'),
  NOTIFIER_PORT: Port(3001, 'the port of the notifier on this machine'),
  LOG_LEVEL: LogLevel,
  DATABASE_CONNECTIONS: PositiveInteger(10, 'how many connections to Postgres the process may hold', 1000),
  MAX_ORDERS_PER_BATCH: PositiveInteger(1000, 'how many orders one bulk call may carry', 100_000),
  MAX_BODY_BYTES: PositiveInteger(5_242_880, 'how many bytes a request body may have', 104_857_600),
  LOGIN_TOKEN_DAYS: PositiveInteger(30, 'how many days a token made by a login lives', 3650),
  LOGIN_TRIES_PER_EMAIL: PositiveInteger(5, 'how many wrong logins a minute one e-mail address may make'),
  LOGIN_TRIES_PER_ADDRESS: PositiveInteger(30, 'how many wrong logins a minute may come from one network address'),
  TRUSTED_PROXIES: Type.Optional(
    Type.String({
      pattern: `^${proxy}(,${proxy})*$`,
      description: 'the proxies in front of the service: their X-Forwarded headers are believed',
      must: 'be IP addresses or networks such as 10.0.0.0/8, with commas between',
    }),
  ),
  RATE_LIMIT_PER_MINUTE: PositiveInteger(6000, 'how many calls a token may make in a minute'),
  PUBLIC_RATE_LIMIT_PER_MINUTE: PositiveInteger(
    60,
    'how many calls without a token may come from one network address in a minute',
  ),
})
export type Settings = Static<typeof Settings>
