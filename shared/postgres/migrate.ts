import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { withErrorListeners } from './database.ts'
import { makePatient } from './patience.ts'

/**
 * Applies the `NNNN-name.sql` files of `folder` that this database does not have yet, in order, each in a transaction
 * and under one lock: processes that start together share them. A file that meets a table in use does not block the
 * users of the table: the file gives up soon and is tried again. The files grant `appRole` its rights. Returns the
 * names of the files applied. A database that a later version has migrated stays as it is: this version runs on it
 * (docs/operators/upgrade.md). Throws UnsupportedPostgres.
 */
export const migrate = async (url: string, folder: string, appRole: string): Promise<string[]> => {
  const options = { connectionString: url, max: 1, application_name: 'migrate' }
  const pool = withErrorListeners(new pg.Pool(options), () => {})
  makePatient(pool)
  try {
    await refuseOldPostgres(pool)
    const files = (await readdir(folder)).filter(file => file.endsWith('.sql')).sort()
    const migrations = await Promise.all(files.map(file => readMigration(folder, file)))
    const applied: string[] = []
    for (;;) {
      const name = await keepTrying(() => applyNext(pool, migrations, appRole))
      if (name === undefined) return applied
      applied.push(name)
    }
  } finally {
    await pool.end()
  }
}

/** Is the first version with `returning old.…`, which edits and moves use. */
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

/** Lists the codes of a lock that is not available, and of a deadlock. */
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

interface Migration {
  readonly name: string
  readonly text: string
  /** Names the release whose files this file replaces; undefined: the file replaces none. */
  readonly release: string | undefined
  /**
   * Lists the names that a database has once the file is applied: its own, or those of the files that it replaces,
   * which that release looks for.
   */
  readonly records: readonly string[]
}

/** Reads a file. A baseline begins with `-- Replaces the migrations of RELEASE:`, their names, and an empty line. */
const readMigration = async (folder: string, file: string): Promise<Migration> => {
  const text = await readFile(join(folder, file), 'utf8')
  const name = file.replace(/\.sql$/, '')
  const [, release, names = name] = /^-- Replaces the migrations of (\S+): (.*?)\n\n/s.exec(text) ?? []
  return { name, text, release, records: names.replaceAll('\n--', '').split(' ') }
}

/** Applies the next file and returns its name; undefined when there is none left. */
const applyNext = async (
  pool: pg.Pool,
  migrations: readonly Migration[],
  appRole: string,
): Promise<string | undefined> => {
  const client = await pool.connect()
  try {
    await client.query('begin')
    // The lock belongs to the transaction: behind a transaction pooler a lock of the session would stay on another's
    // connection.
    await client.query(`select pg_advisory_xact_lock(${migrationLock})`)
    // A file that locks several tables stays below the second after which Postgres looks for deadlocks: the file gives
    // way, and no request does.
    await client.query("set local lock_timeout = '200ms'")
    await client.query(createTable)
    const { rows } = await client.query('select name from kysely_migration order by name')
    const next = findNext(
      migrations,
      rows.map(row => row.name),
    )
    if (next) {
      await client.query(`select set_config('app.role', $1, true)`, [appRole])
      for (const statement of readStatements(next.text)) await client.query(statement)
      const listing = 'insert into kysely_migration select name, $2 from unnest($1::text[]) name'
      await client.query(listing, [next.records, new Date().toISOString()])
    }
    await client.query('commit')
    return next?.name
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

/** Finds the first file that is not applied. Ignores applied files of later versions. */
const findNext = (migrations: readonly Migration[], applied: readonly string[]): Migration | undefined => {
  const names = migrations.flatMap(({ records }) => records)
  const foreign = applied.find(name => !names.includes(name) && name < (names.at(-1) ?? ''))
  if (foreign) throw new Error(`the database has migrations that are not ours: the file of ${foreign} is missing`)
  const next = migrations.find(({ records }) => !records.every(name => applied.includes(name)))
  if (next?.records.some(name => applied.includes(name)))
    throw new Error(
      `the database is older than ${next.release}: upgrade it to ${next.release} first (docs/operators/upgrade.md)`,
    )
  return next
}

/**
 * Splits a file into statements, each up to a semicolon at the end of a line outside `$$`. They are sent one by one:
 * Citus passes them on to its nodes, which take one at a time.
 */
const readStatements = (text: string): string[] =>
  text
    .split('$$')
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(';\n', ';\0') : part))
    .join('$$')
    .split('\0')
    .filter(statement => statement.trim() !== '')
