import { type Bench, type BenchOptions, type TableRow, tell } from './bench.ts'
import { makeBodies, measureBulk } from './bulk-calls.ts'
import { type Comparison, compare, type Measure } from './compare.ts'
import { type Ground, startGround } from './ground.ts'
import type { Load, Target } from './measure-load.ts'
import { type NotifierGround, startNotifierGround } from './notifier-ground.ts'
import { startTaskProcess } from './processes.ts'
import { type Service, startService } from './service.ts'
import { measureService } from './service-queue.ts'
import { measureUpdates, type WebhookLoad } from './webhooks.ts'

/** Two processes of a service on one database, beside one on another; a balancer before each. */
export const pair: Bench = {
  summary: 'two processes of each service behind a plain balancer, beside one',
  run: async (options, cleanUps) => [
    ...(await pairOfOrders(options, cleanUps)),
    ...(await pairOfNotifiers(options, cleanUps)),
  ],
}

interface Side<Of> {
  ground: Of
  target: Target
}

type Sides<Of> = Record<'one' | 'two', Side<Of>>

const warmUpSeconds = 1.5

const pairOfOrders = async (options: BenchOptions, cleanUps: AsyncDisposableStack): Promise<TableRow[]> => {
  tell('pair: starting orders, once and twice ...')
  const sides = await startSides(
    () => startGround(cleanUps, options),
    ground => ground.startOrders(cleanUps, options.profileFolder),
    cleanUps,
  )
  const load: Load = startTaskProcess('load.ts', cleanUps)
  const table: TableRow[] = []
  for (const batch of options.batches ?? [1, 1000])
    for (const connections of options.connections ?? [16]) {
      const calls = { batch, bodies: await makeBodies(batch), isKeyed: false }
      const measure = ({ ground, target }: Side<Ground>) => measureBulk(ground, target, load, calls, connections)
      const kind = { name: `orders, batch ${batch}`, unit: 'orders', unitsPerCall: batch }
      table.push({ batch, connections, ...(await compareSides(sides, kind, measure, options)) })
    }
  return table
}

const pairOfNotifiers = async (options: BenchOptions, cleanUps: AsyncDisposableStack): Promise<TableRow[]> => {
  tell('pair: starting the notifier, once and twice ...')
  const sides = await startSides(
    () => startNotifierGround(cleanUps),
    ground => ground.startNotifier(cleanUps, options.profileFolder),
    cleanUps,
  )
  const load: WebhookLoad = startTaskProcess('webhook-load.ts', cleanUps)
  const updates: TableRow[] = []
  for (const updatesPerCall of options.batches ?? [1, 1000])
    for (const connections of options.connections ?? [16]) {
      const calls = { updatesPerCall, connections }
      const measure = ({ ground, target }: Side<NotifierGround>) => measureUpdates(ground, load, target, calls)
      const kind = { name: `${updatesPerCall} updates a call`, unit: 'updates', unitsPerCall: updatesPerCall }
      updates.push({
        'updates a call': updatesPerCall,
        connections,
        ...(await compareSides(sides, kind, measure, options)),
      })
    }
  const kind = { name: 'messages', unit: 'messages', unitsPerCall: 1 }
  const measure = ({ ground, target }: Side<NotifierGround>) => measureService(ground, target)
  // Nobody calls the queue.
  const { 'p50 ms': _, 'p99 ms': __, 'load us': ___, ...queue } = await compareSides(sides, kind, measure, options)
  return [...updates, queue]
}

const compareSides = async <Of>(
  sides: Sides<Of>,
  kind: Pick<Comparison, 'name' | 'unit' | 'unitsPerCall'>,
  measure: (side: Side<Of>) => Measure,
  options: BenchOptions,
): Promise<TableRow> => {
  const ours = measure(sides.two)
  const one = measure(sides.one)
  for (const side of [ours, one]) await side(warmUpSeconds)
  return compare({ ...kind, name: `pair: ${kind.name}`, ours, floors: { one } }, options)
}

/** Each side has a database of its own. */
const startSides = async <Of>(
  startGround: () => Promise<Of>,
  startProcess: (ground: Of) => Promise<Service>,
  cleanUps: AsyncDisposableStack,
): Promise<Sides<Of>> => {
  const start = async (count: number): Promise<Side<Of>> => {
    const ground = await startGround()
    const processes: string[] = []
    while (processes.length < count) processes.push((await startProcess(ground)).url)
    const environment = { BALANCER_TARGETS: processes.map(url => new URL(url).port).join(',') }
    const file = 'bench/balancer.ts'
    const options = { name: 'the balancer', file, portSetting: 'BALANCER_PORT', environment }
    return { ground, target: { url: (await startService(options, cleanUps)).url, processes } }
  }
  return { one: await start(1), two: await start(2) }
}
