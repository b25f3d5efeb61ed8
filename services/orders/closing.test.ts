import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { launch } from '../../dev/service-process.ts'
import { cloneDatabase } from '../../dev/test-database.ts'

/** Starts the service as a process; resolves when it listens. */
const start = async (t: Test) => {
  const { url, ownerUrl } = await cloneDatabase(t, 'orders')
  const { child, ended, listening } = launch(t, 'services/orders/main.ts', {
    ORDERS_DATABASE_URL: url,
    ORDERS_MIGRATE_DATABASE_URL: ownerUrl,
    ORDERS_PORT: '0',
    SERVICE_TOKEN: 'a-service-token-of-tests',
  })
  return { child, ended, port: Number(new URL(await listening()).port) }
}

for (const [what, bytes] of [
  ['that sends nothing', ''],
  ['that sent half a request', 'POST /api/public/merchant/order/bulk HTTP/1.1\r\nhost: x\r\ncontent-le'],
] as const)
  t.test(`a connection ${what} does not hold up the exit of the process`, async t => {
    const { child, ended, port } = await start(t)
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(bytes)
    const signalled = performance.now()
    child.kill('SIGTERM')
    t.equal(await ended, 0)
    t.ok(performance.now() - signalled < 9_000)
  })

/** Sends a request; returns the next response on that connection. */
const ask = async (socket: Socket): Promise<string> => {
  socket.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n')
  const [response] = await once(socket, 'data', { signal: AbortSignal.timeout(5_000) })
  return String(response)
}

t.test('a request sent on an idle connection after SIGTERM gets its response', async t => {
  const { child, ended, port } = await start(t)
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  t.match(await ask(socket), /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: keep-alive/i)
  child.kill('SIGTERM')
  while (await isOpen(port)) await new Promise(resolve => setTimeout(resolve, 10))
  t.match(await ask(socket), /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close/i)
  t.equal(await ended, 0)
})

const isOpen = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
