import { createPool } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { onServer } from '../../dev/databases.ts'
import { build } from './test/build.ts'
import { batch, order } from './test/tenant.ts'

/** Builds orders with a pool of one connection. */
const prepare = async (t: Test) => {
  let pool: ReturnType<typeof createPool> | undefined
  const poolOf = async (url: string) => {
    pool = createPool({ url, name: 'one connection', connections: 1 })
    return pool
  }
  const built = await build(t, { poolOf })
  t.teardown(() => pool?.end())
  const book = async () => {
    const { status, body } = await built.bulk(batch([order()]))
    return { status, code: body.code }
  }
  const readReadiness = async () => (await built.app.inject('/health/ready')).statusCode
  const asSuperuser = (text: string) =>
    onServer(built.database.superuserUrl, async client => {
      await client.query('set default_transaction_read_only = off')
      await client.query(text.replace('$name', client.database ?? ''))
    })
  const readMetrics = async () => (await built.app.inject('/metrics')).body
  const endConnections = async () => {
    await asSuperuser(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '$name' and pid <> pg_backend_pid()`,
    )
    while (pool?.totalCount) await new Promise(setImmediate)
  }
  return {
    readMetrics,
    endConnections,
    pool: pool as unknown as ReturnType<typeof createPool>,
    book,
    readReadiness,
    asSuperuser,
  }
}

const unavailable = { status: 503, code: 'unavailable' }
const booked = { status: 200, code: undefined }

t.test('a database that only reads is unavailable, and its connections are given up', async t => {
  const { book, readReadiness, asSuperuser, endConnections } = await prepare(t)
  t.same(await book(), booked)
  t.equal(await readReadiness(), 200)
  await asSuperuser('alter database $name set default_transaction_read_only = on')
  await endConnections()
  t.same(await book(), unavailable)
  t.equal(await readReadiness(), 503)
  await asSuperuser('alter database $name reset default_transaction_read_only')
  t.equal(await readReadiness(), 200)
  t.same(await book(), booked)
})

t.test('a session that a pooler lost is unavailable once, and its connection is given up', async t => {
  const { book, pool } = await prepare(t)
  t.same(await book(), booked)
  const [{ name }] = (await pool.query(`select name from pg_prepared_statements where statement like '%into orders%'`))
    .rows
  for (const lost of ['begin', name]) {
    await pool.query(`deallocate "${lost}"`)
    t.same(await book(), unavailable, `26000: ${lost} is unknown`)
    t.same(await book(), booked)
    await pool.query(`deallocate "${lost}"`)
    await pool.query(`prepare "${lost}" as select $1::integer`)
    t.same(await book(), unavailable, `08P01: ${lost} is another statement`)
    t.same(await book(), booked)
  }
})

t.test('connections that Postgres refuses are counted', async t => {
  const { book, readMetrics, endConnections, asSuperuser } = await prepare(t)
  t.match(await readMetrics(), /^database_connections_refused_total 0$/m)
  await asSuperuser('alter database $name connection limit 0')
  await endConnections()
  t.same(await book(), unavailable)
  t.match(await readMetrics(), /^database_connections_refused_total [1-9]/m)
})
