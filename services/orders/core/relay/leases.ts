import { serviceRequestMilliseconds } from '@courier/shared/service-client.ts'
import type { Tx } from '../database/tables.ts'

/** Another process takes over this long after the holder died. Half of this time must outlast a request. */
export const defaultLeaseSeconds = (4 * serviceRequestMilliseconds) / 1000

/**
 * Acquires or renews the tenant's lease; undefined when another process holds it. Citus allows no `now()` in the
 * condition.
 */
export const acquireLease = async (tx: Tx, tenant: string, holder: string, seconds: number) => {
  const values = [tenant, holder, seconds]
  return (await tx.rows({ name: 'acquire_lease', text: acquireLeaseSql, values }))[0]
}

const acquireLeaseSql = `
  insert into outbox_leases as lease (tenant_id, holder, held_until)
  values ($1, $2, now() + make_interval(secs => $3))
  on conflict (tenant_id) do update set holder = excluded.holder, held_until = excluded.held_until
    where lease.holder = excluded.holder or excluded.held_until - lease.held_until >= make_interval(secs => $3)
  returning held_until`

/** Releases the lease. `isKnown`: the notifier acknowledged everything, so the tenant's failures are forgotten. */
export const releaseLease = (tx: Tx, tenant: string, holder: string, isKnown: boolean) => {
  const forgotten = isKnown ? ', failures = 0, unknown_since = null, warned_at = null' : ''
  return tx.client.query(
    `update outbox_leases set held_until = now()${forgotten} where tenant_id = $1 and holder = $2`,
    [tenant, holder],
  )
}

interface Postponed {
  readonly milliseconds: number
  /** Is set once an hour, for a warning, to the time since which the notifier has not known the tenant. */
  readonly unknownSince: Date | null
}

/**
 * Blocks the lease after a failure: no process tries the tenant's events for half a second, doubled with each failure
 * in a row up to half a minute, or to five minutes while the notifier does not know the tenant. `random` takes off at
 * most half. undefined: the lease is lost.
 */
export const postpone = async (
  tx: Tx,
  { tenant, holder, isUnknown }: { tenant: string; holder: string; isUnknown: boolean },
  random: () => number,
): Promise<Postponed | undefined> => {
  const values = [tenant, holder, 1 - random() / 2, isUnknown ? 300 : 30, isUnknown]
  return (await tx.rows({ name: 'postpone', text: postponeSql, values }))[0]
}

const postponeSql = `
  update outbox_leases set holder = null, failures = failures + 1,
    held_until = to_timestamp(
      extract(epoch from now())::float8 + $3::float8 * least($4::float8, 0.5 * 2 ^ least(failures, 20))),
    unknown_since = case when $5 then least(unknown_since, now) else unknown_since end,
    warned_at = case when $5 and coalesce(now - warned_at >= interval '1 hour', true) then now else warned_at end
  from (select now() as now) clock
  where tenant_id = $1 and holder = $2
  returning round(extract(epoch from held_until - now) * 1000)::int as milliseconds,
    case when $5 and warned_at = now then unknown_since end as "unknownSince"`
