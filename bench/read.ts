import { setResponse } from './bare-fastify.ts'
import type { BenchOptions, Cell, Tools } from './bench.ts'
import { bookBatches } from './bulk.ts'
import { measureLoad } from './cpu.ts'
import type { Side } from './versions.ts'

interface Reading {
  what: string
  /** Returns the paths to read; the bare route returns the response to the first one. */
  paths: (side: Side) => Promise<string[]>
  /** Reads the rows that the response contains; $1 is the tenant and $2, if there is one, the end of the path. */
  select?: string
}

const prefix = '/api/public/merchant'
/** Exceeds what a list counts, in thousands of orders. */
const listedThousands = 12
const prepareList = async (side: Side, path: string): Promise<string[]> => {
  await bookBatches(side, 1000, listedThousands)
  return [`${prefix}/order?per_page=20${path}`]
}
const cities = `select c.*, s.name as state_name from cities c join states s using (tenant_id, state_id)
  where c.tenant_id = $1 order by c.name`

const one: Reading = {
  what: 'one order',
  paths: async side => (await bookBatches(side, 1000, 1)).flat().map(waybill => `${prefix}/order/${waybill}`),
  select: `select * from orders o join order_events e using (tenant_id, waybill_number)
    where o.tenant_id = $1 and o.waybill_number = $2 order by e.event_id`,
}
const others: Reading[] = [
  { what: 'page 1', paths: side => prepareList(side, '') },
  { what: 'page 50', paths: side => prepareList(side, '&page=50') },
  { what: 'all cities', paths: async () => [`${prefix}/city?noPagination=1`], select: cities },
]

/** Measures a read, beside a bare route that returns the same bytes, and beside the select alone if there is one. */
const createCell = ({ load, bareFastify }: Tools, reading: Reading, connections: number): Cell => ({
  name: `${reading.what}, connections ${connections}`,
  service: 'orders',
  unit: 'requests',
  unitsPerRequest: 1,
  measure: async side => {
    const requests = (await reading.paths(side)).map(path => ({ path }))
    return measureLoad(load, side, { kind: 'requests', headers: side.headers, requests }, connections)
  },
  baselines: async side => {
    const { headers } = side
    const [tenant = '', paths, url] = [headers['x-tenant'], await reading.paths(side), await bareFastify()]
    const sample = await fetch(side.url + paths[0], { headers })
    await setResponse(url, await sample.text())
    const requests = paths.map(path => ({ path }))
    const fastify = measureLoad(load, { url }, { kind: 'requests', headers, requests }, connections)
    if (reading.select === undefined) return { Fastify: fastify }
    const values = paths.map(path => [tenant, path.split('/').at(-1) ?? ''].slice(0, reading === one ? 2 : 1))
    const work = { kind: 'statement', tenant, text: reading.select, values } as const
    return { Fastify: fastify, select: measureLoad(load, side, work, connections) }
  },
})

export const createReadCells = (tools: Tools, connections: number): Cell[] =>
  [one, ...others.slice(0, 1)].map(reading => createCell(tools, reading, connections))

export const read = ({ connections }: BenchOptions, tools: Tools): Cell[] => [
  ...(connections ?? [64]).map(count => createCell(tools, one, count)),
  ...others.flatMap(reading => (connections ?? [16]).map(count => createCell(tools, reading, count))),
]
