import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import pg from 'pg'
import { createDatabase, withErrorListeners } from './database.ts'

/**
 * Applies the `NNNN-name.sql` files of `folder` that this database does not have yet, in order, under one lock: processes that
 * start together wait for each other. The files grant `appRole` its rights. Returns the names of the files applied.
 */
export const migrate = async (url: string, folder: string, appRole: string): Promise<string[]> => {
  const options = { connectionString: url, max: 1, application_name: 'migrate', connectionTimeoutMillis: 5_000 }
  const pool = withErrorListeners(new pg.Pool(options), () => {})
  const db = createDatabase<unknown>(pool)
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: () => readMigrations(folder, appRole) } })
    const { error, results = [] } = await migrator.migrateToLatest()
    if (error) throw error
    return results.map(result => result.migrationName)
  } finally {
    await db.destroy()
  }
}

const readMigrations = async (folder: string, appRole: string) => {
  const files = (await readdir(folder)).filter(file => file.endsWith('.sql')).sort()
  const migrations = files.map(async file => {
    const text = await readFile(join(folder, file), 'utf8')
    const up = async (db: Kysely<unknown>): Promise<void> => {
      await sql`select set_config('app.role', ${appRole}, true)`.execute(db)
      await sql.raw(text).execute(db)
    }
    return [file.replace(/\.sql$/, ''), { up }] as const
  })
  return Object.fromEntries(await Promise.all(migrations))
}
