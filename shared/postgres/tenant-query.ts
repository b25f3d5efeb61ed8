import pg from 'pg'

/** What pg's types leave out. */
interface Connection {
  readonly parsedStatements: Record<string, string>
  parse(statement: { name: string; text: string }): void
  bind(values: { statement: string; values: unknown[] }): void
  execute(portal: object): void
  flush(): void
}

interface PreparedQuery {
  prepare(connection: Connection): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
}

const Query = pg.Query as unknown as new (
  config: object,
  callback: (error: Error | null, result: pg.QueryResult) => void,
) => PreparedQuery & pg.Submittable

const setting = 'set_tenant'
const text = `select set_config('app.tenant', $1, true), set_config('transaction_read_only', 'on', true)`

/**
 * A query in a read-only transaction of its own, in which row-level security shows only the rows of `tenant`: Postgres runs what
 * comes before one Sync in one transaction. `onStarted` is called when it has begun, which is at once. After an error the
 * connection is of no more use: it is not known what it has prepared.
 */
export class TenantQuery extends Query {
  readonly #tenant: string
  readonly #onStarted: () => void
  #isStarted = false

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
    if (!(setting in connection.parsedStatements)) connection.parse({ name: setting, text })
    connection.bind({ statement: setting, values: [this.#tenant] })
    connection.execute({})
    connection.flush()
    super.prepare(connection)
  }

  override handleDataRow(message: unknown): void {
    if (this.#isStarted) super.handleDataRow(message)
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.#isStarted) return super.handleCommandComplete(message, connection)
    this.#isStarted = true
    connection.parsedStatements[setting] = text
    this.#onStarted()
  }
}
