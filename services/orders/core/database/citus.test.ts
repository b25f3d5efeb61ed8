import t from 'tap'
import { build } from '../../test/build.ts'

// Checks on plain Postgres that the schema meets the rules of Citus (docs/operators/scaling.md#citus). on-citus.test.ts
// runs a real Citus.

t.test('the schema is one that Citus can shard by tenant', async t => {
  const { rows } = await build(t)
  const none = async (what: string, text: string): Promise<void> => {
    t.strictSame(await rows(text), [], what)
  }
  await none(
    'no policy has a subquery',
    `select tablename, policyname from pg_policies where concat(qual, with_check) ilike '%select%'`,
  )
  await none('there is no trigger of our own', 'select tgname from pg_trigger where not tgisinternal')
  // The table history belongs to no tenant and stays on the coordinator.
  await none(
    'primary keys and unique constraints begin with the tenant, and so do foreign keys',
    `select conname from pg_constraint
      where contype in ('p', 'u', 'f') and connamespace = 'public'::regnamespace
        and conrelid::regclass::text !~ '^(kysely_|history$)'
        and (select attname from pg_attribute where attrelid = conrelid and attnum = conkey[1]) <> 'tenant_id'`,
  )
  await none(
    'no foreign key updates rows on its own',
    `select conname from pg_constraint where contype = 'f' and (confupdtype <> 'a' or confdeltype = 'n')`,
  )
  await none(
    'the role of the service may use every sequence',
    `select sequencename from pg_sequences
      where not has_sequence_privilege('courier_test_orders', quote_ident(sequencename), 'usage')`,
  )
})
