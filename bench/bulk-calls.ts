import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../dev/settings.ts'
import type { Measure } from './compare.ts'
import { type Load, type LoadSetting, measureLoad, withCost } from './cpu.ts'
import type { FloorTask, FloorWork } from './floor.ts'
import { type FloorRows, readFloorRows } from './floor-rows.ts'
import type { Ground } from './ground.ts'
import type { RunTask } from './processes.ts'
import type { Measurement } from './repeat.ts'

const bulkPath = '/api/public/merchant/order/bulk'

export type Floor = RunTask<FloorTask, Measurement>

/** Bulk requests of one kind. */
export interface BulkCalls {
  batch: number
  bodies: string[]
  isKeyed: boolean
}

/** The number of distinct orders: similar ones cost a warning. */
const differentOrders = 50_000
const exampleOrders = 25

/** Makes batches of the example's orders, each order with a phone and a number of its own. */
export const makeBodies = async (batch: number, count = Math.ceil(differentOrders / batch)): Promise<string[]> => {
  const example = JSON.parse(await readFile(join(root, 'examples/batch.json'), 'utf8'))
  const orders: Record<string, unknown>[] = example.order_data
  const orderAt = (place: number) => ({
    ...orders[place % orders.length],
    order_no: `LS-${100_000 + place}`,
    customer_phone: `07712${String(place).padStart(5, '0')}`,
  })
  return Array.from({ length: count }, (_, body) => {
    const order_data = Array.from({ length: batch }, (_, index) => orderAt(body * batch + index))
    return JSON.stringify({ ...example, order_data })
  })
}

/** The waybills of each batch. */
export const postEach = async (url: string, headers: Record<string, string>, bodies: string[]): Promise<string[][]> => {
  const batches: string[][] = []
  for (const body of bodies) {
    const answer = await fetch(url + bulkPath, { method: 'POST', headers, body })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`the bulk call answered ${answer.status}: ${text.slice(0, 500)}`)
    batches.push(JSON.parse(text).data)
  }
  return batches
}

/** Posts the example's orders once, and reads back the rows. */
export const floorRowsOf = async (url: string, ground: Ground, calls: BulkCalls): Promise<FloorRows> => {
  const { batch, bodies, isKeyed } = calls
  const waybills = await postEach(url, ground.headers, bodies.slice(0, Math.ceil(exampleOrders / batch)))
  const tables = isKeyed ? [...ground.tablesBeside, 'idempotency_keys'] : ground.tablesBeside
  return readFloorRows(ground.superuser, waybills, tables)
}

/** Sends the requests as a load on tables as they are. */
export const bulkLoad = (
  { headers, superuser }: Pick<Ground, 'headers' | 'superuser'>,
  url: string,
  load: Load,
  { bodies, isKeyed }: BulkCalls,
  connections: number,
): LoadSetting => {
  const calls = bodies.map(body => ({ path: bulkPath, body }))
  return { load, url, superuser, task: { work: { kind: 'calls', headers, calls, isKeyed }, connections } }
}

export type EmptiedGround = Pick<Ground, 'headers' | 'superuser' | 'tablesBeside'>

/** Sends the requests to the service with tables that are empty at first. */
export const measureBulk =
  (ground: EmptiedGround, url: string, load: Load, calls: BulkCalls, connections: number): Measure =>
  async (seconds, requestsPerSecond) => {
    await emptyTables(ground)
    const measured = await measureLoad(bulkLoad(ground, url, load, calls, connections))(seconds, requestsPerSecond)
    await expectRows(ground, ['orders', 'order_events'], measured, calls.batch)
    // Emptied tables leave no undelivered events to slow the next measurement.
    await emptyTables(ground)
    return measured
  }

/** Runs bare statements on tables that are empty at first; `tables` are those in which each order has a row then. */
export const measureFloor =
  (ground: Ground, floor: Floor, work: FloorWork, batch: number, tables: string[], connections: number): Measure =>
  async (seconds, requestsPerSecond) => {
    await emptyTables(ground)
    const { superuser, tenant } = ground
    const databaseUrl = work.kind === 'copy' ? ground.superuserUrl : ground.databaseUrl
    const task = { databaseUrl, tenant, connections, seconds, requestsPerSecond, work }
    const measured = await withCost(() => floor(task), { superuser })
    await expectRows(ground, tables, measured, batch)
    return measured
  }

const emptyTables = ({ superuser, tablesBeside }: EmptiedGround) =>
  superuser.query(`truncate ${['orders', 'idempotency_keys', ...tablesBeside].join(', ')}`)

/** Throws unless the tables have a row for every order that counts. */
const expectRows = async (
  { superuser }: Pick<Ground, 'superuser'>,
  tables: string[],
  { requestMilliseconds }: Measurement,
  batch: number,
): Promise<void> => {
  const expected = requestMilliseconds.length * batch
  for (const table of tables) {
    const { rows } = await superuser.query(`select count(*)::integer as count from ${table}`)
    if (rows[0].count !== expected) throw new Error(`${table} has ${rows[0].count} rows, not ${expected}`)
  }
}
