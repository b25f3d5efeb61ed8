import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { createTokenFor } from '../services/orders/access/token-commands.ts'
import type { TenantFile } from '../services/orders/provisioning/tenant-file.ts'
import { type Bench, type TableRow, tell } from './bench.ts'
import { makeBodies, postEach } from './bulk-calls.ts'
import type { Costed } from './compare.ts'
import { withCost } from './cpu.ts'
import { median, rounded } from './figures.ts'
import { type Ground, startGround } from './ground.ts'
import { repeat } from './repeat.ts'

/** What readers that wait for changes cost, while nothing happens and beside bookings of another merchant. */
export const changes: Bench = {
  summary: 'the share of a core that 100 readers take who wait for changes',
  run: async (options, cleanUps) => {
    tell('changes: starting Postgres and orders ...')
    const ground = await startGround(cleanUps, addMerchants)
    const { url } = await ground.startOrders(cleanUps, options.profileFolder)
    const tokens = await createTokens(ground)
    const bodies = await makeBodies(1, 1)
    const book = () => postEach(url, ground.headers, bodies)
    await book()
    const table: TableRow[] = []
    for (const bookings of [0, bookingsPerSecond])
      for (const readers of [0, tokens.length * readersOfMerchant]) {
        const stop = startReaders(url, ground, tokens, readers)
        await delay(1_000)
        const work = () => (bookings === 0 ? idle() : repeat(restSeconds, bookings, [book]))
        const costs: Costed[] = []
        for (let round = 0; round < options.rounds; round++) costs.push(await withCost(work, { url, ...ground }))
        await stop()
        const shareOf = (cost: 'nodeSeconds' | 'postgresSeconds') =>
          rounded(median(costs.map(measured => measured[cost] / restSeconds)), 3)
        const shares = { 'Node, of a core': shareOf('nodeSeconds'), 'Postgres, of a core': shareOf('postgresSeconds') }
        table.push({ readers, 'bookings/s': bookings, ...shares })
      }
    return table
  },
}

const merchants = 5
const readersOfMerchant = 20
const bookingsPerSecond = 10
/** A round: long enough for each reader to wait anew. */
const restSeconds = 20

const idle = async () => {
  await delay(restSeconds * 1_000)
  return { seconds: restSeconds, requestMilliseconds: [], cpuSeconds: 0 }
}

const emailOf = (n: number): string => `reader-${n}@example.com`

const addMerchants = (file: TenantFile): void => {
  for (let n = 0; n < merchants; n++)
    file.merchants.push({ name: `Reader ${n}`, email: emailOf(n), password: 'a password of the bench', businesses: [] })
}

const createTokens = async ({ databaseUrl, tenant }: Ground): Promise<string[]> => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1, pipeline: true } as pg.PoolConfig)
  const tokens: string[] = []
  for (let n = 0; n < merchants; n++) tokens.push((await createTokenFor(pool, { tenant, merchant: emailOf(n) })).token)
  await pool.end()
  return tokens
}

/** Starts so many readers, each of which waits again as soon as it has its response. Returns how to stop them. */
const startReaders = (url: string, { headers }: Ground, tokens: readonly string[], readers: number) => {
  const gone = new AbortController()
  const read = async (n: number): Promise<void> => {
    const own = { ...headers, authorization: `Bearer ${tokens[n % tokens.length]}` }
    for (let cursor = 'now'; !gone.signal.aborted; ) {
      const path = `/api/public/merchant/order/changes?wait=20&cursor=${cursor}`
      const response = await fetch(url + path, { headers: own, signal: gone.signal }).catch(() => undefined)
      if (response && !response.ok) throw new Error(`a reader got ${response.status}`)
      cursor = response ? ((await response.json()) as { next_cursor: string }).next_cursor : cursor
    }
  }
  const reading = Promise.all(Array.from({ length: readers }, (_, n) => read(n)))
  return async (): Promise<void> => {
    gone.abort()
    await reading
  }
}
