import { readdirSync } from 'node:fs'
import { cp, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { cloneDatabase, connectTo, createEmptyDatabase, makeFolder } from '../../dev/test-database.ts'
import type { Tables, Tx } from '../../services/orders/core/database/tables.ts'
import { build } from '../../services/orders/test/build.ts'
import { tenantFile } from '../../services/orders/test/tenant.ts'
import {
  bypassesRowSecurity,
  createPool,
  inSnapshot,
  inTenant,
  isUnavailable,
  readInTenant,
  withErrorListeners,
} from './database.ts'
import { migrate } from './migrate.ts'
import { PipelinedClient } from './pipelined.ts'

const migrations = fileURLToPath(new URL('../../services/orders/core/database/migrations', import.meta.url))

/** Builds two tenants with the same cities and states, and a pool of `connections` connections. */
const buildTwo = async (t: Test, connections: number) => {
  const { apply, database, rows } = await build(t)
  await apply(tenantFile({ id: 'other' }))
  const pool = createPool({ url: database.url, name: 'two tenants', connections })
  t.teardown(() => pool.end())
  return { pool, role: readUser(database.url), rows }
}

const readUser = (address: string): string => new URL(address).username

const addState = (tx: Tx, id: number) =>
  sql`insert into states (tenant_id, state_id, name, is_active) values ('demo', ${id}, ${`State ${id}`}, true)`.execute(
    tx,
  )

const countStates = `select count(*)::integer as states from states`

t.test('commits the writes of an action and returns its result', async t => {
  const { pool, rows } = await buildTwo(t, 1)
  const result = await inTenant(pool, 'demo', async (tx: Tx) => {
    await addState(tx, 90)
    return 'written'
  })
  t.equal(result, 'written')
  t.strictSame(await rows(`select tenant_id, name from states where state_id = 90`), [
    { tenant_id: 'demo', name: 'State 90' },
  ])
})

/** Counts its writes to the operating system. */
class CountingSocket extends Socket {
  writes = 0

  override _write(...args: Parameters<Socket['_write']>): void {
    this.writes++
    super._write(...args)
  }

  override _writev(...args: Parameters<NonNullable<Socket['_writev']>>): void {
    this.writes++
    super._writev?.(...args)
  }
}

t.test('a transaction begins in the same write as its first query; a whole read is one write', async t => {
  const { url } = await cloneDatabase(t, 'orders')
  const socket = new CountingSocket()
  const options = { connectionString: url, max: 1, pipeline: true, Client: PipelinedClient, stream: () => socket }
  const pool = withErrorListeners(new pg.Pool(options), () => {})
  t.teardown(() => pool.end())
  await pool.query('select 1')
  const countWrites = async (action: () => Promise<unknown>): Promise<number> => {
    const before = socket.writes
    await action()
    return socket.writes - before
  }
  const query = (tx: Tx) => tx.client.query('select $1::integer as one', [1])
  t.equal(await countWrites(() => inTenant(pool, 'demo', query)), 2, 'the second write is the commit')
  t.equal(await countWrites(() => inTenant(pool, 'demo', (tx: Tx) => sql`select 1`.execute(tx))), 2, 'through Kysely')
  t.equal(await countWrites(() => readInTenant(pool, 'demo', { text: 'select $1::integer', values: [1] })), 1)
})

t.test('when a transaction cannot begin, its connection ends and no statement runs outside it', async t => {
  const { pool, rows } = await buildTwo(t, 1)
  const client = await pool.connect()
  const { pid } = (await client.query('select pg_backend_pid() as pid')).rows[0]
  client.release()
  const write = inSnapshot<Tables, unknown>(pool, 'demo', Number.NaN, async tx => {
    await delay(50)
    return tx.client.query('create temp table outside (id int)')
  })
  await t.rejects(write)
  t.strictSame(await rows('select pid from pg_stat_activity where pid = $1', [pid]), [])
  t.equal(await inTenant(pool, 'demo', async (tx: Tx) => (await tx.client.query(countStates)).rows[0].states), 3)
})

t.test('a statement that is planned once is never planned for its values', async t => {
  const { pool } = await buildTwo(t, 1)
  const text = 'select * from unnest($1::text[]) as name join states using (name) where tenant_id = $2'
  const query = (name: string) => (tx: Tx) => tx.client.query({ name, text, values: [['Colombo'], 'demo'] })
  for (let times = 0; times < 3; times++) {
    await inTenant(pool, 'demo', query('once'), { isPlannedOnce: true })
    await inTenant(pool, 'demo', query('as_it_likes'))
  }
  const plans = await inTenant(pool, 'demo', (tx: Tx) =>
    tx.client.query(
      `select name, custom_plans::integer from pg_prepared_statements where name in ('once', 'as_it_likes')
        order by name`,
    ),
  )
  t.strictSame(plans.rows, [
    { name: 'as_it_likes', custom_plans: 3 },
    { name: 'once', custom_plans: 0 },
  ])
})

t.test('commits nothing when the action throws or `keeps` returns false', async t => {
  const { pool, rows } = await buildTwo(t, 1)
  const failure = new Error('the action failed')
  const throws = inTenant(pool, 'demo', async (tx: Tx) => {
    await addState(tx, 90)
    throw failure
  })
  await t.rejects(throws, failure)
  const asked: unknown[] = []
  const result = await inTenant(
    pool,
    'demo',
    async (tx: Tx) => {
      await addState(tx, 91)
      return 'tried'
    },
    {
      keeps: given => {
        asked.push(given)
        return false
      },
    },
  )
  t.equal(result, 'tried')
  t.strictSame(asked, ['tried'])
  t.strictSame(await rows(`select state_id from states where state_id in (90, 91)`), [])
})

t.test('a failed statement whose error the action swallows still fails the transaction', async t => {
  const { pool, rows } = await buildTwo(t, 1)
  const swallows = inTenant(pool, 'demo', async (tx: Tx) => {
    await addState(tx, 90)
    await addState(tx, 90).catch(() => {})
    return 'written'
  })
  await t.rejects(swallows, 'Postgres rolled back instead of committing')
  t.strictSame(await rows(`select state_id from states where state_id = 90`), [])
})

t.test('a commit that Postgres refuses rejects with its reason, not with CommitInDoubt', async t => {
  const { pool, rows } = await buildTwo(t, 1)
  await rows(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`)
  await rows(`create constraint trigger refuse after insert on states deferrable initially deferred
    for each row execute function refuse()`)
  await t.rejects(
    inTenant(pool, 'demo', (tx: Tx) => addState(tx, 90)),
    { code: 'P0001' },
  )
  t.strictSame(await rows(`select state_id from states where state_id = 90`), [])
  t.strictSame([pool.idleCount, pool.totalCount], [1, 1], 'the connection is kept')
})

t.test('a query without a tenant in it sees and changes only the rows of its own tenant', async t => {
  const { pool, rows } = await buildTwo(t, 2)
  const seen = await inTenant(pool, 'other', async (tx: Tx) => {
    await sql`update cities set name = 'Renamed'`.execute(tx)
    const { rows } = await sql<{ tenant_id: string }>`select distinct tenant_id from cities`.execute(tx)
    return rows
  })
  t.strictSame(seen, [{ tenant_id: 'other' }])
  const renamed = await rows(`select tenant_id, count(*)::integer from cities where name = 'Renamed' group by 1`)
  t.strictSame(renamed, [{ tenant_id: 'other', count: 5 }])
})

t.test('a row of another tenant cannot be written', async t => {
  const { pool, rows } = await buildTwo(t, 1)
  await t.rejects(
    inTenant(pool, 'other', (tx: Tx) => addState(tx, 90)),
    { code: '42501' },
  )
  const moveState = (tx: Tx) => sql`update states set tenant_id = 'demo' where state_id = 3`.execute(tx)
  await t.rejects(inTenant(pool, 'other', moveState), { code: '42501' })
  t.strictSame(await rows(`select count(*)::integer as rows from states where tenant_id = 'demo'`), [{ rows: 3 }])
})

t.test('every tenant sees the list of tenants, and changes only its own row', async t => {
  const { pool, rows } = await buildTwo(t, 1)
  const list = `select tenant_id, name from tenants order by tenant_id`
  const rename = `update tenants set name = 'Renamed'`
  t.equal((await pool.query(list)).rowCount, 2)
  t.equal((await pool.query(rename)).rowCount, 0)
  t.equal(await inTenant(pool, 'other', async (tx: Tx) => (await tx.client.query(rename)).rowCount), 1)
  t.strictSame(await rows(list), [
    { tenant_id: 'demo', name: 'Demo Couriers' },
    { tenant_id: 'other', name: 'Renamed' },
  ])
})

t.test('no rows are visible without a tenant, even on a connection that had one', async t => {
  const { pool } = await buildTwo(t, 1)
  t.strictSame((await pool.query(countStates)).rows, [{ states: 0 }])
  await inTenant(pool, 'demo', async (tx: Tx) => {
    t.strictSame((await tx.client.query(countStates)).rows, [{ states: 3 }])
  })
  t.strictSame((await pool.query(`select current_setting('app.tenant', true) as tenant`)).rows, [{ tenant: '' }])
  t.strictSame((await pool.query(countStates)).rows, [{ states: 0 }])
  await inTenant(pool, '', async (tx: Tx) => t.strictSame((await tx.client.query(countStates)).rows, [{ states: 0 }]))
  t.equal(pool.totalCount, 1, 'all of it went over one connection')
})

t.test('a tenant’s name is never run as SQL', async t => {
  const { pool, rows } = await buildTwo(t, 1)
  for (const tenant of [`x', true); delete from states; --`, `\\' or true --`, '$1', '"demo"', 'dem\u00f6'])
    await inTenant(pool, tenant, async (tx: Tx) => {
      const setting = await tx.client.query(`select current_setting('app.tenant') as tenant`)
      t.strictSame(setting.rows, [{ tenant }])
      t.strictSame((await tx.client.query(countStates)).rows, [{ states: 0 }])
    })
  t.strictSame(await rows(countStates), [{ states: 6 }])
})

t.test('errors in a transaction leave the pool usable', async t => {
  const { pool } = await buildTwo(t, 2)
  const failing = (index: number) =>
    inTenant(pool, 'demo', async (tx: Tx) => {
      if (index % 3 === 0) throw new Error('ours')
      if (index % 3 === 1) return sql`select 1 / 0`.execute(tx)
      return Promise.all([sql`select broken`.execute(tx), sql`select 1`.execute(tx)])
    })
  const results = await Promise.allSettled(Array.from({ length: 30 }, (_, index) => failing(index)))
  t.strictSame([...new Set(results.map(result => result.status))], ['rejected'])
  t.strictSame([pool.idleCount, pool.waitingCount], [pool.totalCount, 0])
  const counts = Array.from({ length: 4 }, () =>
    inTenant(pool, 'demo', async (tx: Tx) => (await tx.client.query(countStates)).rows[0].states),
  )
  t.strictSame(await Promise.all(counts), [3, 3, 3, 3])
})

t.test('a read sees only its own tenant, cannot write, and leaves the pool usable when it fails', async t => {
  const { pool, rows } = await buildTwo(t, 1)
  const read = (text: string, values: unknown[] = []) => readInTenant(pool, 'demo', { text, values })
  t.strictSame(await read('select distinct tenant_id from states'), [{ tenant_id: 'demo' }])
  await t.rejects(read('select 1 / $1::integer as none', [0]), { code: '22012' })
  await t.rejects(read(`update states set name = 'x'`), { code: '25006' })
  t.strictSame(await read('select 1 as one'), [{ one: 1 }])
  t.strictSame((await pool.query('select state_id from states')).rows, [], 'the tenant is set only in the transaction')
  t.strictSame(await rows(`select name from states where name = 'x'`), [])
})

t.test(
  'transactions of one tenant that wait for each other leave connections to others',
  { timeout: 60_000 },
  async t => {
    const { pool } = await buildTwo(t, 5)
    let waiting = 0
    const release = Promise.withResolvers<void>()
    const held = Array.from({ length: 20 }, () =>
      inTenant(pool, 'demo', async (tx: Tx) => {
        await sql`select 1`.execute(tx)
        waiting++
        await release.promise
      }),
    )
    while (waiting < 4) await delay(10)
    const [row] = await readInTenant<{ states: number }>(pool, 'other', { text: countStates })
    t.ok(row?.states)
    t.equal(waiting, 4, 'one of five connections is left')
    const ended = await inTenant(pool, 'other', async () => 'committed')
    t.equal(ended, 'committed')
    release.resolve()
    await Promise.all(held)
    t.equal(waiting, 20)
  },
)

t.test(
  'a tenant that holds its share for too long is refused as if the pool were full',
  { timeout: 60_000 },
  async t => {
    const { pool } = await buildTwo(t, 5)
    const release = Promise.withResolvers<void>()
    const held = Array.from({ length: 4 }, () => inTenant(pool, 'demo', () => release.promise))
    const error = await inTenant(pool, 'demo', async () => {}).catch(error => error)
    t.ok(isUnavailable(error), String(error))
    release.resolve()
    await Promise.all(held)
    t.equal(await inTenant(pool, 'demo', async () => 'again'), 'again')
  },
)

t.test('a connection that dies inside a transaction is replaced', async t => {
  const { pool, rows } = await buildTwo(t, 1)
  const dies = inTenant(pool, 'demo', async (tx: Tx) => {
    const { pid } = (await tx.client.query('select pg_backend_pid() as pid')).rows[0]
    await rows('select pg_terminate_backend($1)', [pid])
    await sql`select 1`.execute(tx)
  })
  const error = await dies.catch(error => error)
  t.equal(isUnavailable(error), true, String(error))
  t.equal(await inTenant(pool, 'demo', async (tx: Tx) => (await tx.client.query(countStates)).rows[0].states), 3)
})

t.test('the role of the service owns no tables, bypasses no policy and sees no table without one', async t => {
  const { pool, role, rows } = await buildTwo(t, 1)
  t.equal(await bypassesRowSecurity(pool), false)
  t.strictSame(await rows(`select 1 from pg_class where relowner = $1::regrole`, [role]), [])
  t.strictSame(await rows(`select 1 from pg_auth_members where member = $1::regrole`, [role]), [])
  const reached = `select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
    and has_table_privilege($1, oid, 'select, insert, update, delete')`
  t.ok((await rows(reached, [role])).length >= 14)
  const open = await rows(`${reached} and not (relrowsecurity and relforcerowsecurity)`, [role])
  t.strictSame(open, [])
  await t.rejects(pool.query('create table mine (id integer)'), { code: '42501' })
  await t.rejects(pool.query('alter table states disable row level security'), { code: '42501' })
})

t.test('a superuser is recognised as bypassing row-level security', async t => {
  const pool = createPool({ url: process.env.TEST_POSTGRES_URL ?? '', name: 'superuser', connections: 1 })
  t.teardown(() => pool.end())
  t.equal(await bypassesRowSecurity(pool), true)
})

t.test('migrating again changes nothing', async t => {
  const { url, ownerUrl } = await cloneDatabase(t, 'orders')
  t.strictSame(await migrate(ownerUrl, migrations, readUser(url)), [])
})

t.test(
  'a database that a later version has migrated stays as it is; an unknown earlier migration is refused',
  async t => {
    const { url, ownerUrl } = await cloneDatabase(t, 'orders')
    const owner = await connectTo(t, ownerUrl)
    await owner.query(`insert into kysely_migration values ('9999-of-a-later-version', now()::text)`)
    t.strictSame(await migrate(ownerUrl, migrations, readUser(url)), [])
    await owner.query(`update kysely_migration set name = '0001-of-another' where name like '9999%'`)
    await t.rejects(migrate(ownerUrl, migrations, readUser(url)), { message: /0001-of-another is missing/ })
  },
)

t.test('processes that migrate an empty database at the same time apply each file once, and all succeed', async t => {
  const { url, ownerUrl } = await createEmptyDatabase(t, 'orders')
  const results = await Promise.all(Array.from({ length: 4 }, () => migrate(ownerUrl, migrations, readUser(url))))
  const files = readdirSync(migrations).map(file => file.replace('.sql', ''))
  t.strictSame(results.flat().toSorted(), files.toSorted())
  const pool = createPool({ url: ownerUrl, name: 'check', connections: 1 })
  t.teardown(() => pool.end())
  await inTenant<Tables, void>(pool, 'demo', async tx => {
    t.strictSame(await tx.rows('select * from orders'), [])
  })
})

t.test('a baseline lists the files it replaces; it is skipped after its release and refused before', async t => {
  const { url, ownerUrl } = await createEmptyDatabase(t, 'orders')
  const role = readUser(url)
  const folder = makeFolder(t)
  const text = '-- Replaces the migrations of 0.1.0: 0001-one\n-- 0002-two\n\ncreate table twos (id integer);\n'
  await writeFile(join(folder, '0002-release-0.1.0.sql'), text)
  await writeFile(join(folder, '0003-three.sql'), 'create table threes (id integer);\n')
  const owner = await connectTo(t, ownerUrl)
  t.strictSame(await migrate(ownerUrl, folder, role), ['0002-release-0.1.0', '0003-three'])
  const listed = (await owner.query('select name from kysely_migration order by name')).rows.map(({ name }) => name)
  t.strictSame(listed, ['0001-one', '0002-two', '0003-three'])
  await owner.query(`drop table threes; delete from kysely_migration where name = '0003-three'`)
  t.strictSame(await migrate(ownerUrl, folder, role), ['0003-three'])
  await owner.query(`drop table threes; delete from kysely_migration where name <> '0001-one'`)
  await t.rejects(migrate(ownerUrl, folder, role), { message: /older than 0\.1\.0: upgrade it to 0\.1\.0 first/ })
})

t.test('a migration waits for a table in use without blocking its users', async t => {
  const { url, ownerUrl } = await cloneDatabase(t, 'orders')
  const folder = makeFolder(t)
  await cp(migrations, folder, { recursive: true })
  await writeFile(join(folder, '9999-column.sql'), 'alter table log add column novelty text;')
  const [reader, owner] = [await connectTo(t, url), await connectTo(t, ownerUrl)]
  await reader.query('begin; select from log')
  const migrating = migrate(ownerUrl, folder, readUser(url))
  const waiting = `select from pg_locks where relation = 'log'::regclass and not granted`
  while (((await owner.query(waiting)).rowCount ?? 0) === 0);
  const started = performance.now()
  await owner.query('select from log')
  t.ok(performance.now() - started < 3_000, 'others read it soon')
  await reader.query('rollback')
  t.strictSame(await migrating, ['9999-column'])
})

t.test('transient errors count as unavailable', async t => {
  const coded = (code: string) => Object.assign(new Error('failed'), { code })
  const passing = ['08006', '57P01', '57P02', '57P03', '53300', '57014', '55P03', '25P03', 'ECONNREFUSED', 'ECONNRESET']
  for (const code of [...passing, 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH'])
    t.equal(isUnavailable(coded(code)), true, code)
  for (const code of ['23505', '22P02', '42P01', '28P01', '40P01', 'ENOENT', '108006', 'EPIPES'])
    t.equal(isUnavailable(coded(code)), false, code)
  t.equal(isUnavailable(new Error('timeout exceeded when trying to connect')), true)
  t.equal(isUnavailable(new Error('Connection terminated unexpectedly')), true)
  t.equal(isUnavailable(new Error('Query read timeout')), true)
  t.equal(isUnavailable(new AggregateError([new Error('no'), coded('ECONNREFUSED')])), true)
  for (const value of [new Error('a bug'), new AggregateError([new Error('no')]), 'ECONNREFUSED', null, undefined])
    t.equal(isUnavailable(value), false, String(value))
})

t.test('real failures of Postgres are classified', async t => {
  const refused = createPool({ url: 'postgres://orders:courier@127.0.0.1:1/orders', name: 'refused', connections: 1 })
  t.teardown(() => refused.end())
  t.equal(isUnavailable(await refused.query('select 1').catch(error => error)), true)
  const { url } = await cloneDatabase(t, 'orders')
  const pool = createPool({ url, name: 'real', connections: 1 })
  t.teardown(() => pool.end())
  t.equal(isUnavailable(await pool.query('select nothing').catch(error => error)), false)
  const slow: pg.QueryConfig & { query_timeout: number } = { text: 'select pg_sleep(0.5)', query_timeout: 50 }
  t.equal(isUnavailable(await pool.query(slow).catch(error => error)), true)
  await pool.query(`set statement_timeout = '50ms'`)
  t.equal(isUnavailable(await pool.query('select pg_sleep(1)').catch(error => error)), true)
})

t.test('a pool may allow statements more time than requests get', async t => {
  const measureTimes = async (more: { statementSeconds?: number }) => {
    const pool = createPool({ url: process.env.TEST_POSTGRES_URL ?? '', name: 'times', connections: 1, ...more })
    const { rows } = await pool.query(`select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`)
    const slow = await pool.query('select pg_sleep(0.3)').catch(error => error.code)
    await pool.end()
    return [rows[0].statement, rows[0].idle, typeof slow === 'string' ? slow : 'done']
  }
  t.strictSame(await measureTimes({}), ['4s', '5s', 'done'])
  t.strictSame(await measureTimes({ statementSeconds: 600 }), ['10min', '10min', 'done'])
  t.strictSame(await measureTimes({ statementSeconds: 0.1 }), ['100ms', '5s', '57014'])
})
