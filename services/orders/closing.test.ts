import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { cloneDatabase } from '../../dev/test-database.ts'

/** Starts the service as a process; resolves when it listens. */
const start = async (t: Test): Promise<{ child: ChildProcess; port: number }> => {
  const { url, ownerUrl } = await cloneDatabase(t, 'orders')
  const environment = {
    ORDERS_DATABASE_URL: url,
    ORDERS_MIGRATE_DATABASE_URL: ownerUrl,
    ORDERS_PORT: '0',
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    SERVICE_TOKEN: 'a-service-token-of-tests',
  }
  const main = join(import.meta.dirname, './main.ts')
  const child = spawn(process.execPath, [main], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /listening at http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
    if (port) return { child, port: Number(port) }
  }
  throw new Error('the service ended before it listened')
}

for (const [what, bytes] of [
  ['that sends nothing', ''],
  ['that sent half a request', 'POST /api/public/merchant/order/bulk HTTP/1.1\r\nhost: x\r\ncontent-le'],
] as const)
  t.test(`a connection ${what} does not hold up the exit of the process`, async t => {
    const { child, port } = await start(t)
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(bytes)
    const signalled = performance.now()
    child.kill('SIGTERM')
    t.same(await once(child, 'exit'), [0, null])
    t.ok(performance.now() - signalled < 9_000)
  })

/** Sends a request; returns the next response on that connection. */
const ask = async (socket: Socket): Promise<string> => {
  socket.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n')
  const [response] = await once(socket, 'data', { signal: AbortSignal.timeout(5_000) })
  return String(response)
}

t.test('a request sent on an idle connection after SIGTERM gets its response', async t => {
  const { child, port } = await start(t)
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  t.match(await ask(socket), /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: keep-alive/i)
  child.kill('SIGTERM')
  while (await isOpen(port)) await new Promise(resolve => setTimeout(resolve, 10))
  t.match(await ask(socket), /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close/i)
  t.same(await once(child, 'exit'), [0, null])
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
