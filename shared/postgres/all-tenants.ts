import type pg from 'pg'
import { inTransaction, type TenantTransaction } from './database.ts'

/**
 * Works like inTenant, but row-level security shows the rows of all tenants: for work across tenants, such as the
 * queue's. Only the files that all-tenants.test.ts lists may import it.
 */
export const inAllTenants = <Tables, Result>(
  pool: pg.Pool,
  action: (tx: TenantTransaction<Tables>) => Promise<Result>,
): Promise<Result> => inTransaction(pool, { 'app.all_tenants': 'on' }, action)
