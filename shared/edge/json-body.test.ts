import Fastify from 'fastify'
import t from 'tap'
import { acceptJson, isTooComplex } from './json-body.ts'

const count = (json: string): number => {
  let values = 0
  while (isTooComplex(Buffer.from(json), values)) values++
  return values
}

t.test('counts lists, objects and commas as values, but nothing inside texts', async t => {
  t.equal(count('{"a": [1, 2], "b": {}}'), 5)
  t.equal(count('"a, [b] {c}"'), 0)
  t.equal(count('["a \\" , [", "\\\\", "c"]'), 3)
  t.equal(count('[[[['), 4)
})

t.test('stops counting at the first value too many', async t => {
  const bytes = Buffer.from(`[${'1,'.repeat(2_500_000)}`)
  let read = 0
  const watched = new Proxy(bytes, {
    get: (target, key) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) read++
      return Reflect.get(target, key, target)
    },
  })
  t.equal(isTooComplex(watched, 1_000), true)
  t.equal(read, 2_001)
})

t.test('refuses more than 64 levels, whatever the texts hold', async t => {
  t.equal(isTooComplex(Buffer.from('['.repeat(64)), 1_000), false)
  t.equal(isTooComplex(Buffer.from('['.repeat(65)), 1_000), true)
  t.equal(isTooComplex(Buffer.from(`["${'['.repeat(100)}"]`), 1_000), false)
  t.equal(isTooComplex(Buffer.from('[{}],'.repeat(100)), 1_000), false)
})

t.test('refuses an object of more than 1,000 keys, but not a list of more items', async t => {
  const keys = (count: number) => Array.from({ length: count }, (_, key) => `"${key}": 1`).join()
  t.equal(isTooComplex(Buffer.from(`{${keys(1_001)}}`), 10_000), false)
  t.equal(isTooComplex(Buffer.from(`{"a": {}, ${keys(1_001)}}`), 10_000), true)
  t.equal(isTooComplex(Buffer.from(`[{${keys(900)}}, {${keys(900)}}]`), 10_000), false)
  t.equal(isTooComplex(Buffer.from(`[${'1,'.repeat(5_000)}1]`), 10_000), false)
})

t.test('reads one of several large bodies in each round of the event loop', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  acceptJson(app)
  let [round, isOver] = [0, false]
  const count = (): void => {
    round++
    if (!isOver) setImmediate(count)
  }
  app.post('/', async () => ({ round }))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const headers = { 'content-type': 'application/json' }
  const post = (body: string): Promise<Response> => fetch(url, { method: 'POST', headers, body })
  const roundOf = async (body: string): Promise<number> =>
    ((await (await post(body)).json()) as { round: number }).round
  const large = JSON.stringify(['x'.repeat(20_000)])
  // Opens the connections.
  await Promise.all(Array.from({ length: 8 }, () => roundOf(large)))
  setImmediate(count)
  t.teardown(() => (isOver = true))
  const rounds = await Promise.all(Array.from({ length: 8 }, () => roundOf(large)))
  t.equal(new Set(rounds).size, 8)
  t.equal((await post('['.repeat(20_000))).status, 400)
})
