import t from 'tap'
import { isTooComplex } from './json-body.ts'

const count = (json: string): number => {
  let values = 0
  while (isTooComplex(Buffer.from(json), values)) values++
  return values
}

t.test('lists, objects and commas count as values; what stands in texts does not', async t => {
  t.equal(count('{"a": [1, 2], "b": {}}'), 5)
  t.equal(count('"a, [b] {c}"'), 0)
  t.equal(count('["a \\" , [", "\\\\", "c"]'), 3)
  t.equal(count('[[[['), 4)
})

t.test('counting stops at the first value too many', async t => {
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

t.test('more than 64 levels are too many, whatever stands in texts', async t => {
  t.equal(isTooComplex(Buffer.from('['.repeat(64)), 1_000), false)
  t.equal(isTooComplex(Buffer.from('['.repeat(65)), 1_000), true)
  t.equal(isTooComplex(Buffer.from(`["${'['.repeat(100)}"]`), 1_000), false)
  t.equal(isTooComplex(Buffer.from('[{}],'.repeat(100)), 1_000), false)
})

t.test('an object of more than 1,000 keys is too many, a list of more items is not', async t => {
  const keys = (count: number) => Array.from({ length: count }, (_, key) => `"${key}": 1`).join()
  t.equal(isTooComplex(Buffer.from(`{${keys(1_001)}}`), 10_000), false)
  t.equal(isTooComplex(Buffer.from(`{"a": {}, ${keys(1_001)}}`), 10_000), true)
  t.equal(isTooComplex(Buffer.from(`[{${keys(900)}}, {${keys(900)}}]`), 10_000), false)
  t.equal(isTooComplex(Buffer.from(`[${'1,'.repeat(5_000)}1]`), 10_000), false)
})
