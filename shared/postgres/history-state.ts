// Reads on which servers a database lies, and which history of writes it continues.
import type pg from 'pg'

const timelineSql = `case when not pg_is_in_recovery() then substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end`
const serverSql = `(select system_identifier from pg_control_system()) || '/' || ${timelineSql}`
/** Changes with each promotion and each start of the server; costs less than `serverSql`. */
export const stampSql = `concat(${timelineSql}, ' ', pg_postmaster_start_time())`

export interface State {
  /** Identifies the histories of all nodes, or is null on a standby. */
  readonly server: string | null
  /** Is the server on which the services acknowledge writes; empty in a new database. */
  readonly known: string
  readonly is_lost: boolean
  readonly restored_at: Date
  readonly is_synchronous: boolean
  readonly is_citus: boolean
  readonly reads_only: boolean
  readonly stamp: string
  readonly pid: number
}

const stateSql = `
  select ${serverSql} as server, h.server as known, is_lost, restored_at, pg_backend_pid() as pid, ${stampSql} as stamp,
    current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') not in ('off', 'local')
      as is_synchronous,
    current_setting('transaction_read_only') = 'on' as reads_only,
    current_setting('citus.shard_count', true) is not null as is_citus
  from history h`

/** Leaves out nodes that do not respond: their tenants wait for them anyway. */
const nodesSql = `select string_agg(result, ',' order by nodeid) as server
  from run_command_on_all_nodes($$ select ${serverSql} $$) where success and result <> ''`

export type Queryable = Pick<pg.PoolClient, 'query'>

export const readState = async (client: Queryable, query_timeout?: number): Promise<State> => {
  const patient = (text: string) => ({ text, query_timeout }) as pg.QueryConfig
  const [state] = (await client.query<State>(patient(stateSql))).rows
  if (!state) throw new Error('the table history has no row')
  if (!state.is_citus || state.server === null) return state
  const [nodes] = (await client.query(patient(nodesSql))).rows
  return { ...state, server: nodes?.server ?? state.server }
}

const readTimelines = (servers: string) =>
  new Map(servers.split(',').map(server => server.split('/') as [id: string, timeline: string]))

/** Returns true if a server of `known` is left, and none has another timeline. Nodes of Citus come and go. */
export const isSameHistory = (known: string, now: string): boolean => {
  const timelines = readTimelines(now)
  const common = [...readTimelines(known)].filter(([id]) => timelines.has(id))
  return common.length > 0 && common.every(([id, timeline]) => timelines.get(id) === timeline)
}

/** Keeps the timelines of nodes that do not respond now. */
export const mergeNodes = (known: string, now: string): string =>
  [...readTimelines(known), ...readTimelines(now)]
    .reduce((servers, [id, timeline]) => servers.set(id, timeline), new Map<string, string>())
    .entries()
    .filter(([id]) => id !== '')
    .map(server => server.join('/'))
    .toArray()
    .join()

/** Returns true if the services wait because the server has another history than they know. */
export const isOnOtherHistory = async (pool: pg.Pool): Promise<boolean> => {
  const { server, known, is_lost } = await readState(pool as unknown as Queryable)
  return server !== null && known !== '' && (is_lost || !isSameHistory(known, server))
}

/** Lets the services go on with the server as it is. */
export const acceptHistory = async (pool: pg.Pool): Promise<void> => {
  const { server } = await readState(pool as unknown as Queryable)
  const text = `update history set server = $1, is_lost = false,
    restored_at = greatest(clock_timestamp(), restored_at + interval '1 second')`
  await pool.query(text, [server])
}
