import { readdir, readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import pg from 'pg'

export interface PoolOptions {
  url: string
  /** Named in pg_stat_activity. */
  name: string
  connections: number
  /** How long a statement may take; 4 without it. */
  statementSeconds?: number
  /** Told of connections that died while idle: without a listener they would end the process. */
  onIdleError?: (error: Error) => void
}

/** A pool that waits at most 2 s for a connection and `statementSeconds` for a statement. int8 and numeric come as text. */
export const createPool = ({ url, name, connections, ...options }: PoolOptions): pg.Pool => {
  const { statementSeconds = 4, onIdleError = () => {} } = options
  const statementMilliseconds = statementSeconds * 1000
  const pool = new pg.Pool({
    connectionString: url,
    application_name: name,
    max: connections,
    connectionTimeoutMillis: 2_000,
    statement_timeout: statementMilliseconds,
    query_timeout: statementMilliseconds + 500,
    idle_in_transaction_session_timeout: Math.max(10_000, statementMilliseconds),
    pipeline: true,
  })
  return listen(pool, onIdleError)
}

/** A connection that dies emits an error, also a busy one beside rejecting its queries: unheard it ends the process. */
const listen = (pool: pg.Pool, onIdleError: (error: Error) => void): pg.Pool => {
  pool.on('error', onIdleError)
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}

/** The connection ended while Postgres was committing: whether it did is not known. */
export class CommitInDoubt extends Error {
  override name = 'CommitInDoubt'

  constructor(options: ErrorOptions) {
    super('the connection ended during commit', options)
  }
}

/** A transaction of one tenant: row-level security shows its rows alone. `client` is for prepared statements. */
export type TenantTransaction<Tables> = Kysely<Tables> & { readonly client: pg.PoolClient }

/** A transaction of whatever service: for queries on tables that several have. */
// biome-ignore lint/suspicious/noExplicitAny: the tables differ
export type AnyTransaction = TenantTransaction<any>

/**
 * Runs `action` in a transaction in which row-level security shows the rows of `tenant` alone. Commits when `keeps`
 * says so of the result, else rolls back; rolls back when `action` throws. Throws CommitInDoubt when the connection ends
 * during commit.
 * `begin` and the setting are not waited for: they travel with the first query.
 */
export const inTenant = async <Tables, Result>(
  pool: pg.Pool,
  tenant: string,
  action: (tx: TenantTransaction<Tables>) => Promise<Result>,
  keeps: (result: Result) => boolean = () => true,
): Promise<Result> => {
  const client = await pool.connect()
  sendTogether(client)
  try {
    const opening = client.query(beginning(client, tenant))
    opening.catch(() => {})
    const result = await action(bind(client))
    await opening
    const isKept = keeps(result)
    const { command } = await client.query(isKept ? 'commit' : 'rollback').catch(error => {
      // What Postgres itself refuses is rolled back: only a lost connection leaves a doubt.
      const isRefused = error instanceof pg.DatabaseError && error.severity !== 'FATAL'
      throw isKept && !isRefused ? new CommitInDoubt({ cause: error }) : error
    })
    if (isKept && command !== 'COMMIT') throw new Error('Postgres rolled back what was to be committed')
    client.release()
    return result
  } catch (error) {
    await giveUp(client)
    throw error
  }
}

/**
 * Runs one read in a transaction of `tenant`, in one round trip: its end is sent with it, since there is nothing to decide.
 * Returns the rows.
 */
export const readInTenant = async <Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  tenant: string,
  query: pg.QueryConfig,
): Promise<Row[]> => {
  const client = await pool.connect()
  sendTogether(client)
  try {
    const [, { rows }] = await Promise.all([
      client.query(beginning(client, tenant, 'read only')),
      client.query<Row>(query),
      client.query('commit'),
    ])
    client.release()
    return rows
  } catch (error) {
    await giveUp(client)
    throw error
  }
}

const beginning = (client: pg.PoolClient, tenant: string, mode = ''): string =>
  `begin ${mode}; select set_config('app.tenant', ${client.escapeLiteral(tenant)}, true)`

/** Ends what is left of a transaction and gives the connection back; a broken one is thrown away. */
const giveUp = (client: pg.PoolClient): Promise<void> =>
  client.query('rollback').then(
    () => client.release(),
    broken => client.release(broken),
  )

/** What is sent in this turn of the event loop leaves in one write. pg has no name for it. */
const sendTogether = (client: pg.PoolClient): void => {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  stream.cork()
  process.nextTick(() => stream.uncork())
}

const bind = <Tables>(client: pg.PoolClient): TenantTransaction<Tables> => {
  const borrowed = { query: client.query.bind(client), release: () => {} } as pg.PoolClient
  const pool = { connect: async () => borrowed, end: async () => {}, options: {} }
  return Object.assign(new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }), { client })
}

/** One change of a tenant's set-up at a time, also of a tenant that is not there yet. */
export const lockTenant = (tx: AnyTransaction, tenant: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${tenant}, 0))`.execute(tx)

/** A handle for queries on tables that are not under row-level security. */
export const createDatabase = <Tables>(pool: pg.Pool): Kysely<Tables> =>
  new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })

/**
 * Applies the `NNNN-name.sql` files of `folder` that this database has not seen, each in order, all under one lock:
 * processes that start together wait for each other. Afterwards `appRole` holds the rights that the files grant.
 * Returns the names of the files applied.
 */
export const migrate = async (url: string, folder: string, appRole: string): Promise<string[]> => {
  const options = { connectionString: url, max: 1, application_name: 'migrate', connectionTimeoutMillis: 5_000 }
  const pool = listen(new pg.Pool(options), () => {})
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

const unavailableCodes =
  /^(08...|57P0.|53...|57014|55P03|25P03|ECONN.*|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH)$/
const unavailableWords =
  /connection terminated|timeout exceeded when trying to connect|not queryable|connection error|query read timeout/i

/** Postgres cannot be reached, is starting or stopping, is out of connections, or took too long: try again later. */
export const isUnavailable = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  if (error instanceof AggregateError) return error.errors.some(isUnavailable)
  const { code } = error as Error & { code?: unknown }
  return unavailableCodes.test(String(code)) || unavailableWords.test(error.message)
}

/** Rejects, within two seconds, when the database cannot be worked with now. */
export const checkReachable = (pool: pg.Pool): Promise<unknown> =>
  pool.query({ text: 'select 1', query_timeout: 2_000 } as pg.QueryConfig)

/** True for a superuser and the like: row-level security would protect nothing. */
export const bypassesRowSecurity = async (pool: pg.Pool): Promise<boolean> => {
  const { rows } = await pool.query(
    'select rolsuper or rolbypassrls as bypasses from pg_roles where rolname = current_user',
  )
  return rows[0].bypasses
}
