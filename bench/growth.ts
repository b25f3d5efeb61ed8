import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { type Bench, type BenchOptions, type TableRow, tell } from './bench.ts'
import { bulkLoad, makeBodies, measureBulk, postEach } from './bulk-calls.ts'
import { compare, type Measure } from './compare.ts'
import { type Load, measureLoad } from './cpu.ts'
import { bytesPerOrder, fillOrders } from './fill.ts'
import { type Ground, startGround } from './ground.ts'
import type { LoadWork } from './load.ts'
import { startTaskProcess } from './processes.ts'
import { sampleAnswer } from './read.ts'

/** Measures the same requests on a service with many orders, beside one with few: two databases, each with a process. */
export const growth: Bench = {
  summary: 'the bulk request, the lists and summaries with many million orders in the table, beside the same with none',
  run: async (options, cleanUps) => {
    const count = options.millions * 1_000_000
    await requireFreeDisk(count * bytesPerOrder)
    tell('growth: starting Postgres and orders, twice ...')
    const few = await startSide(options, cleanUps)
    const many = await startSide(options, cleanUps)
    const seconds = await fillOrders(many.ground, count)
    const filled: TableRow = { 'million orders': options.millions, 'filled in s': seconds }
    const load: Load = startTaskProcess('load.ts', cleanUps)
    const listRows = await measureLists({ few, many }, load, options)
    return [filled, ...listRows, ...(await compareBulk({ few, many }, load, options))]
  },
}

const requireFreeDisk = async (neededBytes: number): Promise<void> => {
  const { bavail, bsize } = await statfs(tmpdir())
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`
  if (bavail * bsize < neededBytes)
    throw new Error(
      `${tmpdir()} has ${gigabytes(bavail * bsize)} free, ${gigabytes(neededBytes)} are needed: set TMPDIR to another disk, or fewer --million`,
    )
}

interface Side {
  ground: Ground
  url: string
  /** The waybill number of an order that existed from the start. */
  waybill: string
}

type Sides = Record<'few' | 'many', Side>

const ordersAtFirst = 1000
const warmUpSeconds = 1.5

const startSide = async (options: BenchOptions, cleanUps: AsyncDisposableStack): Promise<Side> => {
  const ground = await startGround(cleanUps)
  const { url } = await ground.startOrders(cleanUps, options.profileFolder)
  const [waybills = []] = await postEach(url, ground.headers, await makeBodies(ordersAtFirst, 1))
  return { ground, url, waybill: waybills[0] ?? '' }
}

const compareSides = async (
  sides: Sides,
  { name, unit, unitsPerRequest }: { name: string; unit: string; unitsPerRequest: number },
  measure: (side: Side) => Measure,
  options: BenchOptions,
): Promise<TableRow> => {
  const ours = measure(sides.many)
  const floors = { 'with few': measure(sides.few) }
  for (const side of [ours, floors['with few']]) await side(warmUpSeconds)
  return compare({ name: `growth: ${name}`, unit, unitsPerRequest, ours, floors }, options)
}

const compareBulk = async (sides: Sides, load: Load, options: BenchOptions): Promise<TableRow[]> => {
  const table: TableRow[] = []
  for (const batch of options.batches ?? [1, 100, 1000])
    for (const connections of options.connections ?? [4]) {
      const calls = { batch, bodies: await makeBodies(batch), isKeyed: false }
      const kind = { name: `batch ${batch}, connections ${connections}`, unit: 'orders', unitsPerRequest: batch }
      const measure = ({ ground, url }: Side) =>
        ground === sides.few.ground
          ? measureBulk(ground, url, load, calls, connections)
          : measureLoad(bulkLoad(ground, url, load, calls, connections))
      table.push({ batch, connections, ...(await compareSides(sides, kind, measure, options)) })
    }
  return table
}

/** The last page of the service with few orders. */
const latePage = 50

interface Reading {
  what: string
  pathFor: (side: Side) => string
  /** Runs alone: a merchant's summaries are made one at a time. */
  connections?: number[]
}

const readings = ({ millions }: BenchOptions): Reading[] => [
  { what: 'first page', pathFor: () => '/order?per_page=20' },
  { what: `page ${latePage}`, pathFor: () => `/order?per_page=20&page=${latePage}` },
  { what: 'order', pathFor: ({ waybill }) => `/order/${waybill}` },
  ...[2, Math.floor(165 / millions)].map(days => ({
    what: `summary of ${days} days`,
    pathFor: () => `/order/summary?group=day&from=${daysAgo(days)}`,
    connections: [1],
  })),
]

/** A year covers all orders, a summary half a million at most. */
const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

const measureLists = async (sides: Sides, load: Load, options: BenchOptions): Promise<TableRow[]> => {
  const table: TableRow[] = []
  for (const { what, pathFor, connections: own } of readings(options)) {
    const pathOf = (side: Side): string => `/api/public/merchant${pathFor(side)}`
    for (const side of Object.values(sides)) await sampleAnswer(side.url + pathOf(side), side.ground)
    for (const connections of own ?? options.connections ?? [4]) {
      const measure = (side: Side): Measure => {
        const { headers, superuser } = side.ground
        const work: LoadWork = { kind: 'calls', headers, calls: [{ path: pathOf(side) }] }
        const task = { work, connections }
        return measureLoad({ load, url: side.url, superuser, task })
      }
      const kind = { name: `${what}, connections ${connections}`, unit: 'requests', unitsPerRequest: 1 }
      table.push({ what, connections, ...(await compareSides(sides, kind, measure, options)) })
    }
  }
  return table
}
