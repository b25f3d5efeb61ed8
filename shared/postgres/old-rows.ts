import { sql } from 'kysely'
import { type AnyTransaction, query } from './database.ts'

/** Holds the keys of the last row read; empty at first. */
export type Position = readonly string[]

/** Holds deleted rows by table, each as JSON; `next` is undefined when there are no more. */
export interface Taken {
  readonly rows: Readonly<Record<string, readonly string[]>>
  readonly next: Position | undefined
}

/** Deletes some thousands of finished rows that are older than `days` days and follow the position `after`. */
export type TakeOld = (tx: AnyTransaction, tenant: string, days: number, after: Position) => Promise<Taken>

/** Deletes the rows of a table with these ids, and returns them as JSON. */
export const deleteRows = async (
  tx: AnyTransaction,
  tenant: string,
  [table, column]: readonly [table: string, column: string],
  ids: readonly string[],
): Promise<string[]> => {
  const rows = await query<{ line: string }>(tx)`
    with gone as (
      delete from ${sql.table(table)} where tenant_id = ${tenant} and ${sql.ref(column)} = any(${ids}) returning *
    )
    select row_to_json(gone)::text as line from gone`
  return rows.map(({ line }) => line)
}

const entriesAtOnce = 10_000

/** Needs the role that owns the tables. */
export const takeAudit: TakeOld = async (tx, tenant, days, [at = '-infinity', id = '0']) => {
  const rows = await query<{ at: string; id: string }>(tx)`
    select happened_at::text as at, audit_id as id from audit
    where tenant_id = ${tenant} and (happened_at, audit_id) > (${at}::timestamptz, ${id}::bigint)
      and happened_at < now() - make_interval(days => ${days})
    order by happened_at, audit_id limit ${entriesAtOnce}`
  const ids = rows.map(row => row.id)
  const audit = await deleteRows(tx, tenant, ['audit', 'audit_id'], ids)
  const last = rows.length < entriesAtOnce ? undefined : rows.at(-1)
  return { rows: { audit }, next: last && [last.at, last.id] }
}
