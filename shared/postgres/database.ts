import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { findGuard, UnusableDatabase } from './history.ts'
import { stampSql } from './history-state.ts'
import { makePatient, whenSilent } from './patience.ts'
import { findStream, listIdle, pipelinedBy } from './pg-internals.ts'
import { PipelinedClient } from './pipelined.ts'
import { inTenantShare } from './tenant-share.ts'

interface PoolOptions {
  url: string
  /** Is the application_name in pg_stat_activity. */
  name: string
  connections: number
  /** Limits the seconds of a statement. The default is 4. */
  statementSeconds?: number
  /** Limits the seconds to wait for a connection of a pool that makes no progress. The default is 2. */
  queueSeconds?: number
  /** Is called when an idle connection dies. */
  onIdleError?: (error: Error) => void
}

/**
 * Postgres ends a transaction that gets no statement for this long: the client of a silent connection has given up.
 * Until then the transaction holds its locks and its Idempotency-Key.
 */
const idleMilliseconds = 5_000

/**
 * Creates a pool that waits for a connection as `makePatient` says, and `statementSeconds` for a statement. Once a
 * connection is silent, the pool closes its idle connections, which may be silent too. Returns int8 and numeric as
 * text.
 */
export const createPool = ({ url, name, connections, ...options }: PoolOptions): pg.Pool => {
  const { statementSeconds = 4, onIdleError = () => {} } = options
  const statementMilliseconds = statementSeconds * 1000
  const pool = new pg.Pool({
    connectionString: url,
    application_name: name,
    max: connections,
    statement_timeout: statementMilliseconds,
    query_timeout: statementMilliseconds + 500,
    idle_in_transaction_session_timeout: Math.max(idleMilliseconds, statementMilliseconds),
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    ...pipelinedBy(PipelinedClient),
  })
  makePatient(pool, options.queueSeconds)
  return withErrorListeners(pool, onIdleError)
}

/**
 * Closes idle connections when the client gives up waiting: Postgres ends every statement earlier, so a missing
 * response is due to the connection.
 */
const closeIfSilent = (pool: pg.Pool, error: unknown): void => {
  if (/query read timeout/i.test(String((error as Error)?.message)))
    for (const client of listIdle(pool)) findStream(client).destroy(new Error('another connection is silent'))
}

/**
 * A connection that dies emits an error, a busy one in addition to rejecting its queries: unhandled, the error ends the
 * process.
 */
export const withErrorListeners = (pool: pg.Pool, onIdleError: (error: Error) => void): pg.Pool => {
  pool.on('error', onIdleError)
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}

/** The connection ended while Postgres was committing: the outcome is unknown. */
export class CommitInDoubt extends Error {
  override name = 'CommitInDoubt'

  constructor(options: ErrorOptions) {
    super('the connection ended during commit', options)
  }
}

/** Rethrows the error of a transaction whose commit decides nothing: what the request asks for has not begun. */
export const withoutDoubt = (error: unknown): never => {
  throw error instanceof CommitInDoubt ? error.cause : error
}

/** Is a transaction of one tenant: row-level security shows only its rows. `client` is for prepared statements. */
export type TenantTransaction<Tables> = Kysely<Tables> & {
  readonly client: pg.PoolClient
  /** Runs a statement of `client`, and returns its rows. */
  // biome-ignore lint/suspicious/noExplicitAny: the rows are as the SQL says
  readonly rows: <Row = any>(query: string | pg.QueryConfig, values?: readonly unknown[]) => Promise<Row[]>
}

/** Is a transaction of either service, for tables that both have. */
// biome-ignore lint/suspicious/noExplicitAny: the tables differ
export type AnyTransaction = TenantTransaction<any>

interface Keeps<Result> {
  /** Commits when true, rolls back when false. */
  readonly keeps?: ((result: Result) => boolean) | undefined
}

interface TransactionOptions<Result> extends Keeps<Result> {
  /**
   * Plans prepared statements once, for any values. By default Postgres plans a statement with short arrays again at
   * each execution: it underestimates the time that planning takes.
   */
  readonly isPlannedOnce?: boolean
}

/**
 * Runs `action` in a transaction in which row-level security shows only the rows of `tenant`. Rolls back when `action`
 * throws. Throws CommitInDoubt when the connection ends during commit.
 */
export const inTenant = <Tables, Result>(
  pool: pg.Pool,
  tenant: string,
  action: (tx: TenantTransaction<Tables>) => Promise<Result>,
  { keeps, isPlannedOnce = false }: TransactionOptions<Result> = {},
): Promise<Result> => {
  return inTenantShare(pool, tenant, async () => {
    const beginning = isPlannedOnce ? ['begin', ...(await findPlanning(pool))] : ['begin']
    return inTransaction(pool, { 'app.tenant': tenant }, action, { keeps, beginning })
  })
}

