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
