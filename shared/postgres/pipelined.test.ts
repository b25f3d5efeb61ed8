import type pg from 'pg'
import t, { type Test } from 'tap'
import { cloneDatabase } from '../../dev/test-database.ts'
import { createPool } from './database.ts'

/** Lends one connection of its own. */
const connect = async (t: Test): Promise<pg.PoolClient> => {
  const { url } = await cloneDatabase(t, 'orders')
  const pool = createPool({ url, name: 'test', connections: 1 })
  const client = await pool.connect()
  t.teardown(() => {
    client.release()
    return pool.end()
  })
  return client
}

const settle = async (queries: readonly Promise<pg.QueryResult>[]) =>
  (await Promise.allSettled(queries)).map(each => (each.status === 'fulfilled' ? each.value.rows : each.reason.code))

t.test('each statement of a round gets its own rows, in the order sent', async t => {
  const client = await connect(t)
  const numbers = Array.from({ length: 50 }, (_, number) => number)
  const twice = numbers.map(number =>
    client.query({ name: `n${number % 3}`, text: `select $1::int as n${number % 3}`, values: [number] }),
  )
  t.strictSame(
    (await Promise.all(twice)).map(({ rows }) => rows[0]),
    numbers.map(number => ({ [`n${number % 3}`]: number })),
  )
})

t.test('results say what pg says: rows, their number and the command', async t => {
  const client = await connect(t)
  const create = 'create temp table things (id int, name text, at timestamptz, data jsonb, flags text[])'
  t.match(await client.query(create), { command: 'CREATE', rowCount: null, rows: [] })
  const insert = { name: 'insert', text: 'insert into things select generate_series(1, $1::int)', values: [3] }
  const ask = async () => {
    const [inserted, selected, none] = await Promise.all([
      client.query(insert),
      client.query('select id, name, at, data, flags from things where id = $1', [2]),
      client.query({ name: 'none', text: 'select id from things where id = $1', values: [99] }),
    ])
    return [inserted, selected, none].map(({ command, rowCount, rows }) => ({ command, rowCount, rows }))
  }
  const row = { id: 2, name: null, at: null, data: null, flags: null }
  const expected = (rows: object[]) => [
    { command: 'INSERT', rowCount: 3, rows: [] },
    { command: 'SELECT', rowCount: rows.length, rows },
    { command: 'SELECT', rowCount: 0, rows: [] },
  ]
  t.strictSame(await ask(), expected([row]))
  t.strictSame(await ask(), expected([row, row]), 'also when the statements are prepared')
  const values = [new Date(0), { a: [1] }, ['x', 'a"b', null], Buffer.from('b')]
  const typed =
    'select $1::timestamptz as at, $2::jsonb as data, $3::text[] as flags, $4::bytea as bytes, 1::int8 as long'
  const { rows } = await client.query(typed, values)
  t.strictSame(rows, [{ at: values[0], data: values[1], flags: values[2], bytes: values[3], long: '1' }])
})

t.test('outside a transaction, the statements of a round succeed or fail together', async t => {
  const client = await connect(t)
  const divide = (by: number) => client.query({ name: 'divide', text: 'select 1 / $1::int as result', values: [by] })
  const one = () => client.query({ name: 'one', text: 'select 1 as one' })
  t.strictSame(await settle([divide(1), divide(0), one()]), ['22012', '22012', '22012'])
  t.strictSame(await settle([one(), divide(1)]), [[{ one: 1 }], [{ result: 1 }]], 'the connection goes on')
})

t.test('a statement that could not be prepared may be tried again under its name', async t => {
  const client = await connect(t)
  const read = () => client.query({ name: 'read', text: 'select name from later' })
  t.strictSame(await settle([read(), read()]), ['42P01', '42P01'])
  await client.query(`create temp table later as select 'here' as name`)
  t.strictSame(await settle([read(), read()]), [[{ name: 'here' }], [{ name: 'here' }]])
  // Postgres refuses to run a prepared statement whose columns changed.
  await client.query(`alter table later alter name type varchar(9)`)
  t.strictSame(await settle([read()]), ['0A000'])
  t.strictSame(await settle([read()]), [[{ name: 'here' }]])
})

