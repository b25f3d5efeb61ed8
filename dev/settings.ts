import { resolve } from 'node:path'
import { loadConfigOrExit, PositiveInteger, PostgresUrl } from '@courier/shared/config.ts'
import { Type } from '@sinclair/typebox'

export const root = resolve(import.meta.dirname, '..')

/** The demonstration passwords of the embedded Postgres, which listens on loopback alone. */
export const embeddedPassword = 'courier'

const Settings = Type.Object({
  HOST: Type.String({ default: '127.0.0.1', description: 'the address to listen on' }),
  ORDERS_PORT: PositiveInteger(3000, 'the port of orders', 65535),
  EMBEDDED_POSTGRES_PORT: PositiveInteger(54329, 'the port of the embedded Postgres', 65535),
  DATA_DIR: Type.String({ default: '.data', description: 'where the embedded Postgres keeps its data' }),
  ORDERS_DATABASE_URL: Type.Optional(PostgresUrl('a Postgres to use instead of the embedded one')),
})

export const readDevSettings = () => {
  const settings = loadConfigOrExit(Settings, process.env)
  return { ...settings, dataFolder: resolve(root, settings.DATA_DIR) }
}

/** The databases of an embedded Postgres: each has a role that owns the tables and one that reads and writes them. */
export const embeddedDatabases = ['orders'] as const

/** The environment that a service and its commands need to use the embedded Postgres. What is set already wins. */
export const embeddedEnvironment = (port: number): Record<string, string> => {
  const url = (role: string, database: string) => `postgres://${role}:${embeddedPassword}@127.0.0.1:${port}/${database}`
  if (process.env.ORDERS_DATABASE_URL) return {}
  return {
    ORDERS_DATABASE_URL: url('orders', 'orders'),
    ORDERS_MIGRATE_DATABASE_URL: url('orders_owner', 'orders'),
  }
}
