import { fileURLToPath } from 'node:url'
import { migrate } from '@courier/shared/postgres/migrate.ts'

interface DatabaseSettings {
  ORDERS_DATABASE_URL: string
  ORDERS_MIGRATE_DATABASE_URL?: string
}

/** Applies the migrations, and grants the role of ORDERS_DATABASE_URL its rights. Returns the migrations applied. */
export const migrateOrders = (settings: DatabaseSettings): Promise<string[]> =>
  migrate(
    settings.ORDERS_MIGRATE_DATABASE_URL ?? settings.ORDERS_DATABASE_URL,
    fileURLToPath(new URL('migrations', import.meta.url)),
    decodeURIComponent(new URL(settings.ORDERS_DATABASE_URL).username),
  )
