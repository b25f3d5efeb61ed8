// Reads with one Sync. Three queries in pg's own pipeline would take 1.6 times as long at 16 connections, as Node wakes
// up for each response (measured; one read at a time takes as long either way).
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
  prepare(connection: Connection): void
  _getRows(connection: Connection): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleError(error: Error, connection: Connection): void
}

const Query = pg.Query as unknown as new (
  config: object,
  done: (error: Error | null, result: pg.QueryResult) => void,
) => AnyQuery

/** Runs a statement, which each connection prepares once if it has a name. */
const run = (connection: Connection, text: string, name: string): void => {
  if (name === '' || connection.parsedStatements[name] === undefined) connection.parse({ name, text })
  if (name !== '') connection.parsedStatements[name] = text
  connection.bind({ statement: name, values: [] })
  connection.execute({})
}

/** Counts the statements before the query: `begin` and a setting. */
const statementsBefore = 2

/**
 * Runs a query in a read-only transaction of its own, in which row-level security shows only the rows of `tenant`, with
 * one Sync. `onStarted` is called when the transaction has begun, which is at once. After an error the connection's
 * prepared statements are unknown: it is closed.
 */
export class TenantQuery extends Query {
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
    run(connection, 'begin read only', 'begin read only')
    run(connection, `set local app.tenant = ${pg.escapeLiteral(this.#tenant)}`, '')
    connection.flush()
    super.prepare(connection)
  }

  override _getRows(connection: Connection): void {
    connection.execute({})
    run(connection, 'commit', 'commit')
    connection.sync()
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.#ended++ === 0) this.#onStarted()
    if (this.#ended === statementsBefore + 1) super.handleCommandComplete(message, connection)
  }

  override handleError(error: Error, connection: Connection): void {
    connection.stream.destroy()
    super.handleError(error, connection)
  }
}
