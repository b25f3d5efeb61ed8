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
  sync(): void
}

interface AnyQuery {
  submit(connection: Connection): void
  handleDataRow(): void
  handleCommandComplete(): void
  handleError(error: Error, connection: Connection): void
}

const Query = pg.Query as unknown as new (config: { text: string }, done: (error?: Error) => void) => AnyQuery

/**
 * The beginning of a transaction and settings that last until its end, by name, as prepared statements with one response: Postgres parses
 * nothing, and pg would wait for the end of each.
 */
export class Opening extends Query {
  readonly #beginning: string
  readonly #settings: Readonly<Record<string, string>>

  constructor(beginning: string, settings: Readonly<Record<string, string>>, done: (error?: Error) => void) {
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

  /** It is not known what the connection has prepared. */
  override handleError(error: Error, connection: Connection): void {
    connection.stream.destroy()
    super.handleError(error, connection)
  }
}

const callOf = (name: string, index: number): string => `set_config('${name}', $${index + 1}, true)`

const run = (connection: Connection, name: string, textOf: () => string, values: readonly string[]): void => {
  if (connection.parsedStatements[name] === undefined) {
    const text = textOf()
    connection.parse({ name, text })
    connection.parsedStatements[name] = text
  }
  connection.bind({ statement: name, values })
  connection.execute({})
}
