import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { startProxy, type Trouble } from './tcp-proxy.ts'

/** A server that counts the whole calls it got, behind a proxy. */
const start = async (t: Test) => {
  let calls = 0
  const server = createHttpServer(async (request, response) => {
    try {
      for await (const _ of request);
    } catch {
      return
    }
    calls++
    response.end('an answer of some length')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy = await startProxy({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  t.teardown(async () => {
    await proxy.close()
    server.closeAllConnections()
    server.close()
  })
  const call = async (timeout = 10_000): Promise<string> => {
    const signal = AbortSignal.timeout(timeout)
    const answer = await fetch(`http://127.0.0.1:${proxy.port}`, {
      method: 'POST',
      body: 'a call of some length',
      signal,
    })
    return answer.text()
  }
  return { proxy, call, calls: () => calls }
}

for (const [kind, arrives] of [
  ['reset', false],
  ['half_call', false],
  ['lost_answer', true],
  ['half_answer', true],
] as const)
  t.test(`${kind}: the client sees a failure, the call ${arrives ? 'arrives' : 'does not arrive'}`, async t => {
    const { proxy, call, calls } = await start(t)
    proxy.trouble = { kind } as Trouble
    await t.rejects(call())
    t.equal(calls(), Number(arrives))
    proxy.trouble = undefined
    t.equal(await call(), 'an answer of some length')
  })

t.test('a black hole swallows the call and tells nobody', async t => {
  const { proxy, call, calls } = await start(t)
  proxy.trouble = { kind: 'black_hole' }
  await t.rejects(call(300), { name: 'TimeoutError' })
  t.equal(calls(), 0)
})

t.test('latency holds the call back, and the answer', async t => {
  const { proxy, call } = await start(t)
  proxy.trouble = { kind: 'latency', milliseconds: 100 }
  const started = performance.now()
  t.equal(await call(), 'an answer of some length')
  t.ok(performance.now() - started >= 190)
})

t.test('what is cut is refused until it is restored', async t => {
  const { proxy, call } = await start(t)
  t.equal(await call(), 'an answer of some length')
  await proxy.cut()
  await t.rejects(call())
  await proxy.restore()
  t.equal(await call(), 'an answer of some length')
})