const plannings = new WeakMap<pg.Pool, Promise<readonly string[]>>()

/**
 * Returns the setting that plans statements once, or none on Citus, whose plans need the values: they say which node
 * has the tenant. Asks each pool's Postgres once.
 */
const findPlanning = (pool: pg.Pool): Promise<readonly string[]> => {
  const known = plannings.get(pool)
  if (known) return known
  const planning = pool
    .query("select current_setting('citus.shard_count', true) is null as is_plain")
    .then(({ rows }) => (rows[0].is_plain ? ['set local plan_cache_mode = force_generic_plan'] : []))
  plannings.set(pool, planning)
  planning.catch(() => plannings.delete(pool))
  return planning
}

/** Runs `action` in a transaction, for inTenant, inSnapshot and inAllTenants. `settings` limit what it may see. */
export const inTransaction = async <Tables, Result>(
  pool: pg.Pool,
  settings: LocalSettings,
  action: (tx: TenantTransaction<Tables>) => Promise<Result>,
  { keeps = () => true, beginning = ['begin'] }: Keeps<Result> & { beginning?: readonly string[] } = {},
): Promise<Result> => {
  const client = await connect(pool)
  try {
    const stamp = begin(client, beginning, settings, pool)
    const result = await action(bind(client))
    const isKept = keeps(result)
    if (stamp) await findGuard(pool)?.confirm(client, (await stamp).rows[0]?.stamp)
    const { command } = await client.query(isKept ? 'commit' : 'rollback').catch(error => {
      closeIfSilent(pool, error)
      // A commit that Postgres refuses is rolled back: only a lost connection leaves the outcome unknown.
      const isRefused = error instanceof pg.DatabaseError && error.severity === 'ERROR'
      throw isKept && !isRefused ? new CommitInDoubt({ cause: error }) : error
    })
    if (isKept && command !== 'COMMIT') throw new Error('Postgres rolled back instead of committing')
    client.release()
    return result
  } catch (error) {
    closeIfSilent(pool, error)
    await abandon(client, error)
    throw error
  }
}

/** Takes a connection, unless the database must not be used now. */
const connect = async (pool: pg.Pool): Promise<pg.PoolClient> => {
  const client = await pool.connect()
  const blocked = findGuard(pool)?.blocked
  if (!blocked) return client
  client.release(blocked)
  throw blocked
}

/**
 * Runs one query in a read-only transaction of `tenant`, in one round trip, as no later statement depends on its
 * result. Returns the rows.
 */
export const readInTenant = <Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  tenant: string,
  query: pg.QueryConfig,
): Promise<Row[]> =>
  inTenantShare(pool, tenant, async () => {
    const client = await connect(pool)
    try {
      begin(client, ['begin read only'], { 'app.tenant': tenant })
      const reading = client.query<Row>(query)
      toPipelined(client).send('commit', 'commit')
      const { rows } = await reading
      client.release()
      return rows
    } catch (error) {
      closeIfSilent(pool, error)
      await abandon(client, error)
      throw error
    }
  })

/**
 * Runs `action` in a read-only transaction of `tenant` in which all statements see the same rows. Postgres ends the
 * transaction when it is idle for longer than `maxIdleSeconds`.
 */
export const inSnapshot = <Tables, Result>(
  pool: pg.Pool,
  tenant: string,
  maxIdleSeconds: number,
  action: (tx: TenantTransaction<Tables>) => Promise<Result>,
): Promise<Result> => {
  const settings = {
    'app.tenant': tenant,
    idle_in_transaction_session_timeout: String(Math.ceil(maxIdleSeconds * 1000)),
  }
  return inTransaction(pool, settings, action, { beginning: ['begin isolation level repeatable read read only'] })
}

/** Holds settings of Postgres that last until the transaction ends. */
type LocalSettings = Readonly<Record<string, string>>

/**
 * Starts a transaction with these settings. The first queries follow in the same write. Each setting is a query of its
 * own: Citus passes the whole text of its query on to its nodes. When one of them fails, the connection ends: later
 * queries would run outside the transaction. Through a pooler returns the stamp of the server, read by the statement
 * that makes the settings.
 */
const begin = (client: pg.PoolClient, statements: readonly string[], settings: LocalSettings, pool?: pg.Pool) => {
  const pipelined = toPipelined(client)
  const onEnded = watchBegin(client)
  const onFailed = (error: Error): void => {
    onEnded()
    findStream(client).destroy(error)
  }
  for (const [index, text] of statements.entries())
    pipelined.send(text, text, { onFailed, onEnded: index === 0 ? onEnded : undefined })
  const guard = pool && findGuard(pool)
  const isStamped = guard?.isPooled(client) ?? false
  // Citus keeps set_config of a select on its coordinator.
  const stamped = isStamped && !guard?.isCitus ? settings : {}
  const stamp = isStamped ? readStamp(client, stamped) : undefined
  for (const [name, value] of Object.entries(settings))
    if (!(name in stamped)) pipelined.send(`set local ${name} = ${pg.escapeLiteral(value)}`, '', { onFailed })
  return stamp
}

