// Notices that the database may lack writes that were acknowledged, as after a failover to an asynchronous standby
// (docs/operators/failover.md). A connection to Postgres itself stays on one server: it is checked when it opens. One
// through a pooler may move to another server: each transaction compares the server's stamp before it commits.
import pg from 'pg'
import type { Logger } from 'pino'
import { pollWorker } from '../poll-worker.ts'
import { isSameHistory, mergeNodes, type Queryable, readState, type State } from './history-state.ts'
import { findProcessId } from './pg-internals.ts'

/** Is thrown for a database that must not be used now. Callers may read the message, which says why. */
export class UnusableDatabase extends Error {
  override name = 'UnusableDatabase'
}

const readsOnly =
  'The database does not accept writes: it is a standby, or default_transaction_read_only is on. Nothing was changed; repeat the request later.'
const mayHaveLost =
  'The service waits for its operator: the database may lack acknowledged writes since a failover. Nothing was changed; repeat the request later.'

/** Describes an acknowledged write by a query of its tenant that returns a row while the database has the write. */
interface Acknowledged {
  readonly tenant: string
  readonly text: string
  readonly values: readonly unknown[]
}

const newest = new WeakMap<pg.Pool, Map<string, Acknowledged>>()

/** Remembers the newest acknowledged write of a kind, to look for it after a failover. */
export const remember = (pool: pg.Pool, kind: string, write: Acknowledged): void => {
  const writes = newest.get(pool) ?? new Map<string, Acknowledged>()
  newest.set(pool, writes.set(kind, write))
}

interface GuardOptions {
  readonly logger: Logger
  /** Says that a promoted standby has every acknowledged write. */
  readonly isSynchronous: boolean
  /** Forgets what this process keeps of the lost history. */
  readonly onRestored?: () => void
}

class HistoryGuard {
  /** Is set while this process must not use the database. */
  blocked: UnusableDatabase | undefined
  isCitus = false
  readonly #pool: pg.Pool
  readonly #options: GuardOptions
  readonly #pooled = new WeakSet<object>()
  /** Holds what the last check found that succeeded. */
  #last: State | undefined
  readonly worker

  constructor(pool: pg.Pool, options: GuardOptions) {
    this.#pool = pool
    this.#options = options
    const run = () => this.check()
    this.worker = pollWorker({ name: 'history.check', everySeconds: 1, logger: options.logger, run })
  }

  isPooled(client: pg.PoolClient): boolean {
    return this.#pooled.has(client)
  }

  /**
   * Throws UnusableDatabase unless the database accepts writes and has all that this process acknowledged. Rejects
   * within seconds when the database is silent.
   */
  async check(): Promise<void> {
    const client = await this.#pool.connect()
    try {
      const { reads_only } = await this.verify(client, 2_000)
      if (reads_only) throw new UnusableDatabase(readsOnly)
      client.release()
    } catch (error) {
      client.release(error as Error)
      throw error
    }
  }

  /** Checks the server of a connection outside a transaction. */
  async verify(client: pg.PoolClient, milliseconds?: number): Promise<State> {
    const state = await readState(client, milliseconds)
    if (state.pid !== findProcessId(client)) this.#pooled.add(client)
    if (state.server === null) throw new UnusableDatabase(readsOnly)
    if (this.#last && state.restored_at > this.#last.restored_at) this.#forget()
    if (!this.#isUnchanged(state)) await this.#requireAll(client, state)
    const server = state.is_citus ? mergeNodes(this.#last?.server ?? state.known, state.server) : state.server
    if (server !== state.known && !(await this.#moveOn(client, state.known, server))) return this.verify(client)
    this.#last = { ...state, server }
    this.isCitus = state.is_citus
    if (this.blocked) this.#options.logger.info({ server: state.server }, 'history.accepted')
    this.blocked = undefined
    return state
  }

  /** Is called before a commit through a pooler, in its transaction, with the stamp of the server. */
  async confirm(client: pg.PoolClient, stamp: string | undefined): Promise<void> {
    if (stamp === this.#last?.stamp) return
    await this.require(client)
  }

  /** Checks all nodes of Citus: one may have failed over behind a connection that was checked. */
  async requireNodes(client: Queryable): Promise<void> {
    if (this.isCitus) await this.require(client)
  }

  /** Throws UnusableDatabase, in a transaction, unless its server has the history that this process knows. */
  async require(client: Queryable): Promise<void> {
    const state = await readState(client)
    if (state.server === null) throw new UnusableDatabase(readsOnly)
    if (!this.#last || !this.#isUnchanged(state)) {
      this.worker.wake()
      throw this.blocked ?? new UnusableDatabase(mayHaveLost)
    }
    this.#last = { ...state, server: this.#last.server }
  }

  #isUnchanged({ is_lost, known, server }: State): boolean {
    const last = this.#last?.server ?? known
    return !is_lost && server !== null && isSameHistory(known, server) && isSameHistory(last, server)
  }

  /** Blocks this process unless another server has all acknowledged writes. */
  async #requireAll(client: pg.PoolClient, { known, server, is_lost }: State): Promise<void> {
    const isMissing = !(await this.#hasNewest(client))
    // Other processes, whose newest writes may be older, stop too.
    if (isMissing && !is_lost) await client.query('update history set is_lost = true')
    const isComplete = known === '' || this.#options.isSynchronous || this.#last?.is_synchronous === true
    const mayGoOn = isComplete || isSameHistory(known, server ?? '')
    if (is_lost || isMissing || !mayGoOn) throw this.#block({ known, server, is_missing: isMissing })
  }

  /** Returns false if another process changed the row: it may have found that writes are lost. */
  async #moveOn(client: pg.PoolClient, known: string, server: string): Promise<boolean> {
    const text = 'update history set server = $1 where server = $2 and not is_lost'
    const { rowCount } = await client.query(text, [server, known])
    if (known !== '' && rowCount) this.#options.logger.warn({ known, server }, 'history.moved_on')
    return Boolean(rowCount)
  }

  /** Returns false if one of the newest writes that this process acknowledged is missing. */
  async #hasNewest(client: pg.PoolClient): Promise<boolean> {
    for (const { tenant, text, values } of newest.get(this.#pool)?.values() ?? []) {
      await client.query('begin read only')
      await client.query(`set local app.tenant = ${pg.escapeLiteral(tenant)}`)
      const { rowCount } = await client.query(text, [...values])
      await client.query('rollback')
      if (rowCount === 0) return false
    }
    return true
  }

  #block(found: object): UnusableDatabase {
    if (!this.blocked)
      this.#options.logger.error(
        found,
        'history.other: the database may lack acknowledged writes: run `restored` (docs/operators/failover.md)',
      )
    this.blocked ??= new UnusableDatabase(mayHaveLost)
    return this.blocked
  }

  #forget(): void {
    newest.delete(this.#pool)
    this.#last = undefined
    this.#options.onRestored?.()
  }
}

const guards = new WeakMap<pg.Pool, HistoryGuard>()

export const findGuard = (pool: pg.Pool): HistoryGuard | undefined => guards.get(pool)

/** Guards a pool. `worker` checks each second. */
export const guardHistory = (pool: pg.Pool, options: GuardOptions) => {
  const guard = new HistoryGuard(pool, options)
  guards.set(pool, guard)
  Object.assign(pool.options, { onConnect: (client: pg.PoolClient) => guard.verify(client) })
  return guard
}
