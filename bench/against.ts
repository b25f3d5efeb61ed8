import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { root } from '../dev/settings.ts'
import { type BenchOptions, type TableRow, tell } from './bench.ts'
import { makeBodies, measureBulk, postEach } from './bulk-calls.ts'
import { compare, type Measure } from './compare.ts'
import { type Load, measureLoad, withCost } from './cpu.ts'
import { rounded } from './figures.ts'
import { setAnswerLatency, startSimulator } from './notifier-ground.ts'
import { countAccepted, insertMessages, removeMessages } from './notifier-messages.ts'
import { startTaskProcess } from './processes.ts'
import { checkOut, startVersion, type Version } from './versions.ts'
import { measureUpdates } from './webhooks.ts'

/** A measure of a version, and its name. */
export interface Cell {
  name: string
  unit: string
  unitsPerRequest: number
  isOfNotifier?: boolean
  measure: (version: Version) => Promise<Measure>
}

/** Measures this code beside that of another commit in turn, each with processes and databases of its own. */
export const compareWithCommit = async (
  commit: string,
  names: readonly string[],
  options: BenchOptions,
  cleanUps: AsyncDisposableStack,
): Promise<TableRow[]> => {
  const folder = await checkOut(commit, cleanUps)
  tell('Starting both versions ...')
  const apiUrl = await startSimulator(cleanUps)
  const ours = await startVersion(root, apiUrl, cleanUps, options.profileFolder)
  const theirs = await startVersion(folder, apiUrl, cleanUps, options.profileFolder && `${options.profileFolder}-then`)
  const table: TableRow[] = []
  for (const { measure, ...cell } of cellsOf(names, options, apiUrl, startTaskProcess('load.ts', cleanUps))) {
    const sides = { ours: await measure(ours), floors: { [commit]: await measure(theirs) } }
    for (const side of [sides.ours, ...Object.values(sides.floors)]) await side(warmUpSeconds)
    table.push(summaryOf(cell.name, commit, await compare({ ...cell, ...sides }, options)))
  }
  return table
}

/** Warms up until the compiler has seen enough. */
const warmUpSeconds = 3

const summaryOf = (what: string, commit: string, row: TableRow): TableRow => {
  const names = ['units/s', `${commit}/s`, `ratio to ${commit}`, 'Node us', `${commit} Node us`]
  const columns = [...names, 'Postgres us', `${commit} Postgres us`, 'p50 ms', 'p99 ms']
  return { what, ...Object.fromEntries(columns.map(name => [name, row[name] ?? null])) }
}

const cellsOf = (names: readonly string[], options: BenchOptions, apiUrl: string, load: Load): Cell[] => {
  const { batches = [1, 100, 1000], connections } = options
  const cells: Record<string, Cell[]> = {
    bulk: batches.flatMap(batch =>
      [false, true].map(isKeyed => bulkCell(load, batch, isKeyed, connections?.[0] ?? 16)),
    ),
    read: [readCell(load, connections?.[0] ?? 64), pageCell(load, 1), pageCell(load, 50)],
    notifier: [...[0, 50].map(latency => queueCell(apiUrl, latency)), webhookCell(load)],
  }
  return names.flatMap(name => cells[name] ?? [])
}

export const bulkCell = (load: Load, batch: number, isKeyed: boolean, connections: number, bodies?: number): Cell => ({
  name: `bulk, batch ${batch}, key ${isKeyed ? 'on' : 'off'}, connections ${connections}`,
  unit: 'units',
  unitsPerRequest: batch,
  measure: async ({ orders, ordersUrl }) => {
    const calls = { batch, bodies: await makeBodies(batch, bodies), isKeyed }
    return measureBulk(orders, ordersUrl, load, calls, connections)
  },
})

export const readCell = (load: Load, connections: number): Cell => ({
  name: `one order, connections ${connections}`,
  unit: 'units',
  unitsPerRequest: 1,
  measure: async ({ orders: { headers, superuser }, ordersUrl: url }) => {
    const [waybills = []] = await postEach(url, headers, await makeBodies(1000, 1))
    const calls = waybills.map(waybill => ({ path: `/api/public/merchant/order/${waybill}` }))
    return measureLoad({ load, url, superuser, task: { work: { kind: 'calls', headers, calls }, connections } })
  },
})

/** More orders than a list counts. */
const listedThousands = 12

const pageCell = (load: Load, page: number): Cell => ({
  name: `page ${page} of 20, of ${listedThousands},000 orders and more`,
  unit: 'units',
  unitsPerRequest: 1,
  measure: async ({ orders: { headers, superuser }, ordersUrl: url }) => {
    await postEach(url, headers, await makeBodies(1000, listedThousands))
    const calls = [{ path: `/api/public/merchant/order?per_page=20&page=${page}` }]
    return measureLoad({ load, url, superuser, task: { work: { kind: 'calls', headers, calls }, connections: 16 } })
  },
})

const webhookCell = (load: Load): Cell => ({
  name: 'webhooks of one update, connections 16',
  unit: 'units',
  unitsPerRequest: 1,
  isOfNotifier: true,
  measure: async ({ notifier, notifierUrl }) =>
    measureUpdates(notifier, load, notifierUrl, { updatesPerCall: 1, connections: 16 }),
})

/** Measures from the first to the last message that the running service sends of those queued. */
export const queueCell = (apiUrl: string, latency: number): Cell => ({
  name: `queue, responses after ${latency} ms`,
  unit: 'units',
  unitsPerRequest: 1,
  isOfNotifier: true,
  measure: async ({ notifier: { superuser }, notifierUrl: url }) => {
    let perSecond = 500
    return async seconds => {
      await setAnswerLatency(apiUrl, latency)
      const messages = Math.ceil(perSecond * seconds)
      await removeMessages(superuser)
      await insertMessages(superuser, 'large', messages, 'queued')
      const measured = await withCost(() => drain(superuser, messages), { url, superuser })
      perSecond = messages / measured.seconds
      return measured
    }
  },
})

const stallSeconds = 30

const drain = async (superuser: pg.Client, messages: number) => {
  const end = performance.now() + stallSeconds * 1000
  while ((await countAccepted(superuser)) < messages) {
    if (performance.now() > end) throw new Error(`${messages} messages were not sent within ${stallSeconds} s`)
    await delay(50)
  }
  const { rows } = await superuser.query(
    `select extract(epoch from max(happened_at) - min(happened_at))::float as seconds
     from message_events where status = 'accepted'`,
  )
  // Nothing is known about single messages.
  const requestMilliseconds = Array.from({ length: messages }, () => Number.NaN)
  return { seconds: rounded(rows[0].seconds, 6), requestMilliseconds, cpuSeconds: Number.NaN }
}
