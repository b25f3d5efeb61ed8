import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { batchReads, batchRequests, countWithin } from './request-batcher.ts'

/** Creates a read of the lengths of names; the name `none` has no row, and a statement with `broken` fails. */
const createReader = () => {
  const asked: { tenant: string; names: readonly string[] }[] = []
  const find = batchReads(async (tenant, names) => {
    asked.push({ tenant, names })
    await delay(20)
    if (names.includes('broken')) throw new Error('unavailable')
    return new Map(names.filter(name => name !== 'none').map(name => [name, `${tenant} ${name.length}`]))
  })
  return { asked, find }
}

t.test('requests of one round of the event loop share a statement, and each gets its own row', async t => {
  const { asked, find } = createReader()
  const rows = await Promise.all([find('demo', 'a'), find('demo', 'bb'), find('demo', 'a'), find('demo', 'none')])
  t.strictSame(rows, ['demo 1', 'demo 2', 'demo 1', undefined])
  t.strictSame(asked, [{ tenant: 'demo', names: ['a', 'bb', 'none'] }])
})

t.test('tenants never share a statement', async t => {
  const { asked, find } = createReader()
  t.strictSame(await Promise.all([find('demo', 'a'), find('rival', 'a')]), ['demo 1', 'rival 1'])
  t.strictSame(
    asked.map(({ tenant }) => tenant),
    ['demo', 'rival'],
  )
})

t.test('many requests of one round are divided evenly', async t => {
  const { asked, find } = createReader()
  const rows = await Promise.all(Array.from({ length: 65 }, (_, index) => find('demo', `name ${index}`)))
  t.equal(rows.filter(Boolean).length, 65)
  t.strictSame(
    asked.map(({ names }) => names.length),
    [33, 32],
  )
})

t.test('requests that arrive while statements run share the next one, a hundred at most', async t => {
  const { asked, find } = createReader()
  const first = find('demo', 'first')
  await delay(5)
  const second = find('demo', 'second')
  await delay(5)
  const later = Array.from({ length: 150 }, (_, index) => find('demo', `later ${index}`))
  t.strictSame(await Promise.all([first, second]), ['demo 5', 'demo 6'])
  t.equal((await Promise.all(later)).filter(Boolean).length, 150)
  t.strictSame(
    asked.map(({ names }) => names.length),
    [1, 1, 100, 50],
  )
})

t.test('a failed statement fails only its own requests', async t => {
  const { find } = createReader()
  const broken = find('demo', 'broken')
  broken.catch(() => {})
  await delay(5)
  t.equal(await find('demo', 'well'), 'demo 4')
  await t.rejects(broken, { message: 'unavailable' })
  t.equal(await find('demo', 'again'), 'demo 5')
})

t.test('constant arrivals do not delay items behind a stuck batch', async t => {
  const stuck = Promise.withResolvers<string[]>()
  const batches: string[][] = []
  const request = batchRequests<string, string>({
    run: async (_key, items) => {
      batches.push([...items])
      return batches.length === 1 ? stuck.promise : [...items]
    },
    take: items => items.length,
    lanes: () => 1,
    patience: { milliseconds: 300, lanes: 2 },
  })
  const first = request('demo', 'first')
  await delay(5)
  const second = request('demo', 'second')
  for (let tries = 0; batches.length < 2 && tries < 150; tries++) {
    void request('demo', 'more')
    await delay(5)
  }
  t.equal(batches[1]?.[0], 'second')
  t.equal(await second, 'second')
  stuck.resolve(['first'])
  t.equal(await first, 'first')
})

t.test('a batch takes the first items that fit its limit', async t => {
  const count = (...sizes: number[]) => countWithin(sizes, 10, size => size)
  t.strictSame([count(), count(4, 6), count(4, 6, 1), count(11, 1)], [0, 2, 2, 0])
})
