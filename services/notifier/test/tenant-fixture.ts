import { inTenant } from '@courier/shared/postgres/database.ts'
import { share, type Teardown } from '../../../dev/test-database.ts'
import type { Control } from '../../../simulator/control/control.ts'
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
  return { ...fixture, control: aboutNumber(fixture.control, phoneNumberId), rows }
}

/** Returns the control of a simulator whose events are about this number, where they name none. */
const aboutNumber = (control: Control, phone_number_id: string): Control => ({
  ...control,
  inbound: given => control.inbound({ phone_number_id, ...given }),
  event: given => control.event({ phone_number_id, ...given }),
  change: given => control.change({ phone_number_id, ...given }),
})
