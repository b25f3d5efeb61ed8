import { type Bench, type BenchOptions, type TableRow, tell } from './bench.ts'
import { type Floor, makeBodies, measureFloor, postEach } from './bulk-calls.ts'
import { compare, type Measure } from './compare.ts'
import { readFloorRows } from './floor-rows.ts'
import { type Ground, startGround } from './ground.ts'
import { startTaskProcess } from './processes.ts'

/** What is left out of the statement, and where it is then done. */
interface Variant {
  without: string
  /** The tables written beside orders. */
  tables: string[]
  /** As a superuser, whom row-level security lets pass. */
  asSuperuser?: boolean
  /** Added to the address of Postgres. */
  parameters?: string
}

const everything = ['order_events', 'outbox', 'idempotency_keys']
const but = (table: string): string[] => everything.filter(other => other !== table)

const variants: Variant[] = [
  { without: 'timeline', tables: but('order_events') },
  { without: 'outbox', tables: but('outbox') },
  { without: 'idempotency key', tables: but('idempotency_keys') },
  { without: 'row-level security', tables: everything, asSuperuser: true },
  { without: 'waiting for the disk', tables: everything, parameters: '?options=-c%20synchronous_commit%3Doff' },
  { without: 'all of these', tables: [], asSuperuser: true, parameters: '?options=-c%20synchronous_commit%3Doff' },
]

/** The one statement of a batch, beside the same without one of the things that keep a promise. */
export const cost: Bench = {
  summary: 'what each promise costs: the statement of a batch beside the same without it',
  run: async (options, cleanUps) => {
    tell('cost: starting Postgres and orders ...')
    const ground = await startGround(cleanUps)
    const floor: Floor = startTaskProcess('floor.ts', cleanUps)
    const { url } = await ground.startOrders(cleanUps)
    const table: TableRow[] = []
    for (const batch of options.batches ?? [100, 1000])
      for (const connections of options.connections ?? [4])
        table.push(...(await costs(ground, floor, url, batch, connections, options)))
    return table
  },
}

const costs = async (
  ground: Ground,
  floor: Floor,
  url: string,
  batch: number,
  connections: number,
  options: BenchOptions,
): Promise<TableRow[]> => {
  const waybills = await postEach(url, ground, await makeBodies(batch))
  const measure = async ({ tables, asSuperuser, parameters = '' }: Omit<Variant, 'without'>): Promise<Measure> => {
    const { statement, batches } = await readFloorRows(ground.superuser, waybills, tables)
    const databaseUrl = (asSuperuser ? ground.superuserUrl : ground.databaseUrl) + parameters
    const work = { kind: 'statement', text: statement, values: batches, newWaybills: batch } as const
    return measureFloor({ ...ground, databaseUrl }, floor, work, batch, ['orders'], connections)
  }
  const floors: Record<string, Measure> = {}
  for (const variant of variants) floors[variant.without] = await measure(variant)
  const ours = await measure({ tables: everything })
  const row = await compare(
    { name: `cost: batch ${batch}`, unit: 'orders', unitsPerCall: batch, ours, floors },
    options,
  )
  return variants.map(({ without }) => ({
    batch,
    connections,
    without,
    'orders/s': row[`${without}/s`] ?? Number.NaN,
    'with all/s': row['orders/s'] ?? Number.NaN,
    'cost %': Math.round((1 - Number(row[`ratio to ${without}`])) * 100),
  }))
}
