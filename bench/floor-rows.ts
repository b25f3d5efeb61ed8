import type pg from 'pg'

/** The rows that batches became, for one bare statement: its first parameter is an array of new waybills. */
export interface FloorRows {
  ordersPerBatch: number
  statement: string
  /** The values of the statement after the waybills, of each batch: one text for all rows, or an array literal. */
  batches: string[][]
}

/** The same for all orders of a batch. */
const common = ['tenant_id', 'merchant_id', 'business_id', 'origin_city_id']

interface Column {
  name: string
  type: string
}

/**
 * Reads back what the service wrote for batches whose waybills are given, so that the floor writes the very same rows,
 * whatever columns an order has.
 */
export const readFloorRows = async (superuser: pg.Client, waybillsOfBatches: string[][]): Promise<FloorRows> => {
  const columns = await findColumns(superuser)
  const single = columns.filter(({ name }) => common.includes(name))
  const varied = columns.filter(({ name }) => !common.includes(name) && name !== 'waybill_number')
  const selected = [
    ...single.map(({ name }) => `min(${name})::text`),
    ...varied.map(({ name }) => `array_agg(${name} order by waybill_number)::text`),
  ]
  const text = `select ${selected.join(', ')} from orders where waybill_number = any($1)`
  const batches: string[][] = []
  for (const waybills of waybillsOfBatches) {
    const { rows } = await superuser.query({ text, values: [waybills], rowMode: 'array' })
    batches.push(rows[0] as unknown as string[])
  }
  return { ordersPerBatch: waybillsOfBatches[0]?.length ?? 0, statement: floorStatement(single, varied), batches }
}

/** The columns of orders that a statement must give. */
const findColumns = async (superuser: pg.Client): Promise<Column[]> => {
  const { rows } = await superuser.query<Column>(
    `select attname as name, atttypid::regtype::text as type from pg_attribute
      where attrelid = 'orders'::regclass and attnum > 0 and not attisdropped and not atthasdef and attidentity = ''
      order by attnum`,
  )
  return rows
}

const floorStatement = (single: Column[], varied: Column[]): string => {
  const parameters = single.map(({ type }, index) => `$${index + 2}::${type}`).join(', ')
  const arrays = ['$1::text[]', ...varied.map(({ type }, index) => `$${index + single.length + 2}::${type}[]`)]
  const names = ['waybill_number', ...varied.map(({ name }) => name)].join(', ')
  return `
    with given as (
      select * from unnest(${arrays.join(', ')}) as given (${names})
    ), written as (
      insert into orders (${single.map(({ name }) => name).join(', ')}, ${names})
      select ${parameters}, ${names} from given
    )
    insert into order_events (tenant_id, waybill_number, status_key)
    select $${single.findIndex(({ name }) => name === 'tenant_id') + 2}::text, waybill_number, status_key from given`
}
