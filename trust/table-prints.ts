type Rows = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

/**
 * Finds the tables and views of a service in the catalogue, including new ones, except those that belong to no tenant:
 * the lists of migrations and the row about the server.
 */
export const findTables = async (rows: Rows): Promise<string[]> =>
  (
    await rows(`select relname from pg_class where relnamespace = 'public'::regnamespace
      and relkind in ('r', 'p', 'v', 'm')
      and relname not like 'kysely%' and relname <> 'history' order by relname`)
  ).map(row => String(row.relname))

/** Lists the tables that record the use of a token, which changes nobody's data, and those that tenants share. */
const unwatched = ['tokens', 'portfolios', 'portfolio_people']

/** Lists the columns in which housekeeping notes how far it read the phone numbers. */
const unwatchedColumns = "'phones_read_at', 'phones_read_waybill'"

/** Housekeeping deletes empty conversations, which exist only to be locked. */
const conversations = 'and num_nonnulls(last_inbound_at, opted_out_at, opted_in_at) > 0'

/** Excludes another merchant's changes to its own resources in the tenant. */
const excludeOwn = async (rows: Rows): Promise<Readonly<Record<string, string>>> => {
  const columns = await rows(`select table_name from information_schema.columns
    where table_schema = 'public' and column_name = 'merchant_id'`)
  if (columns.length === 0) return {}
  const books = `(select merchant_id from merchants where tenant_id = $1 and email = 'books@example.com')`
  const byTable = columns.map(({ table_name }) => [String(table_name), `and merchant_id is distinct from ${books}`])
  return { ...Object.fromEntries(byTable), audit: `and actor is distinct from ${books}::text` }
}

/**
 * Returns a function that fingerprints the rows of the tenant by table: equal fingerprints show that nothing was
 * written.
 */
export const createFingerprint = async (rows: Rows, tenant: string): Promise<() => Promise<Map<unknown, unknown>>> => {
  const tables = (await findTables(rows)).filter(table => !unwatched.includes(table))
  const others: Readonly<Record<string, string>> = { ...(await excludeOwn(rows)), conversations }
  const prints = tables.map(
    table =>
      `select '${table}' as name, md5(string_agg(row, '|' order by row)) as print
        from ${table} t, lateral (select (to_jsonb(t) - array[${unwatchedColumns}])::text as row) as text
        where tenant_id = $1 ${others[table] ?? ''}`,
  )
  const text = prints.join(' union all ')
  return async () => new Map((await rows(text, [tenant])).map(({ name, print }) => [name, print]))
}
