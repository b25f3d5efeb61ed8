// Runs several statements with one Sync. pg's own pipeline sends a Sync after each statement: Postgres sends each
// response alone, and Node wakes up for each (three queries took 1.6 times as long at 16 connections).
import pg from 'pg'
import { serialize } from 'pg-protocol'
import { type Connection, type Done, Query } from './pg-internals.ts'

type Row = Record<string, unknown>

/** Reads the rows of a statement. */
interface Columns {
  readonly names: readonly string[]
  readonly types: readonly number[]
  readonly parsers: readonly ((text: string) => unknown)[]
  /** Holds null for each column: a copy of it costs less than an object that grows. */
  readonly empty: Row
}

export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
  readonly done?: Done
  /** Is called when the statement has ended; Postgres says so before it runs the statements that follow. */
  readonly onEnded?: (() => void) | undefined
  /** Is called when the statement has not run to its end. */
  readonly onFailed?: ((error: Error) => void) | undefined
  /** Is undefined until Postgres describes the rows; a statement without rows is not described. */
  columns?: Columns
  readonly rows: Row[]
  command?: string
  /** Is the first error in reading a row. */
  error?: Error
}

/** Holds the statements that a connection has prepared or is about to prepare, by name. */
export type Prepared = Map<string, { readonly text: string; isSent?: boolean; columns?: Columns }>

/** Is one query to pg. When a statement fails, Postgres skips those after it, up to the Sync. */
export class StatementGroup extends Query {
  readonly #prepared: Prepared
  readonly #statements: Statement[] = []
  #ended = 0
  /** Counts the statements up to the last commit that ended. */
  #committed = 0
  /** Is used instead of the pool's limit. */
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

  #write({ name, text, values, columns, onEnded }: Statement, messages: Buffer[]): void {
    if (name === '') messages.push(serialize.parse({ text }))
    else if (!this.#prepared.get(name)?.isSent) {
      // Closes the statement first: one that failed earlier may be prepared or not.
      messages.push(serialize.close({ type: 'S', name }), serialize.parse({ name, text }))
      this.#prepared.set(name, { text, isSent: true })
    }
    messages.push(serialize.bind({ statement: name, values }))
    if (!columns) messages.push(serialize.describe({ type: 'P' }))
    messages.push(serialize.execute({}))
    if (onEnded) messages.push(serialize.flush())
  }

  handleRowDescription({ fields }: { fields: readonly pg.FieldDef[] }): void {
    const statement = this.#statements[this.#ended] as Statement
    const prepared = this.#prepared.get(statement.name)
    // Behind a pooler, the columns of a prepared statement may change.
    statement.columns = prepared?.columns && isSame(prepared.columns, fields) ? prepared.columns : toColumns(fields)
    if (prepared) prepared.columns = statement.columns
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
    if (text === 'COMMIT') this.#committed = this.#ended
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

  /** Resolves all statements; with an error, which undid them, only those up to a commit. */
  #settle(error: Error | null): void {
    const kept = error ? this.#committed : this.#ended
    const fail = (): Error => error ?? new Error('Postgres did not run the statement')
    for (const [index, statement] of this.#statements.entries()) {
      if (index >= this.#ended) {
        this.#prepared.delete(statement.name)
        statement.onFailed?.(fail())
      }
      if (index < kept) statement.done?.(statement.error ?? null, toResult(statement))
      else statement.done?.(fail())
    }
  }
}

const toColumns = (fields: readonly pg.FieldDef[]): Columns => {
  const names = fields.map(({ name }) => name)
  const types = fields.map(({ dataTypeID }) => dataTypeID)
  const parsers = types.map(type => pg.types.getTypeParser(type, 'text'))
  return { names, types, parsers, empty: Object.fromEntries(names.map(name => [name, null])) }
}

const isSame = ({ names, types }: Columns, fields: readonly pg.FieldDef[]): boolean =>
  fields.length === names.length &&
  fields.every(({ name, dataTypeID }, index) => name === names[index] && dataTypeID === types[index])

export const noColumns: Columns = { names: [], types: [], parsers: [], empty: {} }

const readRow = ({ names, parsers, empty }: Columns, fields: readonly (string | null)[]): Row => {
  const row = { ...empty }
  for (let index = 0; index < names.length; index++) {
    const text = fields[index] as string | null
    row[names[index] as string] = text === null ? null : parsers[index]?.(text)
  }
  return row
}

/** Reads `SELECT 3`, `INSERT 0 3`, `COMMIT` or `CREATE TABLE`. */
const toResult = ({ command: text = '', rows }: Statement): pg.QueryResult => {
  const [command = '', ...words] = text.split(' ')
  const count = Number(words.at(-1))
  return { command, rowCount: Number.isNaN(count) ? null : count, oid: 0, fields: [], rows }
}
