import type pg from 'pg'
import { onServer } from '../dev/databases.ts'
import { cloneDatabase } from '../dev/test-database.ts'
import type { Broken, TrustOptions, TrustPromise } from './promise.ts'
import { findTables } from './table-prints.ts'

const services = ['orders', 'notifier'] as const

/**
 * Lists tables whose rows every session may read, with the reason. No session may change another tenant's row there
 * either.
 */
const listed: Readonly<Record<string, string>> = {
  tenants: 'the processes ask which tenants there are; the table holds no person and no secret',
}

/**
 * Returns true for a table that a transaction with app.all_tenants shows whole: in orders the tables of waiting
 * deliveries, what shops sent and the listed ones, in the notifier all.
 */
const isOpenToAll = (service: string, table: string): boolean =>
  service === 'notifier' || table in listed || /^(outbox|webhook_|log$|feeds$|shop_orders$|shop_bookings$)/.test(table)

/** Lists tables of several tenants together, with the reason: only a transaction with app.all_tenants may use them. */
const shared: Readonly<Record<string, string>> = {
  portfolios: 'the numbers of several tenants may share a messaging limit; a tenant reads only that of its numbers',
  portfolio_people: 'the people whom those numbers have reached today',
}

/** Requires that a tenant neither reads nor changes a shared table. */
const tryShared = async (app: pg.Client, table: string, broken: Broken): Promise<void> => {
  const read = await attempt(app, 'rival', `select * from ${table}`)
  broken.require(read.count === 0, `${table}: rival reads ${read.count} rows`)
  const all = await attempt(app, undefined, `select * from ${table}`, 'on')
  broken.require(all.count === 1, `${table}: all tenants reads ${all.count} rows`)
  for (const write of [`delete from ${table}`, `truncate ${table}`, `insert into ${table} default values`]) {
    const { count, refusal } = await attempt(app, 'rival', write)
    const isRefused = refusal === '42501' || (count === 0 && write.startsWith('delete'))
    broken.require(isRefused, `${table}: rival may ${write} (${refusal ?? count})`)
  }
}

/** Drops the constraints of every table, including new tables, and inserts a row of each tenant. */
const fill = async (superuser: pg.Client, tables: readonly string[]): Promise<void> => {
  const { rows: constraints } = await superuser.query(
    `select conrelid::regclass as table, conname as name
     from pg_constraint left join pg_attribute on attrelid = conrelid and attnum = conkey[1]
     where conrelid::regclass::text = any($1) and not (contype = 'n' and attidentity <> '')
     order by array_position(array['f', 'u', 'p', 'c', 'n'], contype::text)`,
    [tables],
  )
  for (const { table, name } of constraints) await superuser.query(`alter table ${table} drop constraint ${name}`)
  for (const table of tables)
    await superuser.query(
      table in shared
        ? `insert into ${table} default values`
        : `insert into ${table} (tenant_id) values ('demo'), ('rival')`,
    )
}

/** Runs the statement as that tenant. Returns its rows, or the SQLSTATE that refused it, and rolls back. */
const attempt = async (app: pg.Client, tenant: string | undefined, statement: string, allTenants?: string) => {
  await app.query('begin')
  try {
    if (tenant !== undefined) await app.query(`select set_config('app.tenant', $1, true)`, [tenant])
    if (allTenants !== undefined) await app.query(`select set_config('app.all_tenants', $1, true)`, [allTenants])
    const { rows, rowCount } = await app.query(statement)
    return { rows, count: rowCount ?? 0, refusal: undefined }
  } catch (error) {
    return { rows: [], count: 0, refusal: String((error as { code?: string }).code) }
  } finally {
    await app.query('rollback')
  }
}

const tryTable = async (service: string, app: pg.Client, table: string, broken: Broken): Promise<void> => {
  const foreign = (rows: { tenant_id?: string }[]) => rows.filter(row => row.tenant_id !== 'rival').length
  const own = await attempt(app, 'rival', `select * from ${table}`)
  // A table that the service may not read shows it nothing.
  const isClosed = own.refusal === '42501'
  broken.require(isClosed || own.rows.length > foreign(own.rows), `${table}: a tenant does not see its own row`)
  const all = await attempt(app, undefined, `select * from ${table}`, 'on')
  const isOpen = !isClosed && isOpenToAll(service, table)
  broken.require(all.count === (isOpen ? 2 : 0), `${table}: all tenants reads ${all.count} rows`)
  if (!(table in listed)) {
    broken.require(foreign(own.rows) === 0, `${table}: rival reads ${foreign(own.rows)} rows of others`)
    for (const tenant of [undefined, '', 'nowhere']) {
      const { count } = await attempt(app, tenant, `select * from ${table}`)
      broken.require(count === 0, `${table}: tenant ${tenant} reads ${count} rows`)
    }
    for (const allTenants of ['', 'off', '*', 'demo']) {
      const { rows } = await attempt(app, 'rival', `select * from ${table}`, allTenants)
      broken.require(foreign(rows) === 0, `${table}: app.all_tenants '${allTenants}' reads rows of others`)
    }
  }
  const writes = [
    `update ${table} set tenant_id = tenant_id where tenant_id = 'demo'`,
    `update ${table} set tenant_id = 'rival' where tenant_id = 'demo'`,
    `delete from ${table} where tenant_id = 'demo'`,
    `truncate ${table}`,
    `insert into ${table} (tenant_id) values ('demo')`,
  ]
  for (const write of writes) {
    const { count, refusal } = await attempt(app, 'rival', write)
    const isRefused =
      refusal === '42501' || (count === 0 && !write.startsWith('insert') && !write.startsWith('truncate'))
    broken.require(isRefused, `${table}: rival may ${write.slice(0, 60)} (${refusal ?? count})`)
  }
}

/** Returns the views. Requires that each reads with its reader's rights, so that row security applies to it too. */
const findViews = async (superuser: pg.Client, broken: Broken): Promise<string[]> => {
  const { rows } = await superuser.query(`select relname as view, reloptions::text as options from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('v', 'm')`)
  for (const { view, options } of rows)
    broken.require(/security_invoker=true/.test(options), `${view} reads with the rights of its owner`)
  return rows.map(({ view }) => view)
}

const tryService = async (t: TrustOptions, service: 'orders' | 'notifier'): Promise<number> => {
  const { url, superuserUrl } = await cloneDatabase(t, service)
  return onServer(superuserUrl, superuser =>
    onServer(url, async app => {
      const found = await findTables(async (text, values) => (await superuser.query(text, values)).rows)
      const views = await findViews(superuser, t.broken)
      const tables = found.filter(table => !views.includes(table))
      await fill(superuser, tables)
      for (const table of tables)
        await (table in shared ? tryShared(app, table, t.broken) : tryTable(service, app, table, t.broken))
      return tables.length
    }),
  )
}

export const promise: TrustPromise = {
  promise: 'A query without its tenant filter still shows no row of another tenant',
  limit: 'every table of both databases: 0 rows of others read, changed or added',
  run: async options => {
    const { broken } = options
    let tables = 0
    for (const service of services) tables += await tryService(options, service)
    broken.require(tables > 0, 'there are no tables')
    return { tables, 'ways through': broken.count }
  },
}
