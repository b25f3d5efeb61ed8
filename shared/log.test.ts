import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { cloneDatabase } from '../dev/test-database.ts'
import { describeError } from './log.ts'

/** Returns the error of Postgres for a wrong statement, run in a database with a table of people. */
const provoke = async (t: Test, text: string, values: unknown[] = []): Promise<pg.DatabaseError> => {
  const { url } = await cloneDatabase(t, 'orders')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`create temporary table people (
      name text constraint people_name_key unique not null,
      age integer constraint people_age_check check (age < 200)
    )`)
    await client.query(`insert into people values ('Nimali Perera', 41)`)
    await client.query(text, values)
    throw new Error('the statement did not fail')
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    return error
  } finally {
    await client.end()
  }
}

/** Returns the line that a logger writes for an error. */
const writeLine = async (err: Error): Promise<string> => {
  const stream = new PassThrough()
  const line = once(stream, 'data')
  pino({ serializers: { err: describeError } }, stream).error({ err }, 'request.failed')
  return String((await line)[0])
}

t.test('a unique violation is logged without the row, with its code, table and constraint', async t => {
  const error = await provoke(t, 'insert into people values ($1, 20)', ['Nimali Perera'])
  t.match(error.detail, /Nimali Perera/, 'Postgres itself names the row')
  const line = await writeLine(error)
  t.notMatch(line, /Nimali|Perera/)
  t.match(JSON.parse(line), {
    msg: 'request.failed',
    err: {
      type: 'DatabaseError',
      code: '23505',
      table: 'people',
      constraint: 'people_name_key',
      message: 'duplicate key value violates unique constraint "people_name_key"',
      stack: /log\.test\.ts/,
    },
  })
})

t.test('a row that fails a check is not logged', async t => {
  const error = await provoke(t, 'insert into people values ($1, 200)', ['Kamal Silva'])
  t.match(error.detail, /Kamal Silva/)
  const line = await writeLine(error)
  t.notMatch(line, /Kamal|Silva/)
  t.match(JSON.parse(line).err, { code: '23514', constraint: 'people_age_check' })
})

t.test('a data exception is logged without the value in its message', async t => {
  const statements = [
    `insert into people values ('a', 'Kamal Silva'::text::integer)`,
    `select 'Kamal Silva'::timestamptz`,
    `select 'Kamal Silva'::uuid`,
  ]
  for (const statement of statements) {
    const error = await provoke(t, statement)
    t.match(error.message, /Kamal/, 'Postgres itself names the value')
    const line = await writeLine(error)
    t.notMatch(line, /Kamal|Silva/)
    t.match(JSON.parse(line).err, {
      type: 'DatabaseError',
      code: /^22/,
      message: 'data exception',
      stack: /log\.test\.ts/,
    })
  }
})

/** Returns the output of a service's logger at the level. */
const runLogger = async (level: string, isForPeople: boolean): Promise<string> => {
  const program = `
    const { createLogger } = await import('${new URL('log.ts', import.meta.url)}')
    const logger = createLogger('orders', '${level}', ${isForPeople})
    logger.child({ request_id: '1' }).info({ status: 200 }, 'request.completed')
    logger.info('batch.booked')`
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])).stdout
}

t.test('a terminal gets readable lines that name the service, and request lines only at debug', async t => {
  const atInfo = await runLogger('info', true)
  t.match(atInfo, /orders: batch\.booked/)
  t.notMatch(atInfo, /request\.completed/)
  t.match(await runLogger('debug', true), /orders: request\.completed[\s\S]*orders: batch\.booked/)
})

t.test('any other output gets JSON, with a line for each request', async t => {
  const lines = (await runLogger('info', false)).trim().split('\n')
  t.match(
    lines.map(line => JSON.parse(line)),
    [
      { level: 30, service: 'orders', request_id: '1', status: 200, msg: 'request.completed' },
      { level: 30, service: 'orders', msg: 'batch.booked' },
    ],
  )
})

t.test('a value that looks like a stack is not logged', async t => {
  const line = await writeLine(await provoke(t, 'select $1::text::integer', ['x\n    at Kamal Silva']))
  t.notMatch(line, /Kamal|Silva/)
})

t.test('the context of a failed function is not logged', async t => {
  const error = await provoke(t, `do $$ begin perform 'Kamal'::text::integer; end $$`)
  t.match(error.where, /PL\/pgSQL/)
  t.notMatch(await writeLine(error), /PL\/pgSQL|Kamal/)
})

t.test('an error of Postgres inside another error is logged without values too', async t => {
  const inner = await provoke(t, 'insert into people values ($1, 20)', ['Nimali Perera'])
  const data = await provoke(t, `select 'Kamal Silva'::text::integer`)
  const outers = [
    new Error('the batch failed', { cause: inner }),
    new Error('the batch failed', { cause: data }),
    new AggregateError([inner, data], 'both failed'),
  ]
  for (const outer of outers) t.notMatch(await writeLine(outer), /Nimali|Perera|Kamal|Silva/)
})

t.test('logs any other error whole', async t => {
  const error = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' })
  t.match(JSON.parse(await writeLine(error)).err, {
    type: 'Error',
    message: 'connect ECONNREFUSED 127.0.0.1:5432',
    code: 'ECONNREFUSED',
    stack: /log\.test\.ts/,
  })
})
