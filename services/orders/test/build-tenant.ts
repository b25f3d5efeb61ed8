import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import { cloneDatabase, share, type Teardown } from '../../../dev/test-database.ts'
import type { Tx } from '../core/database/tables.ts'
import type { TenantFile } from '../core/provisioning/tenant-file.ts'
import { applyFile, type build, createCallers, startApplication } from './build.ts'
import { tenantFile } from './tenant.ts'

const shareApplication = share(async end => {
  const database = await cloneDatabase(end, 'orders')
  const { app, pool } = await startApplication(end, database)
  const owner = createPool({ url: database.ownerUrl, name: 'test owner', connections: 2, statementSeconds: 60 })
  end.teardown(() => owner.end())
  return { app, pool, owner, database }
})

let count = 0

/**
 * Adds a tenant to the application with the default settings that the tests of this process share. All that it returns
 * is for this tenant alone, whatever id a file names, except the database.
 */
export const buildTenant = async (t: Teardown, { file = tenantFile() }: { file?: TenantFile } = {}) => {
  const { app, pool, owner, database } = await shareApplication(t)
  const tenant = `demo-${++count}`
  const rename = (named: TenantFile): TenantFile => ({ ...named, tenant: { ...named.tenant, id: tenant } })
  const apply = (changed: TenantFile, dryRun = false) => applyFile(pool, rename(changed), dryRun)
  await apply(file)
  /** Returns the tenant's rows: row-level security hides those of other tests. */
  const rows = (text: string, values: unknown[] = []) =>
    inTenant(owner, tenant, async (tx: Tx) => (await tx.client.query(text, values)).rows)
  return { app, pool, database, tenant, ...(await createCallers({ app, pool }, rename(file))), apply, rows }
}

/** Adds a second tenant to the application of a test, with a token of its first merchant. */
export const addOther = async ({
  pool,
  createToken,
}: Pick<Awaited<ReturnType<typeof build>>, 'pool' | 'createToken'>) => {
  const tenant = `demo-${++count}`
  await applyFile(pool, tenantFile({ id: tenant }))
  return { tenant, token: await createToken('shop@example.com', tenant) }
}
