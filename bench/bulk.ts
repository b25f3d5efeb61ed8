import { type Bench, type TableRow, tell } from './bench.ts'
import { type BulkCalls, type Floor, floorRowsOf, makeBodies, measureBulk, measureFloor } from './bulk-calls.ts'
import { compare, type Measure } from './compare.ts'
import type { Load } from './cpu.ts'
import type { FloorRows } from './floor-rows.ts'
import { type Ground, startGround } from './ground.ts'
import { startTaskProcess } from './processes.ts'

/** Measures the bulk request at each batch size and number of connections, beside the same rows written by bare statements. */
export const bulk: Bench = {
  summary: 'orders/s of the bulk request, beside bare statements that write the same rows',
  run: async (options, cleanUps) => {
    tell('bulk: starting Postgres and orders ...')
    const ground = await startGround(cleanUps)
    // The floors have tables of their own.
    const bareGround = await startGround(cleanUps)
    const { url } = await ground.startOrders(cleanUps, options.profileFolder)
    const load: Load = startTaskProcess('load.ts', cleanUps)
    const floor: Floor = startTaskProcess('floor.ts', cleanUps)
    const table: TableRow[] = []
    for (const batch of options.batches ?? [1, 100, 1000, 5000])
      for (const isKeyed of [false, true]) {
        const calls = { batch, bodies: await makeBodies(batch), isKeyed }
        const rows = await floorRowsOf(url, ground, calls)
        await measureBulk(ground, url, load, calls, 4)(warmUpSeconds)
        for (const connections of options.connections ?? [1, 4, 16, 64]) {
          const key = isKeyed ? 'on' : 'off'
          const sides = sidesOf({ ground, bareGround, url, load, floor, calls, rows }, connections)
          const name = `bulk: batch ${batch}, connections ${connections}, key ${key}`
          const comparison = { name, unit: 'orders', unitsPerRequest: batch, ...sides, alsoHalf: true }
          table.push({ batch, connections, key, ...(await compare(comparison, options)) })
        }
      }
    return table
  },
}

/** Warms up until the compiler has seen enough of a batch size. */
const warmUpSeconds = 1.5

interface BulkSetting {
  ground: Ground
  bareGround: Ground
  url: string
  load: Load
  floor: Floor
  calls: BulkCalls
  rows: FloorRows
}

/** The baselines. statement: all rows at once; COPY: the orders alone; insert: single orders alone. */
const sidesOf = (setting: BulkSetting, connections: number): { ours: Measure; floors: Record<string, Measure> } => {
  const { ground, bareGround, url, load, floor, calls, rows } = setting
  const { batch } = calls
  const bare = (work: Parameters<typeof measureFloor>[2], tables: string[]): Measure =>
    measureFloor(bareGround, floor, work, batch, tables, connections)
  const statement = { kind: 'statement', text: rows.statement, values: rows.batches, newWaybills: batch } as const
  const copy = { kind: 'copy', text: rows.copy, lines: rows.copyLines } as const
  const insert = { kind: 'insert', text: rows.insert, values: rows.insertValues } as const
  const floors = { statement: bare(statement, ['orders', 'order_events']), COPY: bare(copy, ['orders']) }
  const single = batch === 1 ? { insert: bare(insert, ['orders']) } : {}
  return { ours: measureBulk(ground, url, load, calls, connections), floors: { ...floors, ...single } }
}
