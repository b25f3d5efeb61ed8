import { fileURLToPath } from 'node:url'
import { migrate } from '@courier/shared/database.ts'

export interface DatabaseSettings {
  ORDERS_DATABASE_URL: string
  ORDERS_MIGRATE_DATABASE_URL?: string
}

/** Brings the database up to date and gives the role of ORDERS_DATABASE_URL its rights. Returns what was applied. */
export const migrateOrders = (settings: DatabaseSettings): Promise<string[]> =>
  migrate(
    settings.ORDERS_MIGRATE_DATABASE_URL ?? settings.ORDERS_DATABASE_URL,
    fileURLToPath(new URL('migrations', import.meta.url)),
    decodeURIComponent(new URL(settings.ORDERS_DATABASE_URL).username),
  )
