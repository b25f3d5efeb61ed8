import { startBareFastify, tellBareFastify } from './bare-fastify.ts'
import { type Bench, type TableRow, tell } from './bench.ts'
import { type Floor, makeBodies, postEach } from './bulk-calls.ts'
import { compare, type Measure } from './compare.ts'
import { type Load, measureLoad, withCost } from './cpu.ts'
import type { FloorWork } from './floor.ts'
import { type Ground, startGround } from './ground.ts'
import { startTaskProcess } from './processes.ts'

/**
 * Measures the reads that merchants request most, beside a route that returns the same bytes and beside the select
 * alone.
 */
export const read: Bench = {
  summary: 'requests/s of reading an order and the cities, beside a bare Fastify route and the bare select',
  run: async (options, cleanUps) => {
    tell('read: starting Postgres, orders and a bare Fastify ...')
    const ground = await startGround(cleanUps)
    const { url } = await ground.startOrders(cleanUps, options.profileFolder)
    const bare = (await startBareFastify(cleanUps)).url
    const load: Load = startTaskProcess('load.ts', cleanUps)
    const floor: Floor = startTaskProcess('floor.ts', cleanUps)
    const [waybills = []] = await postEach(url, ground.headers, await makeBodies(ordersToRead, 1))
    const table: TableRow[] = []
    for (const { what, paths, select } of readings(ground.tenant, waybills)) {
      const answer = await sampleAnswer(url + paths[0], ground)
      await tellBareFastify(bare, 'answer', answer)
      for (const connections of options.connections ?? [1, 16, 64]) {
        const work = { kind: 'calls', headers: ground.headers, calls: paths.map(path => ({ path })) } as const
        const task = { work, connections }
        const ours = measureLoad({ load, url, superuser: ground.superuser, task })
        const fastify = measureLoad({ load, url: bare, task })
        const floors = { Fastify: fastify, select: measureSelect(ground, floor, select, connections) }
        const name = `read: ${what}, connections ${connections}`
        await ours(warmUpSeconds)
        const figures = await compare(
          { name, unit: 'requests', unitsPerRequest: 1, ours, floors, alsoHalf: true },
          options,
        )
        table.push({ what, connections, 'response bytes': Buffer.byteLength(answer), ...figures })
      }
    }
    return table
  },
}

const ordersToRead = 1000
const warmUpSeconds = 1

interface Reading {
  what: string
  paths: string[]
  /** The select that the response is made of. */
  select: FloorWork
}

const readings = (tenant: string, waybills: string[]): Reading[] => {
  const prefix = '/api/public/merchant'
  const cities = 'select c.*, s.name as state_name from cities c join states s using (tenant_id, state_id)'
  return [
    {
      what: 'order',
      paths: waybills.map(waybill => `${prefix}/order/${waybill}`),
      select: {
        kind: 'statement',
        text: `select * from orders o join order_events e using (tenant_id, waybill_number)
          where o.tenant_id = $1 and o.waybill_number = $2 order by e.event_id`,
        values: waybills.map(waybill => [tenant, waybill]),
      },
    },
    {
      what: 'all cities',
      paths: [`${prefix}/city?noPagination=1`],
      select: { kind: 'statement', text: `${cities} where c.tenant_id = $1 order by c.name`, values: [[tenant]] },
    },
    {
      what: '20 cities',
      paths: [`${prefix}/city?per_page=20`],
      select: {
        kind: 'statement',
        text: `${cities} where c.tenant_id = $1 order by c.name limit 20`,
        values: [[tenant]],
      },
    },
  ]
}

/** Returns the body of a response, which must be 200. */
export const sampleAnswer = async (address: string, { headers }: Ground): Promise<string> => {
  const answer = await fetch(address, { headers })
  const text = await answer.text()
  if (answer.status === 200) return text
  throw new Error(`${address} answered ${answer.status}: ${text.slice(0, 500)}`)
}

const measureSelect =
  ({ superuser, databaseUrl, tenant }: Ground, floor: Floor, work: FloorWork, connections: number): Measure =>
  (seconds, requestsPerSecond) =>
    withCost(() => floor({ databaseUrl, tenant, connections, seconds, requestsPerSecond, work }), { superuser })
