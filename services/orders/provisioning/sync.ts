import type { Change } from '@courier/shared/cli/changes.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Tables, Tx } from '../database/tables.ts'

type Row = Record<string, string | number | boolean | null>

export interface Sync {
  tx: Tx
  table: keyof Tables
  /** The name of a row in the list of changes. */
  kind: string
  /** The primary key, tenant_id first. */
  keys: readonly string[]
  current: readonly Row[]
  wanted: readonly Row[]
  /** What happens to rows that are no longer wanted. */
  others: 'kept' | 'removed' | 'deactivated'
}

export interface Synced {
  changes: Change[]
  /** Deletes rows that are no longer wanted; a separate step, because other tables may still refer to them. */
  remove: () => Promise<void>
}

/** Brings the rows of a table to the wanted state, in one statement a step, and returns what changed. */
export const sync = async ({ tx, table, kind, keys, current, wanted, others }: Sync): Promise<Synced> => {
  const keyOf = (row: Row): string => JSON.stringify(keys.map(key => row[key]))
  const before = new Map(current.map(row => [keyOf(row), row]))
  const after = new Set(wanted.map(keyOf))
  const added = wanted.filter(row => !before.has(keyOf(row)))
  const changed = wanted.filter(row => differs(before.get(keyOf(row)), row))
  const gone = others === 'kept' ? [] : current.filter(row => !after.has(keyOf(row)) && row.is_active !== false)
  const inactive = others === 'deactivated' ? gone.map(row => ({ ...row, is_active: false })) : []
  await upsert(tx, table, keys, [...added, ...changed, ...inactive])

  const changesOf = (rows: readonly Row[], change: Change['change']): Change[] =>
    rows.map(row => ({
      kind,
      id: (keys.length > 1 ? keys.slice(1) : keys).map(key => row[key]).join(' / '),
      change,
      ...(change === 'changed' && { details: detailsOf(before.get(keyOf(row)) ?? {}, row) }),
    }))
  const isEnded = (row: Row): boolean => row.is_active === false && before.get(keyOf(row))?.is_active === true
  const changes = [
    ...changesOf(added, 'added'),
    ...changesOf(
      changed.filter(row => !isEnded(row)),
      'changed',
    ),
    ...changesOf(changed.filter(isEnded), 'deactivated'),
  ]
  if (others !== 'kept') changes.push(...changesOf(gone, others))
  return { changes, remove: () => remove(tx, table, keys, others === 'removed' ? gone : []) }
}

const differs = (before: Row | undefined, after: Row): boolean =>
  before !== undefined && Object.keys(after).some(column => differsIn(before, after, column))

const differsIn = (before: Row, after: Row, column: string): boolean => {
  const [old = null, now = null] = [before[column], after[column]]
  return old === null || now === null ? old !== now : String(old) !== String(now)
}

/** A password is not shown, nor its hash. */
const detailsOf = (before: Row, after: Row): string[] =>
  Object.keys(after)
    .filter(column => differsIn(before, after, column))
    .map(column =>
      column === 'password_hash'
        ? 'password changed'
        : `${column}: ${before[column] ?? '-'} -> ${after[column] ?? '-'}`,
    )

const upsert = async (tx: Tx, table: string, keys: readonly string[], rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return
  const columns = Object.keys(rows[0] as Row)
  const names = list(columns.map(sql.ref))
  const rest = columns.filter(column => !keys.includes(column))
  const updates = rest.map(column => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`)
  const onConflict = rest.length > 0 ? sql`do update set ${list(updates)}` : sql`do nothing`
  await sql`
    insert into ${sql.table(table)} (${names})
    select ${names} from jsonb_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)}::jsonb)
    on conflict (${list(keys.map(sql.ref))}) ${onConflict}`.execute(tx)
}

const remove = async (tx: Tx, table: string, keys: readonly string[], rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return
  const same = keys.map(key => sql`${sql.ref(`${table}.${key}`)} = ${sql.ref(`gone.${key}`)}`)
  await sql`
    delete from ${sql.table(table)}
    using jsonb_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)}::jsonb) as gone
    where ${sql.join(same, sql` and `)}`.execute(tx)
}

const list = (parts: RawBuilder<unknown>[]): RawBuilder<unknown> => sql.join(parts, sql`, `)
