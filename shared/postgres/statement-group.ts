// Runs several statements with one Sync. In pg's own pipeline each has its own: Postgres then sends, and Node wakes up
// for, each response alone (three queries took 1.6 times as long at 16 connections). A prepared statement's columns are
// described once, instead of at each execution.
import pg from 'pg'
import { serialize } from 'pg-protocol'

export type Done = (error: Error | null, result?: pg.QueryResult) => void
type Row = Record<string, unknown>

/** Reads the rows of a statement. */
interface Columns {
  readonly names: readonly string[]
  readonly parsers: readonly ((text: string) => unknown)[]
  /** Has each column: a copy of it costs less than a new object that grows. */
  readonly empty: Row
}

export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
  readonly done: Done | undefined
  /** Is called when the statement has ended; Postgres says so before it runs the statements that follow. */
  readonly onEnded?: (() => void) | undefined
  /** Is undefined until Postgres describes the rows. */
  columns: Columns | undefined
  readonly rows: Row[]
  command?: string
  /** Is the first error in reading a row. */
  error?: Error
}

/** Holds the columns of each statement that a connection has prepared, by name. */
export type Prepared = Map<string, Columns | undefined>

/** Declares the members that pg's types leave out. */
interface Connection {
  _send(message: Buffer): void
}
interface AnyQuery {
  callback: Done
}
const Query = pg.Query as unknown as new (text: string, values: undefined, done: Done) => AnyQuery

/** Is one query to pg. When a statement fails, Postgres skips those after it, up to the Sync. */
export class StatementGroup extends Query {
  readonly #prepared: Prepared
  readonly #statements: Statement[] = []
  #ended = 0
  #isSettled = false
  /** Limits the milliseconds of the group, instead of the pool's limit. */
  query_timeout: number | undefined

  constructor(prepared: Prepared) {
    super('group', undefined, () => {})
    this.#prepared = prepared
    // pg wraps it, and calls it with an error when time is up.
    this.callback = error => this.#settle(error)
  }

  add(statement: Statement): void {
    this.#statements.push(statement)
  }

  submit(connection: Connection): null {
    const messages: Buffer[] = []
    for (const statement of this.#statements) this.#write(statement, messages)
    messages.push(serialize.sync())
    connection._send(Buffer.concat(messages))
    return null
  }

  #write(statement: Statement, messages: Buffer[]): void {
    const { name, text, values, onEnded } = statement
    // Closes the statement first: one that failed earlier may be prepared or not.
    if (name !== '' && !this.#prepared.has(name)) messages.push(serialize.close({ type: 'S', name }))
    if (name === '' || !this.#prepared.has(name)) messages.push(serialize.parse({ name, text }))
    statement.columns ??= this.#prepared.get(name)
    messages.push(serialize.bind({ statement: name, values }))
    if (!statement.columns) messages.push(serialize.describe({ type: 'P' }))
    if (name !== '') this.#prepared.set(name, statement.columns)
    messages.push(serialize.execute({}))
    if (onEnded) messages.push(serialize.flush())
  }

  handleRowDescription({ fields }: { fields: readonly pg.FieldDef[] }): void {
    const statement = this.#statements[this.#ended] as Statement
    const names = fields.map(({ name }) => name)
    const parsers = fields.map(({ dataTypeID }) => pg.types.getTypeParser(dataTypeID, 'text'))
    statement.columns = { names, parsers, empty: Object.fromEntries(names.map(name => [name, null])) }
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const statement = this.#statements[this.#ended] as Statement
    try {
      statement.rows.push(readRow(statement.columns ?? noColumns, fields))
    } catch (error) {
      statement.error ??= error as Error
    }
  }

  handleCommandComplete({ text }: { text: string }): void {
    const statement = this.#statements[this.#ended++] as Statement
    statement.command = text
    // Postgres describes no columns of a statement without rows.
    statement.columns ??= noColumns
    if (statement.name !== '') this.#prepared.set(statement.name, statement.columns)
    statement.onEnded?.()
  }

  handleEmptyQuery(): void {
    this.#ended++
  }

  handleReadyForQuery(): void {
    this.callback(null)
  }

  handleError(error: Error): void {
    this.callback(error)
  }

  #settle(error: Error | null): void {
    if (this.#isSettled) return
    this.#isSettled = true
    for (const [index, statement] of this.#statements.entries())
      if (index < this.#ended) statement.done?.(statement.error ?? null, toResult(statement))
      else {
        this.#prepared.delete(statement.name)
        statement.done?.(error ?? new Error('Postgres did not run the statement'))
      }
  }
}

export const noColumns: Columns = { names: [], parsers: [], empty: {} }

const readRow = ({ names, parsers, empty }: Columns, fields: readonly (string | null)[]): Row => {
  const row = { ...empty }
  for (let index = 0; index < names.length; index++) {
    const text = fields[index] as string | null
    if (text !== null) row[names[index] as string] = parsers[index]?.(text)
  }
  return row
}

/** Reads `SELECT 3`, `INSERT 0 3` or `COMMIT`. */
const toResult = ({ command: text = '', rows }: Statement): pg.QueryResult => {
  const [command = '', ...counts] = text.split(' ')
  const last = counts.at(-1)
  return { command, rowCount: last === undefined ? null : Number(last), oid: 0, fields: [], rows }
}
