import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../dev/settings.ts'
import { type Bench, type TableRow, tell } from './bench.ts'
import { type Costed, compare, type Measure } from './compare.ts'
import { postgresCpuSeconds, serviceCpuSeconds } from './cpu.ts'
import type { FloorTask } from './floor.ts'
import { type FloorRows, readFloorRows } from './floor-rows.ts'
import { type Ground, startGround } from './ground.ts'
import type { LoadTask } from './load.ts'
import { type RunTask, startTaskProcess } from './processes.ts'
import type { Measurement } from './repeat.ts'

/** The bulk call at each batch size and number of connections, beside the same rows written by one bare statement. */
export const bulk: Bench = {
  summary: 'orders/s of the bulk call, beside the same rows in the same tables by one bare insert-select',
  run: async (options, cleanUps) => {
    tell('bulk: starting Postgres and orders ...')
    const ground = await startGround(cleanUps, options.profileFolder)
    const load = startTaskProcess<LoadTask, Measurement>('load.ts', cleanUps)
    const floor = startTaskProcess<FloorTask, Measurement>('floor.ts', cleanUps)
    const table: TableRow[] = []
    for (const batch of options.batches ?? [1, 100, 1000]) {
      const bodies = await makeBodies(batch)
      const rows = await readFloorRows(ground.superuser, await postEach(ground, bodies))
      const calls = { batch, bodies, rows }
      await measureOurs(ground, load, calls, 4)(warmUpSeconds)
      for (const connections of options.connections ?? [1, 4, 16]) {
        const name = `bulk: batch ${batch}, connections ${connections}`
        const ours = measureOurs(ground, load, calls, connections)
        const bare = measureFloor(ground, floor, calls, connections)
        const figures = await compare({ name, unit: 'orders', unitsPerCall: batch, ours, floor: bare }, options)
        table.push({ batch, connections, ...figures })
      }
    }
    return table
  },
}

interface Calls {
  batch: number
  bodies: string[]
  rows: FloorRows
}

/** Until the compiler has seen enough of a batch size. */
const warmUpSeconds = 1.5
const route = '/api/public/merchant/order/bulk'

/** Batches of the example's orders in turn; as many as it takes for each of its orders to occur. */
const makeBodies = async (batch: number): Promise<string[]> => {
  const example = JSON.parse(await readFile(join(root, 'examples/batch.json'), 'utf8'))
  const orders: unknown[] = example.order_data
  const count = Math.ceil(orders.length / batch)
  return Array.from({ length: count }, (_, body) => {
    const order_data = Array.from({ length: batch }, (_, index) => orders[(body * batch + index) % orders.length])
    return JSON.stringify({ ...example, order_data })
  })
}

/** The waybills of each batch. */
const postEach = async ({ url, headers }: Ground, bodies: string[]): Promise<string[][]> => {
  const batches: string[][] = []
  for (const body of bodies) {
    const answer = await fetch(url + route, { method: 'POST', headers, body })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`the bulk call answered ${answer.status}: ${text.slice(0, 500)}`)
    batches.push(JSON.parse(text).data)
  }
  return batches
}

const measureOurs = (
  ground: Ground,
  load: RunTask<LoadTask, Measurement>,
  { batch, bodies }: Calls,
  connections: number,
): Measure => {
  const { url, headers } = ground
  return async seconds => {
    const before = await serviceCpuSeconds(url)
    const measured = await onEmptyTables(ground, batch, () =>
      load({ url: url + route, headers, bodies, connections, seconds }),
    )
    return { ...measured, nodeSeconds: (await serviceCpuSeconds(url)) - before }
  }
}

const measureFloor = (
  ground: Ground,
  floor: RunTask<FloorTask, Measurement>,
  { batch, rows }: Calls,
  connections: number,
): Measure => {
  const { databaseUrl, tenant } = ground
  return seconds => onEmptyTables(ground, batch, () => floor({ databaseUrl, tenant, rows, connections, seconds }))
}

/** Throws unless afterwards every order that counts is there with its event. */
const onEmptyTables = async (
  { superuser }: Ground,
  batch: number,
  measure: () => Promise<Measurement>,
): Promise<Costed> => {
  await superuser.query('truncate orders, order_events, idempotency_keys')
  const before = await postgresCpuSeconds(superuser)
  const measured = await measure()
  const postgresSeconds = (await postgresCpuSeconds(superuser)) - before
  const expected = measured.callMilliseconds.length * batch
  for (const table of ['orders', 'order_events']) {
    const { rows } = await superuser.query(`select count(*)::integer as count from ${table}`)
    if (rows[0].count !== expected) throw new Error(`${table} has ${rows[0].count} rows, not ${expected}`)
  }
  return { ...measured, nodeSeconds: measured.cpuSeconds, postgresSeconds }
}
