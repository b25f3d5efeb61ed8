import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { filterRows } from '@courier/shared/lists/filters.ts'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { createOrders } from '../../app.ts'
import { build } from '../../test/build.ts'
import { plainCatalogue } from '../../test/plain-catalogue.ts'
import { batch, tenantFile } from '../../test/tenant.ts'
import { CityIndex } from '../places/cities.ts'
import { standardStatuses } from '../statuses/statuses.ts'
import { type Catalogue, createCatalogues, estimateBytes } from './catalogue.ts'
import { createLists, type Lists } from './lists.ts'
import { RateCard } from './rate-card.ts'
import { cities as cityList } from './schema.ts'
import { WaybillFormat } from './waybill-format.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const usedBytes = (): number => {
  for (let round = 0; round < 2; round++) collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const buildCatalogue = ({
  cities,
  zones,
  businesses,
  aliases = 0,
}: {
  aliases?: number
  cities: number
  zones: number
  businesses: number
}): Catalogue => {
  const states = Array.from({ length: 10 }, (_, id) => ({ id, name: `State ${id}` }))
  const all = Array.from({ length: cities }, (_, id) => {
    const state = states[id % 10] ?? { id: 0, name: '' }
    const names = Array.from({ length: aliases }, (_, n) => `මහනුවර ${n} ${id}`)
    return {
      id,
      name: `A town somewhere ${id}`,
      postalCode: String(10_000 + id),
      state,
      ...(aliases && { aliases: names }),
    }
  })
  const names = Array.from({ length: zones }, (_, id) => `zone ${id}`)
  const card = new RateCard({
    name: 'standard',
    zones: names.map((name, id) => [id, name, false]),
    cities: all.map(({ id }) => [id, names[id % zones] ?? '']),
    rates: names.flatMap(from => names.map((to): [string, string, number, number] => [from, to, 450, 90])),
  })
  const format = new WaybillFormat('DM########')
  const index = new CityIndex(states, all)
  index.names.findNamed('')
  return {
    ...plainCatalogue({ waybills: { mode: 'auto', format }, cities: index }),
    rateCards: new Map([['1', card]]),
    merchantOfBusiness: new Map(Array.from({ length: businesses }, (_, id) => [String(id), '1'])),
    statuses: new Map(standardStatuses.map(status => [status.key, { ...status, createdAt: 'now' }])),
    names: {
      merchants: new Map([[1, 'A merchant']]),
      businesses: new Map(Array.from({ length: businesses }, (_, id) => [id, `A shop somewhere ${id}`])),
      cities: new Map(all.map(city => [city.id, city])),
    },
  }
}

const sizes = [
  { cities: 500, zones: 32, businesses: 20 },
  { cities: 2000, zones: 118, businesses: 50 },
  { cities: 2000, zones: 447, businesses: 50 },
  { cities: 10_000, zones: 10, businesses: 50 },
  { cities: 500, zones: 32, businesses: 5000 },
  { cities: 2000, zones: 10, businesses: 1, aliases: 10 },
]
for (const size of sizes) {
  const { cities, zones, businesses } = size
  t.test(
    `the estimate of ${cities} cities, ${zones ** 2} rates and ${businesses} businesses matches the heap`,
    async t => {
      const copies = 3
      buildCatalogue(size)
      const before = usedBytes()
      const kept = Array.from({ length: copies }, () => buildCatalogue(size))
      const bytes = (usedBytes() - before) / copies
      const estimate = estimateBytes(kept[0] as Catalogue)
      t.comment({ bytes, estimate })
      t.ok(estimate > 0.9 * bytes && estimate < 2 * bytes, `${estimate} for ${bytes}`)
    },
  )
}

t.test('the estimate of lists matches the heap', async t => {
  const { cities, rateCards } = buildCatalogue({ cities: 2000, zones: 32, businesses: 1 })
  const make = (): Lists => {
    const lists = createLists(cities, rateCards.get('1'), 'LK')
    if (lists.toJson('cities').length + lists.toJson('states').length === 0) throw new Error('no lists')
    for (const name of Object.keys(cityList.filters)) filterRows(cityList.filters, { [name]: '1' }, lists.cities)
    return lists
  }
  make()
  const before = usedBytes()
  const kept = Array.from({ length: 3 }, make)
  const bytes = (usedBytes() - before) / kept.length
  const estimate = kept[0]?.bytes ?? 0
  t.comment({ bytes, estimate })
  t.ok(estimate > 0.9 * bytes && estimate < 2 * bytes, `${estimate} for ${bytes}`)
})

const { pool, apply, createToken, ordersOptions } = await build(t)
const ids = ['a', 'b', 'c'] as const
for (const id of ids) await apply(tenantFile({ id }))
const one = estimateBytes((await createCatalogues(pool, 2 ** 20).current('a')) as Catalogue)

/** Creates catalogues with memory for `fitting` of them. */
const catalogues = (t: Test, fitting: number) => {
  const bytes = Math.round(one * fitting)
  const registry = new Registry()
  const { current } = createCatalogues(pool, bytes, registry)
  const read = async (metric: string) => (await registry.getSingleMetric(metric)?.get())?.values[0]?.value ?? 0
  /** Counts how many of the wanted catalogues are read from the database. */
  const countLoads = async (...wanted: (typeof ids)[number][]): Promise<number> => {
    const before = await read('catalogue_loads_total')
    for (const id of wanted) t.equal((await current(id))?.tenant, id)
    t.ok((await read('catalogue_bytes')) <= bytes)
    return (await read('catalogue_loads_total')) - before
  }
  return { current, countLoads }
}

t.test('catalogues leave memory when they exceed the bound, the least recently used first', async t => {
  const { countLoads } = catalogues(t, 2.5)
  t.equal(await countLoads('a', 'b', 'a', 'b', 'a'), 2)
  t.equal(await countLoads('c', 'a', 'c'), 1)
  t.equal(await countLoads('b'), 1)
})

t.test('a catalogue larger than the bound stays until another is used', async t => {
  const { countLoads } = catalogues(t, 0.1)
  t.equal(await countLoads('a', 'a', 'a'), 1)
  t.equal(await countLoads('b', 'b', 'a', 'a'), 2)
})

t.test('concurrent uses of a tenant share one read', async t => {
  const { current, countLoads } = catalogues(t, 1)
  const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => current('a')))
  t.ok(first && others.every(other => other === first))
  t.equal(await countLoads('a'), 0)
})

t.test('batches and lists of more tenants than fit succeed', async t => {
  const { app } = await createOrders({ ...ordersOptions, catalogueBytes: 8 })
  t.teardown(() => app.close())
  const prefix = '/api/public/merchant'
  const requests = ids.map(async tenant => {
    const headers = { authorization: `Bearer ${await createToken('shop@example.com', tenant)}`, 'x-tenant': tenant }
    for (let round = 0; round < 4; round++) {
      const order = { method: 'POST', url: `${prefix}/order/bulk`, headers, payload: batch() } as const
      t.equal((await app.inject(order)).statusCode, 200)
      for (const list of ['city', 'state'])
        t.ok((await app.inject({ url: `${prefix}/${list}`, headers })).json().data.length > 2)
    }
  })
  await Promise.all(requests)
  const metrics = (await app.inject('/metrics')).body
  t.match(metrics, /^catalogue_bytes [1-8]$/m)
  t.match(metrics, /^catalogue_loads_total [1-9]\d*$/m)
})
