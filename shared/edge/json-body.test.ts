import Fastify from 'fastify'
import t from 'tap'
import { acceptJson, isCostlyJson, parseJson } from './json-body.ts'

t.test('counts lists, objects and commas of large bodies as values, but nothing inside texts', async t => {
  const large = (json: string) => Buffer.from(json + ' '.repeat(524_288))
  const count = (json: string): number => {
    let values = 0
    while (isCostlyJson(large(json), values)) values++
    return values
  }
  t.equal(count('{"a": [1, 2], "b": {}}'), 5)
  t.equal(count('"a, [b] {c}"'), 0)
  t.equal(count('["a \\" , [", "\\\\", "c"]'), 3)
  t.equal(isCostlyJson(Buffer.from('[[['), 1), false)
})

for (const [text, problem] of [
  ['[1 2]', ': at position 3 (line 1 column 4).'],
  ['{\n"a":1', ': at position 7 (line 2 column 6).'],
  ['[', ': it ends too early.'],
  ['["end of JSON input", secret]', '.'],
] as const)
  t.test(`says where ${JSON.stringify(text)} stops being JSON, without quoting it`, async t => {
    t.same(parseJson(Buffer.from(text)), { kind: 'malformed', message: `The body is not valid JSON${problem}` })
  })

for (const [text, key] of [
  ['{"cod": 1, "cod": 2}', ' cod'],
  ['{"cod":1,"a":{"cod":2},"b":[{"cod":3},{"cod":4}],"cod"\n:\t5}', ' cod'],
  ['[{"a": 1}, {"b": {"c": [0, {"d": 1, "e": "{", "d": 1}]}}]', ' d'],
  ['{"cod": 1, "\\u0063od": 2}', ' cod'],
  ['{"__proto__": 1, "__proto__": 2}', ' __proto__'],
  ['{"a": 1, "__proto__": {"x": 1, "x": 1}}', ' x'],
  ['{"": 1, "": 2}', ''],
  ['{"0770000101": 1, "0770000101": 1}', ''],
  ['{"a \\" : b": ":", "a \\" : b": 1}', ''],
  [`{"${'k'.repeat(100)}": 1, "${'k'.repeat(100)}": 1}`, ''],
] as const)
  t.test(`refuses a key that is twice in one object: ${text.slice(0, 60)}`, async t => {
    const message = `The body has the field${key} twice in one object.`
    t.same(parseJson(Buffer.from(text)), { kind: 'malformed', message: key ? message : twiceWithoutName })
  })
const twiceWithoutName = 'The body has a field twice in one object.'

t.test('accepts every key once in its object, whatever its texts hold, however deep', async t => {
  const deep = `${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`
  for (const text of [
    '{"a": 1, "A": 2, "b": {"a": 1}, "c": [{"a": 1}, {"a": 1}], "constructor": 1, "__proto__": {"a": null}}',
    '{"a": "\\"b\\": 1, \\"b\\": 2", "b": "a:b:c", ":": "\\\\", "c": {}}',
    '["a", "a", {}, [], null, 1.5e3, "x:y"]',
    '"a:b"',
    deep,
  ])
    t.match(parseJson(Buffer.from(text)), { kind: 'json' }, text.slice(0, 60))
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
  const readRound = async (body: string): Promise<number> =>
    ((await (await post(body)).json()) as { round: number }).round
  const large = JSON.stringify(['x'.repeat(20_000)])
  // Opens the connections.
  await Promise.all(Array.from({ length: 8 }, () => readRound(large)))
  setImmediate(count)
  t.teardown(() => (isOver = true))
  const rounds = await Promise.all(Array.from({ length: 8 }, () => readRound(large)))
  t.equal(new Set(rounds).size, 8)
  t.equal((await post('['.repeat(20_000))).status, 400)
})
