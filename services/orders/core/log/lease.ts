import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'

interface LeaseOptions<Acquired> {
  readonly pool: pg.Pool
  readonly tenant: string
  /** Sets the seconds after which a dead process's lease expires. */
  readonly seconds: number
  /** Acquires or renews the row of the lease; undefined when another process holds it, or this one no longer does. */
  readonly acquireRow: (tx: Tx, isRenewal: boolean) => Promise<Acquired | undefined>
}

export interface Lease<Acquired> {
  readonly acquire: (tx: Tx) => Promise<Acquired | undefined>
  /** Renews the lease when less than half of its time is left; false when it is lost. */
  readonly renew: () => Promise<boolean>
}

/**
 * Creates a lease. Expiry counts from before the request, on this machine's clock, so it is never later than in the
 * database.
 */
export const createLease = <Acquired>(options: LeaseOptions<Acquired>): Lease<Acquired> => {
  const { pool, tenant, seconds, acquireRow } = options
  let expiresAt = 0
  let isRenewal = false
  const acquire = async (tx: Tx): Promise<Acquired | undefined> => {
    const requestedAt = performance.now()
    const acquired = await acquireRow(tx, isRenewal)
    isRenewal = true
    expiresAt = acquired ? requestedAt + seconds * 1000 : 0
    return acquired
  }
  const isFresh = (): boolean => expiresAt - performance.now() > seconds * 500
  return {
    acquire,
    renew: async () => isFresh() || ((await inTenant(pool, tenant, acquire)) !== undefined && isFresh()),
  }
}
