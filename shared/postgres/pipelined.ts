// Sends queries together with settings: pg itself waits for the response to each.
import type { Socket } from 'node:net'
import pg from 'pg'

/** Declares the members that pg's types leave out. */
interface Connection {
  readonly stream: Socket
  /** Holds the texts of prepared statements by name. */
  readonly parsedStatements: Record<string, string>
  parse(statement: { name: string; text: string }): void
  bind(values: { statement: string; values: readonly string[] }): void
  execute(portal: object): void
  flush(): void
  sync(): void
}

interface AnyQuery {
  submit(connection: Connection): void
  prepare(connection: Connection): void
  _getRows(connection: Connection): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleError(error: Error, connection: Connection): void
}

const Query = pg.Query as unknown as new (
  config: object,
  done: (error: Error | null, result: pg.QueryResult) => void,
) => AnyQuery

/** Runs a statement that each connection prepares once. */
const run = (connection: Connection, text: string): void => {
  const name = text.slice(0, 60)
  if (connection.parsedStatements[name] === undefined) {
    connection.parse({ name, text })
    connection.parsedStatements[name] = text
  }
  connection.bind({ statement: name, values: [] })
  connection.execute({})
}

const set = (connection: Connection, name: string, value: string): void => {
  connection.parse({ name: '', text: `set local ${name} = ${pg.escapeLiteral(value)}` })
  connection.bind({ statement: '', values: [] })
  connection.execute({})
}

/** After an error the connection's prepared statements are unknown: it cannot be used again. */
class Pipelined extends Query {
  override handleError(error: Error, connection: Connection): void {
    connection.stream.destroy()
    super.handleError(error, connection)
  }
}

/**
 * Sends the statements that begin a transaction, and settings that last until its end; gets one response. Each setting
 * is a statement of its own: Citus passes no other form on to its nodes.
 */
export class Opening extends Pipelined {
  readonly #statements: readonly string[]
  readonly #settings: Settings

  constructor(statements: readonly string[], settings: Settings, done: (error: Error | null) => void) {
    super({ text: 'begin' }, done)
    this.#statements = statements
    this.#settings = settings
  }

  override submit(connection: Connection): void {
    for (const text of this.#statements) run(connection, text)
    for (const [name, value] of Object.entries(this.#settings)) set(connection, name, value)
    connection.sync()
  }

  override handleDataRow(): void {}

  override handleCommandComplete(): void {}
}

/** Holds settings of Postgres by name. */
type Settings = Readonly<Record<string, string>>

/** Counts the statements before the query: `begin` and a setting. */
const statementsBefore = 2

/**
 * Runs a query in a read-only transaction of its own, in which row-level security shows only the rows of `tenant`, with
 * one Sync. `onStarted` is called when the transaction has begun, which is at once.
 */
export class TenantQuery extends Pipelined {
  readonly #tenant: string
  readonly #onStarted: () => void
  #ended = 0

  constructor(
    tenant: string,
    query: pg.QueryConfig,
    onStarted: () => void,
    onEnded: (error: Error | null, result: pg.QueryResult) => void,
  ) {
    super({ ...query, queryMode: 'extended' }, onEnded)
    this.#tenant = tenant
    this.#onStarted = onStarted
  }

  override prepare(connection: Connection): void {
    run(connection, 'begin read only')
    set(connection, 'app.tenant', this.#tenant)
    connection.flush()
    super.prepare(connection)
  }

  override _getRows(connection: Connection): void {
    connection.execute({})
    run(connection, 'commit')
    connection.sync()
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.#ended++ === 0) this.#onStarted()
    if (this.#ended === statementsBefore + 1) super.handleCommandComplete(message, connection)
  }
}
