import { inTenant } from '@courier/shared/postgres/database.ts'
import { share, type Teardown } from '../../../dev/test-database.ts'
import type { Tx } from '../core/database/tables.ts'
import { addFixture, createDatabase, type FixtureOptions } from './fixture.ts'

const shareDatabase = share(createDatabase)

let count = 0

/**
 * Adds a tenant with a number of its own to the database that the tests of this process share, with a simulator and a
 * queue as `createFixture` does. Its `rows` run under row-level security. The end of the test deletes what the
 * workers of other tests would find.
 */
export const tenantFixture = async (t: Teardown, options: FixtureOptions = {}) => {
  const database = await shareDatabase(t)
  const tenant = `demo-${++count}`
  const phoneNumberId = String(200_000_000 + count)
  const rows = (text: string, values: unknown[] = []) =>
    inTenant(database.pool, tenant, async (tx: Tx) => (await tx.client.query(text, values)).rows)
  t.teardown(async () => {
    await rows('delete from messages')
    await rows('delete from customer_actions')
  })
  const fixture = await addFixture(t, { ...database, tenant, phoneNumberId }, options)
  const { control } = fixture
  const inbound: typeof control.inbound = given => control.inbound({ phone_number_id: phoneNumberId, ...given })
  return { ...fixture, control: { ...control, inbound }, rows }
}
