import pg from 'pg'
import { type Done, prepareValue } from './pg-internals.ts'
import { noColumns, type Prepared, type Statement, StatementGroup } from './statement-group.ts'

type Config = pg.QueryArrayConfig & { readonly query_timeout?: number; readonly submit?: unknown }

/**
 * Sends the statements of one round of the event loop together, with one Sync. Outside a transaction they succeed or
 * fail together.
 */
export class PipelinedClient extends pg.Client {
  readonly #prepared: Prepared = new Map()
  #group: StatementGroup | undefined

  // biome-ignore lint/suspicious/noExplicitAny: pg has eight forms of it
  override query(config: any, values?: any, done?: any): any {
    const given: Config = typeof config === 'string' ? { text: config, values: toArray(values) } : config
    if (isSimple(given)) {
      this.#flush()
      return super.query(config, values, done)
    }
    const { text, name = nameCommand(text), query_timeout } = given
    const join = (done: Done): void => {
      const texts = (given.values ?? toArray(values)).map(value => prepareValue(value))
      this.#join({ name, text, values: texts, done, rows: [] }, query_timeout)
    }
    const callback = typeof values === 'function' ? values : done
    return callback ? join(callback) : toPromise(join)
  }

  /**
   * Runs a statement that returns no rows and that nobody waits for; those after it reject with its error. One with a
   * name is parsed once.
   */
  send(text: string, name: string, watch: Pick<Statement, 'onEnded' | 'onFailed'> = {}): void {
    this.#join({ text, name, values: [], columns: noColumns, rows: [], ...watch })
  }

  #join(statement: Statement, timeout?: number): void {
    const { name, text } = statement
    const known = this.#prepared.get(name) ?? { text }
    if (known.text !== text) throw new Error(`two statements have the name ${name}`)
    if (name !== '') this.#prepared.set(name, known)
    if (!this.#group) {
      this.#group = new StatementGroup(this.#prepared)
      process.nextTick(() => this.#flush())
    }
    this.#group.add(statement)
    if (timeout !== undefined) this.#group.query_timeout = Math.min(timeout, this.#group.query_timeout ?? timeout)
  }

  #flush(): void {
    const group = this.#group
    this.#group = undefined
    if (group) super.query(group as unknown as string)
  }
}

const toPromise = (start: (done: Done) => void): Promise<pg.QueryResult> =>
  new Promise<pg.QueryResult>((resolve, reject) =>
    start((error, result) => (error ? reject(error) : resolve(result as pg.QueryResult))),
  ).catch(error => {
    // Shows the caller, instead of the socket that the error came from.
    Error.captureStackTrace(error)
    throw error
  })

const toArray = (values: unknown): readonly unknown[] => (Array.isArray(values) ? values : [])

/**
 * Finds what needs the simple protocol: several statements in one text, and `explain (generic_plan)` of a statement
 * with parameters.
 */
const isSimple = ({ submit, rowMode, types, name, text, values }: Config): boolean =>
  Boolean(submit ?? rowMode ?? types) || (name === undefined && !values?.length && /[;$]/.test(text))

/** Names what ends a transaction: a connection parses it once. */
const nameCommand = (text: string): string => (text === 'commit' || text === 'rollback' ? text : '')
