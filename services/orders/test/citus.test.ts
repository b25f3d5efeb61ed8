import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPool } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { root } from '../../../dev/settings.ts'
import { createOrders } from '../app.ts'
import { build } from './build.ts'
import { batch, order } from './tenant.ts'

// No Citus runs here: these are the conditions that docs/scaling.md#citus names, on plain Postgres.

t.test('the schema is one that Citus shards by tenant', async t => {
  const { rows } = await build(t)
  const none = async (what: string, text: string): Promise<void> => {
    t.strictSame(await rows(text), [], what)
  }
  await none(
    'no policy has a subquery',
    `select tablename, policyname from pg_policies where concat(qual, with_check) ilike '%select%'`,
  )
  await none('there is no trigger of our own', 'select tgname from pg_trigger where not tgisinternal')
  await none(
    'primary keys and unique constraints begin with the tenant, and so do foreign keys',
    `select conname from pg_constraint
      where contype in ('p', 'u', 'f') and connamespace = 'public'::regnamespace and conrelid::regclass::text !~ '^kysely_'
        and (select attname from pg_attribute where attrelid = conrelid and attnum = conkey[1]) <> 'tenant_id'`,
  )
  await none(
    'no foreign key changes rows of its own accord',
    `select conname from pg_constraint where contype = 'f' and (confupdtype <> 'a' or confdeltype = 'n')`,
  )
  const guide = readFileSync(join(root, 'docs/scaling.md'), 'utf8')
  const tables = await rows(`select table_name from information_schema.columns where column_name = 'tenant_id'`)
  t.strictSame(
    tables
      .map(({ table_name }) => table_name)
      .filter(name => guide.split(`'${name}'`).length !== 2 && name !== 'tenants'),
    [],
    'the guide distributes every table, once',
  )
  await none(
    'the role of the service may use every sequence',
    `select sequencename from pg_sequences
      where not has_sequence_privilege('courier_test_orders', quote_ident(sequencename), 'usage')`,
  )
})

t.test('with CITUS each setting of a transaction is a message of its own', async t => {
  const { database, token, ordersOptions } = await build(t)
  const pool = createPool({ url: database.url, name: 'citus', connections: 2, isCitus: true })
  const sent: string[] = []
  pool.on('connect', client => {
    const query = client.query.bind(client)
    client.query = ((text: string | { text: string }, ...rest: []) => {
      sent.push(typeof text === 'string' ? text : text.text)
      return query(text as string, ...rest)
    }) as typeof client.query
  })
  t.teardown(() => pool.end())
  const { app } = await createOrders({ ...ordersOptions, pool })
  t.teardown(() => app.close())
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'idempotency-key': 'citus-1' }
  const url = '/api/public/merchant/order/bulk'
  const payload = batch([order(), order({ customer_phone: '0770000999' })])
  t.equal((await app.inject({ method: 'POST', url, headers, payload })).statusCode, 200)
  t.ok(sent.includes(`set local app.tenant = 'demo'`))
  t.strictSame(
    sent.filter(text => text.includes('set_config')),
    [],
  )
  const writing = sent.find(text => text.includes('insert into orders')) ?? ''
  t.equal(writing.match(/insert into/g)?.length, 5)
  t.equal(writing.match(/returning/g)?.length, 5, 'each insertion from a select returns something')
})
