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

/** Releases the lease, and deletes its row if the notifier knows the tenant. */
export const releaseLease = (tx: Tx, tenant: string, holder: string, isKnown: boolean) =>
  tx.client.query(
    isKnown
      ? 'delete from outbox_leases where tenant_id = $1 and holder = $2'
      : 'update outbox_leases set held_until = now() where tenant_id = $1 and holder = $2',
    [tenant, holder],
  )

/**
 * Blocks the lease for as long as the notifier has not known the tenant, from a second to five minutes, of which
 * `random` takes off at most half: no process tries the tenant's events meanwhile. Once an hour, for a warning, returns
 * the time since which the notifier has not known the tenant.
 */
export const suspend = async (tx: Tx, tenant: string, holder: string, random: () => number) => {
  const values = [tenant, holder, 1 - random() / 2]
  const [row] = await tx.rows<{ since: Date | null }>({ name: 'suspend', text: suspendSql, values })
  return row?.since ?? undefined
}

const suspendSql = `
  update outbox_leases set holder = '00000000-0000-0000-0000-000000000000',
    held_until = to_timestamp(extract(epoch from now())::float8
      + $3 * least(300, greatest(1, extract(epoch from now - unknown_since)::float8))),
    unknown_since = least(unknown_since, now),
    warned_at = case when now - warned_at < interval '1 hour' then warned_at else now end
  from (select now() as now) clock
  where tenant_id = $1 and holder = $2
  returning case when warned_at = now then unknown_since end as since`
