import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Kysely, PostgresAdapter, PostgresDialect, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import pg from 'pg'
import { withErrorListeners } from './database.ts'

/**
 * Applies the `NNNN-name.sql` files of `folder` that this database does not have yet, in order, each in a transaction
 * and under one lock: processes that start together share them. A file that meets a table in use does not stop those
 * its users: it gives up soon, and is tried again. The files grant `appRole` its rights. Returns the names of the
 * files applied. A database that a later version has migrated stays as it is: this version runs on it
 * (docs/operators/upgrade.md). Throws UnsupportedPostgres.
 */
export const migrate = async (url: string, folder: string, appRole: string): Promise<string[]> => {
  const options = { connectionString: url, max: 1, application_name: 'migrate', connectionTimeoutMillis: 5_000 }
  const pool = withErrorListeners(new pg.Pool(options), () => {})
  const db = new Kysely<unknown>({ dialect: new MigrationDialect({ pool }) })
  try {
    await refuseOldPostgres(pool)
    const applied: string[] = []
    for (;;) {
      const name = await keepTrying(() => applyNext(db, folder, appRole))
      if (name === undefined) return applied
      applied.push(name)
    }
  } finally {
    await db.destroy()
  }
}

/** The first version with `returning old.…`, which edits and moves use. */
const oldestPostgres = 18

/** The message names the version found and the one needed. */
export class UnsupportedPostgres extends Error {
  override name = 'UnsupportedPostgres'
}

const refuseOldPostgres = async (pool: pg.Pool): Promise<void> => {
  const { rows } = await pool.query(
    `select current_setting('server_version') as version, current_setting('server_version_num')::integer / 10000 as major`,
  )
  const [{ version, major }] = rows
  if (major >= oldestPostgres) return
  throw new UnsupportedPostgres(
    `Postgres ${version} is too old: Courier needs ${oldestPostgres} or later. Upgrade the server (pg_upgrade, or dump and restore)`,
  )
}

/** Returns true for a lock that is not available, or a deadlock. */
const busyCodes = ['55P03', '40P01']
const maxTries = 200

const keepTrying = async <Result>(action: () => Promise<Result>): Promise<Result> => {
  for (let tries = 1; ; tries++, await delay(1_000 * Math.random()))
    try {
      return await action()
    } catch (error) {
      if (!busyCodes.includes((error as pg.DatabaseError).code ?? '') || tries === maxTries) throw error
    }
}

/** Returns the name of the file; undefined when there is none left. */
const applyNext = (db: Kysely<unknown>, folder: string, appRole: string): Promise<string | undefined> =>
  db.transaction().execute(async tx => {
    await sql`select pg_advisory_xact_lock(${sql.lit(kyselyLock)})`.execute(tx)
    // A file that locks several tables stays below the second after which Postgres looks for deadlocks: it gives way,
    // no request.
    await sql`set local lock_timeout = '200ms'`.execute(tx)
    const getMigrations = async () => {
      const own = await readMigrations(folder, appRole)
      return { ...own, ...(await findLaterMigrations(tx, Object.keys(own).at(-1) ?? '')) }
    }
    const migrator = new Migrator({ db: tx, provider: { getMigrations } })
    const { error, results } = await migrator.migrateUp()
    if (error) throw error
    return results?.[0]?.migrationName
  })

/**
 * Finds migrations that the database has already, after our last: without them Kysely takes the database for corrupted.
 */
const findLaterMigrations = async (db: Kysely<unknown>, last: string) => {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration where name > ${last}`.execute(db)
  const up = async (): Promise<never> => {
    throw new Error('a migration of a later version is not ours to apply')
  }
  return Object.fromEntries(rows.map(({ name }) => [name, { up }]))
}

/**
 * Replaces Kysely's own lock, which belongs to the session: behind a transaction pooler it would stay on another's
 * connection.
 */
class MigrationAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}

  override async releaseMigrationLock(): Promise<void> {}
}

/** The key that Kysely's own lock has. */
const kyselyLock = 3853314791062309107n

class MigrationDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new MigrationAdapter()
  }
}

/**
 * Splits a file into statements, each up to a semicolon at the end of a line outside `$$`. Sent one by one: Citus passes
 * them on to its nodes, which take one at a time.
 */
const readStatements = (text: string): string[] =>
  text
    .split('$$')
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(';\n', ';\0') : part))
    .join('$$')
    .split('\0')
    .filter(statement => statement.trim() !== '')

const readMigrations = async (folder: string, appRole: string) => {
  const files = (await readdir(folder)).filter(file => file.endsWith('.sql')).sort()
  const migrations = files.map(async file => {
    const text = await readFile(join(folder, file), 'utf8')
    const up = async (db: Kysely<unknown>): Promise<void> => {
      await sql`select set_config('app.role', ${appRole}, true)`.execute(db)
      for (const statement of readStatements(text)) await sql.raw(statement).execute(db)
    }
    return [file.replace(/\.sql$/, ''), { up }] as const
  })
  return Object.fromEntries(await Promise.all(migrations))
}
