import { setTimeout as delay } from 'node:timers/promises'
import type { TenantFile } from '../services/orders/provisioning/tenant-file.ts'
import { startBareFastify } from './bare-fastify.ts'
import { type Bench, type TableRow, tell } from './bench.ts'
import { bulkLoad, makeBodies, postEach } from './bulk-calls.ts'
import { type Load, measureLoad, residentMegabytes } from './cpu.ts'
import { median, rounded } from './figures.ts'
import { type Ground, startGround } from './ground.ts'
import { startTaskProcess } from './processes.ts'

/** How long orders takes to start and how much memory it has, with a tenant of many rates; a bare Fastify beside it. */
export const footprint: Bench = {
  summary: `memory of orders, idle and at load, and its start, with a tenant of 200,000 rates`,
  run: async (options, cleanUps) => {
    tell('footprint: starting Postgres, and loading the tenant ...')
    const ground = await startGround(cleanUps, addRates)
    const load: Load = startTaskProcess('load.ts', cleanUps)
    const measured: TableRow[] = []
    for (let round = 1; round <= options.rounds; round++) {
      tell(`footprint, round ${round} of ${options.rounds}`)
      measured.push({ ...(await measureStarted(ground, load, options.seconds)), ...(await measureBare()) })
    }
    const { rows } = await ground.superuser.query('select count(*)::integer as count from rates')
    const figures = Object.keys(measured[0] ?? {}).map(name => [name, median(measured.map(row => Number(row[name])))])
    return [{ rates: rows[0].count, ...Object.fromEntries(figures) }]
  },
}

/** Each has a rate to each. */
const zoneCount = 448
const batch = 1000
const connections = 16
const restSeconds = 5

/** Gives each of the first cities a zone of its own, and makes as many cities as that takes. */
const addRates = (file: TenantFile): void => {
  const card = file.rate_cards[0]
  const state = file.states[0]
  if (!card || !state) throw new Error('the demo tenant has no rate card or no state')
  for (let added = 0; added < zoneCount; added++) state.cities.push({ id: 1_000_000 + added, name: `Town ${added}` })
  const cities = file.states.flatMap(({ cities }) => cities).slice(0, zoneCount - 1)
  const zones = cities.map(({ id }) => [`z${id}`, [id]] as const)
  card.zones = { ...Object.fromEntries(zones), elsewhere: '*' }
  const names = Object.keys(card.zones)
  card.rates = names.flatMap(from => names.map(to => ({ from, to, first_kg: 450, each_extra_kg: 90 })))
}

/** A process of its own, from its start to its rest after a load. */
const measureStarted = async (ground: Ground, load: Load, seconds: number): Promise<TableRow> => {
  await using ofRound = new AsyncDisposableStack()
  const { url, readySeconds } = await ground.startOrders(ofRound)
  const idle = await residentMegabytes(url)
  const calls = { batch, bodies: await makeBodies(batch, 1), isKeyed: false }
  const start = performance.now()
  await postEach(url, ground.headers, calls.bodies)
  const firstSeconds = (performance.now() - start) / 1000
  const loaded = await residentMegabytes(url)
  const running = measureLoad(bulkLoad(ground, url, load, calls, connections))(seconds)
  const atLoad = await peakUntil(running, url)
  await delay(restSeconds * 1000)
  return {
    'ready after s': rounded(readySeconds, 2),
    'first request s': rounded(firstSeconds, 2),
    'idle MB': rounded(idle),
    'after the first request MB': rounded(loaded),
    'at load MB': rounded(atLoad),
    [`${restSeconds} s later MB`]: rounded(await residentMegabytes(url)),
  }
}

/** The most that it had at any look. */
const peakUntil = async (running: Promise<unknown>, url: string): Promise<number> => {
  let isOver = false
  const over = running.finally(() => {
    isOver = true
  })
  let peak = 0
  while (!isOver) {
    peak = Math.max(peak, await residentMegabytes(url))
    await Promise.race([over, delay(200)])
  }
  await over
  return peak
}

const measureBare = async (): Promise<TableRow> => {
  await using ofRound = new AsyncDisposableStack()
  const { url, readySeconds } = await startBareFastify(ofRound)
  return { 'Fastify ready after s': rounded(readySeconds, 2), 'Fastify idle MB': rounded(await residentMegabytes(url)) }
}
