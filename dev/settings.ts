import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { loadConfigOrExit, PositiveInteger, PostgresUrl, ServiceUrl } from '@courier/shared/config.ts'
import { demonstration } from '@courier/shared/demonstration.ts'
import { Type } from '@sinclair/typebox'

export const root = resolve(import.meta.dirname, '..')

/** Matches the Dockerfile. With these flags orders needs a third less memory under load, and slightly more CPU. */
export const serviceFlags = ['--max-semi-space-size=8', '--heap-growing-percent=120']

/** Sets Node's compile cache for the processes started from now on, which cuts a service's start by a third. */
export const keepCompiled = (): void => {
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'node')
}

/** Protects the embedded Postgres, which listens only on loopback. */
export const embeddedPassword = demonstration.password

const Settings = Type.Object({
  HOST: Type.String({ default: '127.0.0.1', description: 'the address to listen on' }),
  ORDERS_PORT: PositiveInteger(3000, 'the port of orders', 65535),
  NOTIFIER_PORT: PositiveInteger(3001, 'the port of the notifier', 65535),
  ORDERS_URL: ServiceUrl('the address of orders; without it HOST and ORDERS_PORT'),
  NOTIFIER_URL: ServiceUrl('the address of the notifier; without it HOST and NOTIFIER_PORT'),
  SIMULATOR_PORT: PositiveInteger(3002, 'the port of the simulator', 65535),
  EMBEDDED_POSTGRES_PORT: PositiveInteger(54329, 'the port of the embedded Postgres', 65535),
  DATA_DIR: Type.String({ default: '.data', description: 'where the embedded Postgres keeps its data' }),
  ORDERS_DATABASE_URL: Type.Optional(PostgresUrl('a Postgres to use for orders instead of the embedded one')),
  NOTIFIER_DATABASE_URL: Type.Optional(PostgresUrl('a Postgres to use for the notifier instead of the embedded one')),
})

export const readDevSettings = () => {
  const settings = loadConfigOrExit(Settings, process.env)
  return { ...settings, dataFolder: resolve(root, settings.DATA_DIR) }
}

/** Returns true if the environment holds the setting, or names a file that holds it. */
export const isSet = (name: string): boolean => Boolean(process.env[name] || process.env[`${name}_FILE`])

/** Names the embedded Postgres' databases. In each, one role owns the tables and another reads and writes them. */
export const embeddedDatabases = ['orders', 'notifier'] as const

/** Makes the environment in which the services and their commands use the embedded Postgres. Existing variables win. */
export const makeEmbeddedEnvironment = (port: number): Record<string, string> => {
  const url = (role: string, database: string) => `postgres://${role}:${embeddedPassword}@127.0.0.1:${port}/${database}`
  const environment: Record<string, string> = {}
  for (const name of embeddedDatabases) {
    const setting = name.toUpperCase()
    if (isSet(`${setting}_DATABASE_URL`)) continue
    environment[`${setting}_DATABASE_URL`] = url(name, name)
    environment[`${setting}_MIGRATE_DATABASE_URL`] = url(`${name}_owner`, name)
  }
  return environment
}

/** Generates the demo's keys and service token once, and keeps them in the data folder. Existing variables win. */
export const provisionSecrets = (dataFolder: string): Record<string, string> => {
  const makers = {
    CREDENTIALS_KEYS: () => `demo:${randomBytes(32).toString('base64')}`,
    WEBHOOK_KEYS: () => `demo:${randomBytes(32).toString('base64')}`,
    SERVICE_TOKEN: () => randomBytes(32).toString('hex'),
  }
  const missing = Object.entries(makers).filter(([name]) => !isSet(name))
  return Object.fromEntries(missing.map(([name, make]) => [name, keepSecret(dataFolder, name, make)]))
}

const keepSecret = (dataFolder: string, name: string, make: () => string): string => {
  const path = join(dataFolder, name.toLowerCase().replace('_', '-'))
  mkdirSync(dataFolder, { recursive: true })
  if (!existsSync(path)) writeFileSync(path, make(), { mode: 0o600 })
  return readFileSync(path, 'utf8')
}
