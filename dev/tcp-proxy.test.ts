import { createServer as createHttpServer } from 'node:http'
import t, { type Test } from 'tap'
import { findFreePort, listen } from './ports.ts'
import { startProxy, type Trouble } from './tcp-proxy.ts'

/** Starts a server that counts the complete requests it receives, behind a proxy whose first target is down. */
const start = async (t: Test) => {
  let requests = 0
  const server = createHttpServer(async (request, response) => {
    try {
      for await (const _ of request);
    } catch {
      return
    }
    requests++
    response.end('a response of some length')
  })
  const proxy = await startProxy(
    { port: await findFreePort(), host: '127.0.0.1' },
    { port: await listen(server), host: '127.0.0.1' },
  )
  t.teardown(async () => {
    await proxy.close()
    server.closeAllConnections()
    server.close()
  })
  const request = async (): Promise<string> => {
    const init = { method: 'POST', body: 'a request of some length' }
    return (await fetch(`http://127.0.0.1:${proxy.port}`, init)).text()
  }
  return { proxy, request, requests: () => requests }
}

for (const [kind, arrives] of [
  ['reset', false],
  ['half_request', false],
  ['lost_response', true],
  ['half_response', true],
] as const)
  t.test(`${kind}: the client sees a failure, and the request ${arrives ? 'arrives' : 'does not arrive'}`, async t => {
    const { proxy, request, requests } = await start(t)
    proxy.trouble = { kind } as Trouble
    await t.rejects(request())
    t.equal(requests(), Number(arrives))
    proxy.trouble = undefined
    t.equal(await request(), 'a response of some length')
  })

t.test('connections are refused from cut to restore', async t => {
  const { proxy, request } = await start(t)
  t.equal(await request(), 'a response of some length')
  await proxy.cut()
  await t.rejects(request())
  await proxy.restore()
  t.equal(await request(), 'a response of some length')
})

t.test('slow: everything arrives, delayed in both directions', async t => {
  const { proxy, request } = await start(t)
  proxy.trouble = { kind: 'slow', milliseconds: 50 }
  const started = performance.now()
  t.equal(await request(), 'a response of some length')
  t.ok(performance.now() - started >= 99)
})
