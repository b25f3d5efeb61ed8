import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { buildServer } from '../test/server.ts'
import { readAddress } from './addresses.ts'
import { acceptJson } from './json-body.ts'

/** Starts a server; `seen` has the network of each request, and `log` has the lines of level warn and above. */
const start = async (t: Test, trustedProxies?: string) => {
  const log: string[] = []
  const app = await buildServer(t, {
    logger: pino({ level: 'warn' }, { write: (line: string) => log.push(line) }),
    trustedProxies,
    addressLimits: { requests: 10, refusals: 10 },
    bytesInFlight: { inAll: 1_000, ofAddress: 1_000 },
  })
  const seen: string[] = []
  app.addHook('onRequest', async request => {
    seen.push(readAddress(request))
    // Waits as a request that looks up a token does.
    await delay(20)
  })
  await app.register(async json => {
    acceptJson(json)
    json.post('/', async () => ({}))
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo

  const head = 'POST / HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 192.0.2.7\r\ncontent-type: application/json\r\n'
  /** Sends a request and resets the connection, so that both arrive at once. */
  const sendAndReset = async (isAccepted: boolean): Promise<void> => {
    const accepted = isAccepted ? once(app.server, 'connection') : undefined
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    await Promise.all([once(socket, 'connect'), accepted])
    const count = seen.length
    socket.write(`${head}content-length: 2\r\n\r\n{}`, () => socket.resetAndDestroy())
    for (let tries = 0; seen.length === count && tries < 100; tries++) await delay(5)
  }
  const countBytes = async (): Promise<number> => {
    const { payload } = await app.inject('/metrics')
    return Number(/^body_bytes_in_flight (\d+)$/m.exec(payload)?.[1])
  }
  return { app, log, seen, sendAndReset, countBytes }
}

t.test('a client that resets its connection counts under its address, without a log line', async t => {
  for (const [trustedProxies, address] of [
    [undefined, '127.0.0.1'],
    ['127.0.0.1', '192.0.2.7'],
  ] as const) {
    const { app, log, seen, sendAndReset, countBytes } = await start(t, trustedProxies)
    const request = async (remoteAddress: string) =>
      (await app.inject({ url: '/openapi.json', remoteAddress })).statusCode
    for (let count = 0; count < 10; count++) await sendAndReset(true)
    t.strictSame(new Set(seen), new Set([address]))
    t.equal(await request(address), 429)
    t.equal(await request('192.0.2.1'), 200, 'other addresses are not affected')
    await delay(50)
    t.equal(await countBytes(), 0, 'their bodies are no longer in flight')
    t.strictSame(log, [])
  }
})

t.test('connections reset before they were accepted count as one caller, without a log line', async t => {
  const { log, seen, sendAndReset } = await start(t)
  for (let count = 0; count < 10; count++) await sendAndReset(false)
  t.ok(seen.every(address => address === '' || address === '127.0.0.1'))
  t.strictSame(log, [])
})
