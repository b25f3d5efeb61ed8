import type pg from 'pg'

/** Holds the rows that the service wrote for batches; a bare statement writes them again under new waybills. */
interface BaselineRows {
  /** Inserts orders, and the rows of the other tables. Its first parameter is an array of waybills. */
  statement: string
  /** Holds the values that follow the waybills, for each batch: one text for all rows, or an array literal. */
  batches: string[][]
}

/** Lists the columns whose values all orders of a batch share. */
const common = ['tenant_id', 'merchant_id', 'business_id', 'origin_city_id']

interface Column {
  name: string
  type: string
}

/**
 * Reads back the rows that the service wrote for batches with these waybills, so that the baseline writes the very same
 * rows, whatever columns an order has.
 */
export const readBaselineRows = async (
  superuser: pg.Client,
  waybillsOfBatches: string[][],
  /** Lists the tables that one statement writes besides orders. */
  tables: string[],
): Promise<BaselineRows> => {
  const columns = await findColumns(superuser)
  const single = columns.filter(({ name }) => common.includes(name))
  const varied = columns.filter(({ name }) => !common.includes(name) && name !== 'waybill_number')
  const aggregates = [
    ...single.map(({ name }) => `min(${name})::text`),
    ...varied.map(({ name }) => `array_agg(${name} order by waybill_number)::text`),
  ]
  const text = `select ${aggregates.join(', ')} from orders where waybill_number = any($1)`
  const batches: string[][] = []
  for (const waybills of waybillsOfBatches)
    batches.push((await superuser.query<string[]>({ text, values: [waybills], rowMode: 'array' })).rows[0] ?? [])
  return { statement: buildStatement(single, varied, tables), batches }
}

/** Lists the columns of orders for which a statement must give values. */
const findColumns = async (superuser: pg.Client): Promise<Column[]> => {
  const { rows } = await superuser.query<Column>(
    `select attname as name, atttypid::regtype::text as type from pg_attribute
      where attrelid = 'orders'::regclass and attnum > 0 and not attisdropped and not atthasdef and attidentity = ''
      order by attnum`,
  )
  return rows
}

const buildStatement = (single: Column[], varied: Column[], tables: string[]): string => {
  const parameters = single.map(({ type }, index) => `$${index + 2}::${type}`).join(', ')
  const formatParameter = (index: number): string => `$${index + single.length + 2}`
  const arrays = ['$1::text[]', ...varied.map(({ type }, index) => `${formatParameter(index)}::${type}[]`)]
  const names = ['waybill_number', ...varied.map(({ name }) => name)].join(', ')
  const tenant = `$${single.findIndex(({ name }) => name === 'tenant_id') + 2}::text`
  const statuses = `${formatParameter(varied.findIndex(({ name }) => name === 'status_key'))}::text[]`
  const beside: Record<string, string> = {
    order_events: `(tenant_id, waybill_number, status_key) select ${tenant}, waybill_number, status_key from given`,
    log: `(tenant_id, type, waybill_numbers, status_keys) values (${tenant}, 'order.created', $1::text[], ${statuses})`,
    idempotency_keys: `(tenant_id, scope, idempotency_key, fingerprint, result)
      values (${tenant}, 'bench', ($1::text[])[1], sha256('bench'), $1::text[])`,
  }
  return `
    with given as (
      select * from unnest(${arrays.join(', ')}) as given (${names})
    )${tables.map(table => `, beside_${table} as (insert into ${table} ${beside[table]})`).join('')}
    insert into orders (${single.map(({ name }) => name).join(', ')}, ${names})
    select ${parameters}, ${names} from given`
}
