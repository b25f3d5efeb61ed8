import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import type { Status, Statuses } from './statuses.ts'

/** The statuses of a tenant with their moves, all of one moment. */
export const findStatuses = async (tx: Tx, tenant: string): Promise<Statuses> => {
  const { rows } = await tx.client.query({ name: 'find_statuses', text: statement, values: [tenant] })
  return new Map(rows.map((row: Status) => [row.key, row]))
}

const statement = `
  select status_key as key, name, description, color, array(
    select to_key from status_moves join statuses target
      on target.tenant_id = status_moves.tenant_id and target.status_key = to_key
    where status_moves.tenant_id = statuses.tenant_id and from_key = statuses.status_key
    order by target.position
  ) as moves
  from statuses where tenant_id = $1 order by position`

const lockName = (tenant: string): string => `statuses of ${tenant}`

/** Until the transaction ends no order is moved, and orders under way have been. */
export const lockStatusSet = (tx: Tx, tenant: string) =>
  tx.client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [lockName(tenant)])

/** Until the transaction ends the tenant keeps every status that it has. */
export const keepStatusSet = (tx: Tx, tenant: string) =>
  tx.client.query('select pg_advisory_xact_lock_shared(hashtextextended($1, 0))', [lockName(tenant)])

/** Those of `keys` that some order has. */
export const findUsedKeys = async (tx: Tx, tenant: string, keys: readonly string[]): Promise<string[]> => {
  const { rows } = await sql<{ key: string }>`
    select key from unnest(${[...keys]}::text[]) as key
    where exists (select from orders where tenant_id = ${tenant} and status_key = key collate "C")`.execute(tx)
  return rows.map(row => row.key)
}
