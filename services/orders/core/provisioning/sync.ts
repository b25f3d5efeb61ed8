import type { Change } from '@courier/shared/cli/changes.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../database/tables.ts'

/**
 * Describes the tables that follow a file: how the list of changes names a row, the primary key after `tenant_id`, and
 * what becomes of rows that the file no longer names.
 */
const tables = {
  tenants: { kind: 'tenant', keys: [], others: 'kept' },
  statuses: { kind: 'status', keys: ['status_key'], others: 'removed' },
  status_moves: { kind: 'move', keys: ['from_key', 'to_key'], others: 'removed' },
  states: { kind: 'state', keys: ['state_id'], others: 'deactivated' },
  cities: { kind: 'city', keys: ['city_id'], others: 'deactivated' },
  city_aliases: { kind: 'alias of city', keys: ['city_id', 'alias'], others: 'removed' },
  rate_cards: { kind: 'rate card', keys: ['rate_card'], others: 'kept' },
  zones: { kind: 'zone', keys: ['rate_card', 'zone'], others: 'removed' },
  zone_cities: { kind: 'zone of city', keys: ['rate_card', 'city_id'], others: 'removed' },
  rates: { kind: 'rate', keys: ['rate_card', 'from_zone', 'to_zone'], others: 'removed' },
  merchants: { kind: 'merchant', keys: ['email'], others: 'kept' },
  businesses: { kind: 'business', keys: ['business_id'], others: 'deactivated' },
} as const satisfies Record<string, Table>

interface Table {
  readonly kind: string
  readonly keys: readonly string[]
  readonly others: 'kept' | 'removed' | 'deactivated'
}

export type Row = Readonly<Record<string, string | number | boolean | null>>

/** Holds the desired rows of a table, without `tenant_id`. */
export interface Wanted {
  readonly table: keyof typeof tables
  readonly rows: readonly Row[]
  /** Keeps rows with other values in this column. */
  readonly among?: { readonly column: string; readonly values: readonly string[] }
}

/**
 * Brings tables to the desired state, one statement per step, and returns the changes. Tables that others refer to
 * come first: rows are deleted in reverse order, once all are written.
 */
export const sync = async (tx: Tx, tenant: string, wanted: readonly Wanted[]): Promise<Change[]> => {
  const written: Awaited<ReturnType<typeof write>>[] = []
  for (const each of wanted) written.push(await write(tx, tenant, each))
  for (const { remove } of written.toReversed()) await remove()
  return written.flatMap(({ changes }) => changes)
}

const write = async (tx: Tx, tenant: string, { table, rows, among }: Wanted) => {
  const { kind, keys, others }: Table = tables[table]
  const current = await read(tx, tenant, table, among)
  const toKey = (row: Row): string => JSON.stringify(keys.map(key => row[key]))
  const before = new Map(current.map(row => [toKey(row), row]))
  const after = new Set(rows.map(toKey))
  const added = rows.filter(row => !before.has(toKey(row)))
  const changed = rows.filter(row => findChanged(before.get(toKey(row)) ?? row, row).length > 0)
  const gone = others === 'kept' ? [] : current.filter(row => !after.has(toKey(row)) && row.is_active !== false)
  const inactive = others === 'deactivated' ? gone.map(row => ({ ...row, is_active: false })) : []
  const allKeys = ['tenant_id', ...keys]
  const written = [...added, ...changed, ...inactive].map(row => ({ ...row, tenant_id: tenant }))
  await upsert(tx, table, allKeys, written)

  const describe = (rows: readonly Row[], change: Change['change']): Change[] =>
    rows.map(row => ({
      kind,
      id: keys.map(key => row[key]).join(' / ') || tenant,
      change,
      ...(change === 'changed' && { details: describeChanges(before.get(toKey(row)) ?? {}, row) }),
    }))
  const { ended = [], altered = [] } = Object.groupBy(changed, row =>
    row.is_active === false && before.get(toKey(row))?.is_active === true ? 'ended' : 'altered',
  )
  const changes = [...describe(added, 'added'), ...describe(altered, 'changed'), ...describe(ended, 'deactivated')]
  if (others !== 'kept') changes.push(...describe(gone, others))
  return { changes, remove: () => remove(tx, table, allKeys, others === 'removed' ? gone : []) }
}

const read = (tx: Tx, tenant: string, table: string, among: Wanted['among']): Promise<Row[]> => {
  const amongSql = among ? sql`${sql.ref(among.column)}::text = any(${among.values}::text[])` : sql`true`
  return query<Row>(tx)`select * from ${sql.table(table)} where tenant_id = ${tenant} and ${amongSql}`
}

const findChanged = (before: Row, after: Row): string[] =>
  Object.keys(after).filter(column => {
    const [old = null, now = null] = [before[column], after[column]]
    return old === null || now === null ? old !== now : String(old) !== String(now)
  })

/** Shows neither a password nor its hash. */
const describeChanges = (before: Row, after: Row): string[] =>
  findChanged(before, after).map(column =>
    column === 'password_hash' ? 'password changed' : `${column}: ${before[column] ?? '-'} -> ${after[column] ?? '-'}`,
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
