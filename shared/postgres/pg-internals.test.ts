// After an update of pg or pg-pool, a test that fails here names the member of pg-internals.ts that changed. Then look
// at the files that import it.
import { once } from 'node:events'
import { Socket } from 'node:net'
import pg from 'pg'
import t, { type Test } from 'tap'
import { cloneDatabase } from '../../dev/test-database.ts'
import {
  type Connected,
  type Connection,
  findProcessId,
  findStream,
  listConnecting,
  listIdle,
  pipelinedBy,
  prepareValue,
  Query,
  removePending,
} from './pg-internals.ts'

const open = async (t: Test, options: pg.PoolConfig = {}): Promise<pg.Pool> => {
  const { url } = await cloneDatabase(t, 'orders')
  const pool = new pg.Pool({ connectionString: url, max: 1, ...options })
  pool.on('error', () => {})
  t.teardown(() => pool.end())
  return pool
}

t.test('Client.connection.stream is the socket, which counts what arrives and ends the connection', async t => {
  const pool = await open(t)
  const client = await pool.connect()
  client.on('error', () => {})
  const stream = findStream(client)
  t.ok(stream instanceof Socket)
  const before = stream.bytesRead
  await client.query('select 1')
  t.ok(stream.bytesRead > before)
  stream.destroy(new Error('ended here'))
  await t.rejects(client.query('select 1'), /ended here|not queryable/)
  client.release(true)
})

t.test('Client.processID is the process of the connection', async t => {
  const pool = await open(t)
  const client = await pool.connect()
  const { rows } = await client.query('select pg_backend_pid() as pid')
  t.equal(findProcessId(client), rows[0].pid)
  client.release()
})

t.test('Pool._clients and Client._connecting show the connections during their handshake', async t => {
  const pool = await open(t)
  const opening = pool.connect()
  const connecting = listConnecting(pool)
  t.equal(connecting.length, 1)
  const client = await opening
  t.equal(connecting[0], client)
  t.same(listConnecting(pool), [])
  client.release()
})

t.test('Pool._idle holds the connections that nobody uses', async t => {
  const pool = await open(t)
  const client = await pool.connect()
  t.same(listIdle(pool), [])
  client.release()
  const [idle] = listIdle(pool)
  t.ok(idle === client)
})

t.test('Pool._pendingQueue holds the callbacks of those who wait; one that is removed gets no connection', async t => {
  const pool = await open(t)
  const client = await pool.connect()
  const served: string[] = []
  const waitAs =
    (name: string): Connected =>
    (...[, , release]) => {
      served.push(name)
      release?.()
    }
  const [first, second] = [waitAs('first'), waitAs('second')]
  pool.connect(first)
  pool.connect(second)
  t.equal(removePending(pool, first), true)
  t.equal(removePending(pool, first), false)
  const acquired = once(pool, 'acquire')
  client.release()
  await acquired
  t.same(served, ['second'])
})

t.test('`pipeline` and `Client` send queries of a class before earlier ones have a response', async t => {
  class Counting extends pg.Client {}
  const pool = await open(t, pipelinedBy(Counting))
  const client = await pool.connect()
  t.ok(client instanceof Counting)
  const stream = findStream(client)
  const read = stream.bytesRead
  const written = stream.bytesWritten
  const queries = [client.query('select 1'), client.query('select 2')]
  t.equal(stream.bytesRead, read)
  t.ok(stream.bytesWritten - written >= 2 * 'Qlong'.length + 'select 1select 2'.length)
  t.equal((await Promise.all(queries)).length, 2)
  client.release()
})

t.test('no warning says that pg will end its queue', async t => {
  const warnings: string[] = []
  const note = ({ message }: Error) => warnings.push(message)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const pool = await open(t, pipelinedBy(pg.Client))
  const client = await pool.connect()
  await Promise.all([1, 2, 3].map(number => client.query('select $1::int', [number])))
  client.release()
  t.same(warnings, [])
})

/** Sends `select 7` as a simple query and notes what pg calls. */
class Noted extends Query {
  readonly calls: string[] = []
  query_timeout: number | undefined
  readonly text: string

  constructor(text: string, done: (error: Error | null) => void) {
    super('noted', undefined, done)
    this.text = text
  }
  submit(connection: Connection): null {
    const body = Buffer.from(`${this.text}\0`)
    const head = Buffer.from('Q\0\0\0\0')
    head.writeInt32BE(body.length + 4, 1)
    connection._send(Buffer.concat([head, body]))
    return null
  }
  handleRowDescription({ fields }: { fields: readonly pg.FieldDef[] }) {
    this.calls.push(`${fields[0]?.name} ${fields[0]?.dataTypeID}`)
  }
  handleDataRow({ fields }: { fields: readonly (string | null)[] }) {
    this.calls.push(`row ${fields[0]}`)
  }
  handleCommandComplete({ text }: { text: string }) {
    this.calls.push(text)
  }
  handleEmptyQuery() {
    this.calls.push('empty')
  }
  handleReadyForQuery() {
    this.calls.push('ready')
    this.callback(null)
  }
  handleError(error: Error) {
    this.callback(error)
  }
}

const send = async (client: pg.PoolClient, text: string, limit?: number) => {
  const { promise, resolve } = Promise.withResolvers<Error | null>()
  const noted = new Noted(text, resolve)
  noted.query_timeout = limit
  client.query(noted as unknown as string)
  return { error: await promise, calls: noted.calls }
}

t.test('Connection._send writes bytes, and pg calls the methods of a subclass of Query with what comes', async t => {
  const pool = await open(t, pipelinedBy(pg.Client))
  const client = await pool.connect()
  t.same(await send(client, 'select 7 as seven'), { error: null, calls: ['seven 23', 'row 7', 'SELECT 1', 'ready'] })
  t.same((await send(client, '')).calls, ['empty', 'ready'])
  t.match((await send(client, 'select 1 / 0')).error, { code: '22012' })
  client.release()
})

t.test('query_timeout of a query calls its callback with an error and ends the connection', async t => {
  const pool = await open(t, pipelinedBy(pg.Client))
  const client = await pool.connect()
  client.on('error', () => {})
  t.match((await send(client, 'select pg_sleep(9)', 50)).error, /query read timeout/i)
  t.equal(findStream(client).destroyed, true)
  client.release(true)
})

t.test('utils.prepareValue writes values as Postgres reads them', async t => {
  t.equal(prepareValue({ a: [1] }), '{"a":[1]}')
  t.equal(prepareValue(['x', 'a"b', null]), '{"x","a\\"b",NULL}')
  t.equal(prepareValue(undefined), null)
  t.match(prepareValue(new Date(0)), /^(1970|1969)-/)
})
