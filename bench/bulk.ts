import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../dev/settings.ts'
import { readBaselineRows } from './baseline-rows.ts'
import type { BenchOptions, Cell, Tools } from './bench.ts'
import { measureLoad } from './cpu.ts'
import type { Measure } from './repeat.ts'
import type { Side } from './versions.ts'

const bulkPath = '/api/public/merchant/order/bulk'

/** Exceeds the number of orders that a side books in a second: similar orders would get warnings, which take time. */
const ordersPerSecond = 70_000
const exampleOrders = 25

/** Makes batches from the orders of the example; each order has its own phone and order number. */
const makeBodies = async (batch: number, count: number): Promise<string[]> => {
  const example = JSON.parse(await readFile(join(root, 'examples/batch.json'), 'utf8'))
  const orders: Record<string, unknown>[] = example.order_data
  const createOrder = (position: number) => ({
    ...orders[position % orders.length],
    order_no: `LS-${100_000 + position}`,
    customer_phone: `0771${String(position).padStart(6, '0')}`,
  })
  return Array.from({ length: count }, (_, body) => {
    const order_data = Array.from({ length: batch }, (_, index) => createOrder(body * batch + index))
    return JSON.stringify({ ...example, order_data })
  })
}

/** Books `count` batches. Returns the waybills of each. */
export const bookBatches = async ({ url, headers }: Side, batch: number, count: number): Promise<string[][]> => {
  const batches: string[][] = []
  for (const body of await makeBodies(batch, count)) {
    const response = await fetch(url + bulkPath, { method: 'POST', headers, body })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`the bulk request got ${response.status}: ${text.slice(0, 500)}`)
    batches.push(JSON.parse(text).data)
  }
  return batches
}

interface Kind {
  batch: number
  isKeyed: boolean
  connections: number
  /** Sets the number of different bodies. */
  bodies: number
}

/** Empties the tables, then measures. Throws unless each order of the measurement then has a row and an event. */
const emptyTablesFirst =
  (superuser: Side['superuser'], batch: number, run: Measure): Measure =>
  async seconds => {
    await emptyTables(superuser)
    const measured = await run(seconds)
    const expected = measured.requestMilliseconds.length * batch
    for (const table of ['orders', 'order_events']) {
      const { rows } = await superuser.query(`select count(*)::integer as count from ${table}`)
      if (rows[0].count !== expected) throw new Error(`${table} has ${rows[0].count} rows, not ${expected}`)
    }
    // Emptied tables leave no undelivered events to slow the next measurement.
    await emptyTables(superuser)
    return measured
  }

const emptyTables = async (superuser: Side['superuser']): Promise<unknown> =>
  superuser.query(`truncate ${['orders', 'idempotency_keys', ...(await findTables(superuser))].join(', ')}`)

/** Finds the tables, besides `orders`, that a booking of this version or of an earlier one writes. */
const findTables = async (superuser: Side['superuser']): Promise<string[]> => {
  const { rows } = await superuser.query(
    `select relname as name from pg_class where relkind = 'r'
      and relname in ('order_events', 'outbox', 'new_changes', 'log')`,
  )
  return rows.map(({ name }) => name)
}

/** Measures the bulk request, beside a bare statement that writes the same rows. */
export const createBulkCell = ({ load, bareOrders }: Tools, { batch, isKeyed, connections, bodies }: Kind): Cell => ({
  name: `bulk, batch ${batch}, key ${isKeyed ? 'on' : 'off'}, connections ${connections}`,
  service: 'orders',
  unit: 'orders',
  unitsPerRequest: batch,
  measure: async side => {
    const texts = await makeBodies(batch, bodies)
    const requests = texts.map(body => ({ path: bulkPath, body }))
    const work = { kind: 'requests', headers: side.headers, requests, isKeyed } as const
    return emptyTablesFirst(side.superuser, batch, measureLoad(load, side, work, connections))
  },
  baselines: async side => {
    const waybills = await bookBatches(side, batch, Math.ceil(exampleOrders / batch))
    const tables = [...(await findTables(side.superuser)), ...(isKeyed ? ['idempotency_keys'] : [])]
    const { statement: text, batches: values } = await readBaselineRows(side.superuser, waybills, tables)
    const bare = await bareOrders()
    const work = { kind: 'statement', tenant: bare.tenant, text, values, newWaybills: batch } as const
    return { statement: emptyTablesFirst(bare.superuser, batch, measureLoad(load, bare, work, connections)) }
  },
})

export const bulk = (options: BenchOptions, tools: Tools): Cell[] => {
  const { seconds, batches = [1, 100, 1000], connections = [16] } = options
  // The warm-up is the longest measurement, of up to twice the seconds.
  const countBodies = (batch: number): number => Math.ceil((2 * seconds * ordersPerSecond) / batch)
  return batches.flatMap(batch =>
    [false, true].flatMap(isKeyed =>
      connections.map(count =>
        createBulkCell(tools, { batch, isKeyed, connections: count, bodies: countBodies(batch) }),
      ),
    ),
  )
}
