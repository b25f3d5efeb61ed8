import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
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
  try {
    await refuseOldPostgres(pool)
    const files = (await readdir(folder)).filter(file => file.endsWith('.sql')).sort()
    const applied: string[] = []
    for (;;) {
      const name = await keepTrying(() => applyNext(pool, folder, files, appRole))
      if (name === undefined) return applied
      applied.push(name)
    }
  } finally {
    await pool.end()
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

/** Released versions use Kysely's migrator: the table and the lock are the same. */
const migrationLock = '3853314791062309107'
const createTable =
  'create table if not exists kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)'

/** Returns the name of the file; undefined when there is none left. */
const applyNext = async (
  pool: pg.Pool,
  folder: string,
  files: readonly string[],
  appRole: string,
): Promise<string | undefined> => {
  const client = await pool.connect()
  try {
    await client.query('begin')
    // A lock of the transaction: behind a transaction pooler one of the session would stay on another's connection.
    await client.query(`select pg_advisory_xact_lock(${migrationLock})`)
    // A file that locks several tables stays below the second after which Postgres looks for deadlocks: it gives way,
    // no request.
    await client.query("set local lock_timeout = '200ms'")
    await client.query(createTable)
    const next = findNext(files, (await client.query('select name from kysely_migration order by name')).rows)
    if (next) {
      await client.query(`select set_config('app.role', $1, true)`, [appRole])
      for (const statement of readStatements(await readFile(join(folder, `${next}.sql`), 'utf8')))
        await client.query(statement)
      await client.query('insert into kysely_migration values ($1, $2)', [next, new Date().toISOString()])
    }
    await client.query('commit')
    return next
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

/** Ignores files of later versions. */
const findNext = (files: readonly string[], applied: readonly { name: string }[]): string | undefined => {
  const names = files.map(file => file.replace(/\.sql$/, ''))
  const foreign = applied.find(({ name }) => !names.includes(name) && name < (names.at(-1) ?? ''))
  if (foreign) throw new Error(`the database has migrations that are not ours: the file of ${foreign.name} is missing`)
  return names.find(name => !applied.some(one => one.name === name))
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