t.test('in a transaction, a statement that fails leaves the rollback', async t => {
  const client = await connect(t)
  const failing = [client.query('begin'), client.query('select 1 / 0'), client.query('commit')]
  t.strictSame(await settle(failing), ['22012', '22012', '22012'])
  t.strictSame(await settle([client.query('select 1')]), ['25P02'])
  t.equal((await client.query('rollback')).command, 'ROLLBACK')
  t.strictSame(await settle([client.query('select 1 as one')]), [[{ one: 1 }]])
})

t.test('a commit that ended is not undone by a statement after it', async t => {
  const client = await connect(t)
  await client.query('create temp table kept (id int)')
  const texts = ['begin', 'insert into kept values (1)', 'commit', 'select 1 / 0']
  t.strictSame(await settle(texts.map(text => client.query(text))), [[], [], [], '22012'])
  t.strictSame((await client.query('select id from kept')).rows, [{ id: 1 }])
})

t.test('a statement that fails when the round ends rejects', async t => {
  const client = await connect(t)
  await client.query('create temp table once (id int unique deferrable initially deferred)')
  const insert = () => client.query('insert into once values ($1)', [1])
  t.strictSame(await settle([insert(), insert()]), ['23505', '23505'])
  t.strictSame((await client.query('select id from once')).rows, [])
})

t.test('two statements may not have one name', async t => {
  const client = await connect(t)
  await client.query({ name: 'same', text: 'select 1 as one' })
  await t.rejects(client.query({ name: 'same', text: 'select 2 as two' }), /two statements have the name same/)
})

t.test('two statements of a round may not have one name, and the first runs', async t => {
  const client = await connect(t)
  const first = client.query({ name: 'same', text: 'select 1 as one' })
  await t.rejects(client.query({ name: 'same', text: 'select 2 as two' }), /two statements have the name same/)
  t.strictSame((await first).rows, [{ one: 1 }])
  const failing = [client.query('select 1 / 0'), client.query({ name: 'later', text: 'select 3 as three' })]
  await Promise.allSettled(failing)
  const { rows } = await client.query({ name: 'later', text: 'select 4 as four' })
  t.strictSame(rows, [{ four: 4 }], 'a name that was not prepared is free')
})

t.test('a value that cannot be sent rejects only its own statement', async t => {
  const client = await connect(t)
  const circular: { self?: unknown } = {}
  circular.self = circular
  const [bad, good] = await Promise.allSettled([
    client.query('select $1::jsonb', [circular]),
    client.query('select $1::int as one', [1]),
  ])
  t.match(bad, { status: 'rejected', reason: /circular/i })
  t.match(good, { status: 'fulfilled', value: { rows: [{ one: 1 }] } })
})

t.test('a text of several statements runs in its turn', async t => {
  const client = await connect(t)
  const texts = ['create temp table steps (n int)', 'insert into steps values (1); insert into steps values (2)']
  const queries = [...texts, 'select n from steps'].map(text => client.query(text))
  t.strictSame((await Promise.all(queries)).at(-1)?.rows, [{ n: 1 }, { n: 2 }])
  t.strictSame((await client.query(`select ';' as mark`)).rows, [{ mark: ';' }])
})

t.test('a statement without a response in time ends the connection and all its statements', async t => {
  const client = await connect(t)
  client.on('error', () => {})
  const slow = { text: 'select pg_sleep(9)', query_timeout: 100 } as pg.QueryConfig
  const [first, second] = await Promise.allSettled([client.query(slow), client.query('select 1')])
  for (const each of [first, second]) t.match(each, { status: 'rejected', reason: /read timeout/i })
  await t.rejects(client.query('select 1'), /not queryable|connection/i)
})