/** Makes the settings and reads the stamp of the server, in one statement. */
const readStamp = (client: pg.PoolClient, settings: LocalSettings) => {
  const names = Object.keys(settings)
  const making = names.map((name, index) => `set_config('${name}', $${index + 1}, true), `)
  const text = `select ${making.join('')}${stampSql} as stamp`
  const stamp = client.query<{ stamp: string }>({ name: `stamp ${names}`, text, values: Object.values(settings) })
  // An error rejects the statements after it, too.
  stamp.catch(() => {})
  return stamp
}

const toPipelined = (client: pg.PoolClient) => client as unknown as PipelinedClient

/** Runs a query planned without `methods`, such as `enable_sort`. Statements after it are planned as usual again. */
export const planWithout = async <Result>(
  { client }: AnyTransaction,
  methods: readonly string[],
  run: () => Promise<Result>,
): Promise<Result> => {
  const set = (value: string): void => {
    for (const method of methods) toPipelined(client).send(`set local ${method} = ${value}`, `${method} ${value}`)
  }
  set('off')
  const result = await run()
  set('default')
  return result
}

/** Breaks the connection unless the function that it returns is called before the connection counts as silent. */
const watchBegin = (client: pg.PoolClient): (() => void) =>
  whenSilent(() => findStream(client).destroy(new Error('query read timeout')))

/** Rolls back and releases the connection; one that is broken, or leads to an unusable database, is discarded. */
const abandon = (client: pg.PoolClient, error: unknown): Promise<void> =>
  client.query('rollback').then(
    () => client.release(isUseless(error)),
    broken => client.release(broken),
  )

/** Returns true for a server that only reads, and for a session that a pooler lost. */
const isUseless = (error: unknown): boolean =>
  error instanceof UnusableDatabase || /^(25006|26000|08...)$/.test(String((error as { code?: unknown })?.code))

const bind = <Tables>(client: pg.PoolClient): TenantTransaction<Tables> => {
  const borrowed = { query: client.query.bind(client), release: () => {} } as pg.PoolClient
  const pool = { connect: async () => borrowed, end: async () => {}, options: {} }
  const rows = async (query: string | pg.QueryConfig, values?: readonly unknown[]) =>
    (await client.query(query as string, values as unknown[])).rows
  return Object.assign(new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }), { client, rows })
}

/** Runs the query of a template, with its values as parameters; returns the rows. */
export const query =
  <Row>(tx: AnyTransaction) =>
  async (text: TemplateStringsArray, ...values: unknown[]): Promise<Row[]> =>
    (await sql<Row>(text, ...values).execute(tx)).rows

/** Serialises changes of a tenant's set-up, including its creation. */
export const lockTenant = (tx: AnyTransaction, tenant: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${tenant}, 0))`.execute(tx)

/** Lists the ids of all tenants, sorted. Every tenant may read all rows of their table. */
export const findTenantIds = async (pool: pg.Pool): Promise<string[]> => {
  const { rows } = await pool.query('select tenant_id from tenants order by tenant_id')
  return rows.map(row => row.tenant_id)
}

const deadlockDetected = '40P01'

/** Runs a transaction again, twice at most, after Postgres ended it to resolve a deadlock. */
export const retryDeadlocks = async <Result>(run: () => Promise<Result>, retries = 2): Promise<Result> =>
  run().catch(error => {
    if (retries === 0 || error?.code !== deadlockDetected) throw error
    return retryDeadlocks(run, retries - 1)
  })

const unavailableCodes =
  /^(08...|25006|26000|57P0.|53...|57014|55P03|25P03|ECONN.*|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH)$/
const unavailableWords =
  /connection terminated|timeout exceeded when trying to connect|not queryable|connection error|query read timeout/i

/**
 * Returns true if a later attempt may succeed: Postgres cannot be reached, starts or stops, only reads, is out of
 * connections or took too long, or a pooler lost the session.
 */
export const isUnavailable = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  if (error instanceof UnusableDatabase) return true
  if (error instanceof AggregateError) return error.errors.some(isUnavailable)
  const { code } = error as Error & { code?: unknown }
  return unavailableCodes.test(String(code)) || unavailableWords.test(error.message)
}

/** Returns true if the database was lost, before or while a transaction committed. */
export const isLost = (error: unknown): boolean => error instanceof CommitInDoubt || isUnavailable(error)

/** Returns true if the current role, for example a superuser, bypasses row-level security. */
export const bypassesRowSecurity = async (pool: pg.Pool): Promise<boolean> => {
  const { rows } = await pool.query(
    'select rolsuper or rolbypassrls as bypasses from pg_roles where rolname = current_user',
  )
  return rows[0].bypasses
}
