// Sends the statements of one round of the event loop together, with one Sync. In pg's own pipeline each has its own:
// Postgres then sends, and Node wakes up for, each response alone (three queries took 1.6 times as long at 16
// connections).
import type { Socket } from 'node:net'
import pg from 'pg'

/** Declares the members that pg's types leave out. */
interface Connection {
  readonly stream: Socket
  /** Holds the texts of prepared statements by name. */
  readonly parsedStatements: Record<string, string | undefined>
  readonly submittedNamedStatements: Record<string, string | undefined>
  parse(statement: { name: string; text: string }): void
  bind(values: { statement: string; values: readonly unknown[] }): void
  describe(portal: { type: 'P'; name: string }): void
  execute(portal: object): void
  flush(): void
  sync(): void
}

type Done = (error: Error | null, result?: pg.QueryResult) => void
type Config = pg.QueryConfig & { readonly query_timeout?: number; readonly submit?: unknown }

interface AnyQuery {
  name: string | undefined
  text: string
  callback: Done
  values: readonly unknown[] | undefined
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleEmptyQuery(): void
  handleReadyForQuery(): void
  handleError(error: Error, connection?: Connection): void
}

const Query = pg.Query as unknown as new (config: string | Config, values: unknown, done: Done) => AnyQuery
const { prepareValue } = (pg as unknown as { utils: { prepareValue: (value: unknown) => unknown } }).utils

interface Options {
  /** Is false for a statement that returns no rows, such as `begin`: its result is only the command. */
  readonly hasRows?: boolean
  /** Is called when the statement has ended, which does not wait for the statements that follow. */
  readonly onEnded?: () => void
}

/** Is a statement of a group. The constructor throws if a value cannot be sent. */
class Statement extends Query {
  readonly options: Options

  constructor(config: string | Config, values: unknown, done: Done, options: Options) {
    super(config, values, done)
    this.values = this.values?.map(prepareValue) ?? []
    this.options = options
  }

  send(connection: Connection): void {
    const { name = '', text, values = [] } = this
    const { parsedStatements: parsed, submittedNamedStatements: sent } = connection
    if (name === '' || (parsed[name] ?? sent[name]) === undefined) connection.parse({ name, text })
    if (name !== '' && parsed[name] === undefined) sent[name] = text
    connection.bind({ statement: name, values })
    if (this.options.hasRows ?? true) connection.describe({ type: 'P', name: '' })
    connection.execute({})
    if (this.options.onEnded) connection.flush()
  }
}

/** Is one query to pg. When a statement fails, Postgres skips those after it, up to the Sync. */
class Group extends Query {
  readonly #statements: Statement[] = []
  #ended = 0
  #isSettled = false
  /** Limits the milliseconds of all statements, instead of the pool's limit. */
  query_timeout: number | undefined

  constructor() {
    super('group', undefined, () => {})
    // pg wraps it, and calls it when time is up.
    this.callback = error => this.#settle(error)
  }

  add(statement: Statement): void {
    this.#statements.push(statement)
  }

  submit(connection: Connection): null {
    connection.stream.cork()
    for (const statement of this.#statements) statement.send(connection)
    connection.sync()
    connection.stream.uncork()
    this.#expect()
    return null
  }

  /** Tells pg the name of the statement that Postgres runs next: pg notes it when the statement is parsed. */
  #expect(): void {
    this.name = this.#statements[this.#ended]?.name
    this.text = this.#statements[this.#ended]?.text ?? ''
  }

  override handleRowDescription(message: unknown): void {
    this.#statements[this.#ended]?.handleRowDescription(message)
  }

  override handleDataRow(message: unknown): void {
    this.#statements[this.#ended]?.handleDataRow(message)
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    const statement = this.#statements[this.#ended++]
    statement?.handleCommandComplete(message, connection)
    statement?.options.onEnded?.()
    this.#expect()
  }

  override handleEmptyQuery(): void {
    this.#ended++
    this.#expect()
  }

  override handleReadyForQuery(): void {
    this.callback(null)
  }

  override handleError(error: Error, { submittedNamedStatements: sent }: Connection): void {
    for (const { name = '' } of this.#statements.slice(this.#ended)) delete sent[name]
    this.callback(error)
  }

  #settle(error: Error | null): void {
    if (this.#isSettled) return
    this.#isSettled = true
    for (const [index, statement] of this.#statements.entries())
      if (index < this.#ended) statement.handleReadyForQuery()
      else statement.handleError(error ?? new Error('Postgres did not run the statement'))
  }
}

/** Is a client of createPool. Outside a transaction, statements of one round of the event loop succeed or fail together. */
export class PipelinedClient extends pg.Client {
  #group: Group | undefined

  // biome-ignore lint/suspicious/noExplicitAny: pg has eight forms of it
  override query(config: any, values?: any, done?: any): any {
    const isJoined = typeof config === 'string' ? values?.length > 0 || !config.includes(';') : !config.submit
    if (!isJoined) {
      this.#send()
      return super.query(config, values, done)
    }
    const callback = typeof values === 'function' ? values : done
    if (callback) return this.#join(config, values, callback, {})
    return new Promise((resolve, reject) => {
      this.#join(config, values, (error, result) => (error ? reject(error) : resolve(result as pg.QueryResult)), {})
    })
  }

  /** Runs a statement that returns no rows. `name` is for one without values in its text: it is parsed once. */
  run(text: string, name?: string, onEnded?: () => void): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      const done: Done = (error, result) => (error ? reject(error) : resolve(result as pg.QueryResult))
      this.#join({ text, ...(name && { name }) }, undefined, done, { hasRows: false, ...(onEnded && { onEnded }) })
    })
  }

  #join(config: string | Config, values: unknown, done: Done, options: Options): void {
    const statement = new Statement(config, values, done, options)
    if (!this.#group) {
      this.#group = new Group()
      process.nextTick(() => this.#send())
    }
    this.#group.add(statement)
    if (typeof config !== 'string') this.#group.query_timeout ??= config.query_timeout
  }

  #send(): void {
    const group = this.#group
    this.#group = undefined
    if (group) super.query(group as unknown as string)
  }
}
