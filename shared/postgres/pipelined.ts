// Queries that put settings into what they send: pg itself waits for the response of each.
import type { Socket } from 'node:net'
import pg from 'pg'

/** What pg's types leave out. */
interface Connection {
  readonly stream: Socket
  /** The texts of prepared statements by name. */
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
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleError(error: Error, connection: Connection): void
}

const Query = pg.Query as unknown as new (
  config: object,
  done: (error: Error | null, result: pg.QueryResult) => void,
) => AnyQuery

const run = (connection: Connection, name: string, textOf: () => string, values: readonly string[]): void => {
  if (connection.parsedStatements[name] === undefined) {
    const text = textOf()
    connection.parse({ name, text })
    connection.parsedStatements[name] = text
  }
  connection.bind({ statement: name, values })
  connection.execute({})
}

/** After an error it is not known what the connection has prepared: it is of no more use. */
class Pipelined extends Query {
  override handleError(error: Error, connection: Connection): void {
    connection.stream.destroy()
    super.handleError(error, connection)
  }
}

/** The beginning of a transaction and settings that last until its end, by name: prepared statements with one response. */
export class Opening extends Pipelined {
  readonly #beginning: string
  readonly #settings: Readonly<Record<string, string>>

  constructor(beginning: string, settings: Readonly<Record<string, string>>, done: (error: Error | null) => void) {
    super({ text: beginning }, done)
    this.#beginning = beginning
    this.#settings = settings
  }

  override submit(connection: Connection): void {
    const names = Object.keys(this.#settings)
    run(connection, this.#beginning, () => this.#beginning, [])
    run(connection, names.join(), () => `select ${names.map(callOf).join()}`, Object.values(this.#settings))
    connection.sync()
  }

  override handleDataRow(): void {}

  override handleCommandComplete(): void {}
}

const callOf = (name: string, index: number): string => `set_config('${name}', $${index + 1}, true)`

const setting = 'set_tenant'
const settingText = `select set_config('app.tenant', $1, true), set_config('transaction_read_only', 'on', true)`

/**
 * A query in a read-only transaction of its own, in which row-level security shows only the rows of `tenant`: Postgres runs what
 * comes before one Sync in one transaction. `onStarted` is called when it has begun, which is at once.
 */
export class TenantQuery extends Pipelined {
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
    run(connection, setting, () => settingText, [this.#tenant])
    connection.flush()
    super.prepare(connection)
  }

  override handleDataRow(message: unknown): void {
    if (this.#isStarted) super.handleDataRow(message)
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.#isStarted) return super.handleCommandComplete(message, connection)
    this.#isStarted = true
    this.#onStarted()
  }
}
