import { fileURLToPath } from 'node:url'
import { migrate } from '@courier/shared/postgres/migrate.ts'

interface DatabaseSettings {
  NOTIFIER_DATABASE_URL: string
  NOTIFIER_MIGRATE_DATABASE_URL?: string
}

/** Migrates the database and grants the role of NOTIFIER_DATABASE_URL its rights. Returns the migrations applied. */
export const migrateNotifier = (settings: DatabaseSettings): Promise<string[]> =>
  migrate(
    settings.NOTIFIER_MIGRATE_DATABASE_URL ?? settings.NOTIFIER_DATABASE_URL,
    fileURLToPath(new URL('migrations', import.meta.url)),
    decodeURIComponent(new URL(settings.NOTIFIER_DATABASE_URL).username),
  )
