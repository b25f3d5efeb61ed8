// States what the services use of pg and pg-pool beyond their types. pg-internals.test.ts checks each member against
// the installed versions.
import type { Socket } from 'node:net'
import pg from 'pg'

export type Done = (error: Error | null, result?: pg.QueryResult) => void
export type Connected = (error?: Error, client?: pg.PoolClient, release?: (error?: unknown) => void) => void

interface ClientInternals {
  readonly connection: { readonly stream: Socket }
  readonly processID: number
  readonly _connecting: boolean
}
interface PoolInternals {
  readonly _clients: readonly pg.PoolClient[]
  readonly _idle: readonly { readonly client: pg.PoolClient }[]
  readonly _pendingQueue: { readonly callback: Connected }[]
}

const inside = (client: pg.PoolClient) => client as unknown as ClientInternals
const insidePool = (pool: pg.Pool) => pool as unknown as PoolInternals

export const findStream = (client: pg.PoolClient): Socket => inside(client).connection.stream

/** Returns the process of the handshake: behind a pooler, others run the statements. */
export const findProcessId = (client: pg.PoolClient): number => inside(client).processID

export const listIdle = (pool: pg.Pool): pg.PoolClient[] => insidePool(pool)._idle.map(({ client }) => client)

/** Lists the connections of the pool whose handshake goes on. */
export const listConnecting = (pool: pg.Pool): pg.PoolClient[] =>
  insidePool(pool)._clients.filter(client => inside(client)._connecting)

/** Makes a request that waits for others to release theirs wait no longer; returns false if it does not wait. */
export const removePending = (pool: pg.Pool, connected: Connected): boolean => {
  const { _pendingQueue: queue } = insidePool(pool)
  const index = queue.findIndex(({ callback }) => callback === connected)
  if (index >= 0) queue.splice(index, 1)
  return index >= 0
}

/** Sends each query at once, instead of after the response to the earlier one, by connections of this class. */
export const pipelinedBy = (Client: typeof pg.Client) => ({ pipeline: true, Client }) as pg.PoolConfig

export interface Connection {
  _send(message: Buffer): void
}

/**
 * Is a query whose subclasses write messages in `submit`; pg calls their `handle…` with what Postgres sends, and
 * `callback`, which it wraps, with an error after the milliseconds of `query_timeout`.
 */
export const Query = pg.Query as unknown as new (text: string, values: undefined, done: Done) => { callback: Done }

export const { prepareValue } = (pg as unknown as { utils: { prepareValue: (value: unknown) => unknown } }).utils
