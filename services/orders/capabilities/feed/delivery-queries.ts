import type { Sealed } from '@courier/shared/vault.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { Waiting } from '../../core/log/delivery-loop.ts'
import { secretColumns, secretsIn } from './secrets.ts'
import type { Health, Outcome, Settled } from './settle.ts'

export interface EndpointKey {
  readonly tenant: string
  readonly endpointId: string
}

const tenantsSql = `select distinct tenant_id as tenant from webhook_endpoints where state = 'enabled'`

/** Finds the tenants with enabled endpoints. Runs in `inAllTenants`. */
export const findTenants = async (tx: Tx): Promise<string[]> =>
  (await tx.rows({ name: 'find_tenants_with_endpoints', text: tenantsSql })).map(({ tenant }) => tenant)

const waitingSql = `
  select json_build_object('tenant', tenant_id, 'endpointId', endpoint_id) as key from webhook_endpoints e
  where state = 'enabled' and (retry_at is null or retry_at <= now())
    and (holder is null or holder = $1 or held_until <= now()) and (
    replay_to is not null
    or exists (select from webhook_deliveries d where d.tenant_id = e.tenant_id and d.endpoint_id = e.endpoint_id
      and d.state = 'pending' and d.next_attempt_at <= now())
    or exists (select from log n where n.tenant_id = e.tenant_id and n.merchant_id = e.merchant_id
      and n.position is null)
    or exists (select from feeds f where f.tenant_id = e.tenant_id and f.merchant_id = e.merchant_id
      and f.last_position > e.position))
  order by held_until nulls first`

/**
 * Finds the enabled endpoints with something to send now that no other process holds, the least recently released
 * first. Runs in `inAllTenants`.
 */
export const findWaiting = (tx: Tx, holder: string): Promise<Waiting<EndpointKey>[]> =>
  tx.rows({ name: 'find_waiting_endpoints', text: waitingSql, values: [holder] })

/** Stops adding events to an endpoint once this many are pending; the others wait in the feed. */
const maxPending = 1_000

export interface HeldEndpoint extends EndpointKey {
  /** Identifies this process. */
  readonly holder: string
  readonly merchantId: string
  readonly isMerchantActive: boolean
  readonly url: string
  readonly events: readonly string[]
  /** Says what the endpoint is: `webhook`, or what a capability delivers to. */
  readonly target: string
  readonly position: number
  /** Marks the start of a replay, which sends the positions after `replayAfter` up to `replayTo` again. */
  readonly replayAfter: number | null
  readonly replayTo: number | null
  readonly failures: number
  readonly isFull: boolean
  readonly secrets: readonly Sealed[]
}

const holdSql = `
  update webhook_endpoints set holder = $3, held_until = now() + make_interval(secs => $4)
  where tenant_id = $1 and endpoint_id = $2 and state = 'enabled'
    and (holder = $3 or not $5 and (held_until is null or held_until <= now()))`

const endpointSql = `
  select e.merchant_id as "merchantId", url, events, target, position::float8 as position,
    replay_after::float8 as "replayAfter", replay_to::float8 as "replayTo", failures, ${secretColumns},
    exists (select from merchants m where m.tenant_id = $1 and m.merchant_id = e.merchant_id
      and is_active) as "isMerchantActive",
    (select count(*) from (
      select from webhook_deliveries d where d.tenant_id = $1 and d.endpoint_id = $2 and d.state = 'pending'
        limit ${maxPending}
    ) counted) = ${maxPending} as "isFull"
  from webhook_endpoints e where tenant_id = $1 and endpoint_id = $2`

/**
 * Acquires or renews the lease; undefined when another process holds it, or the endpoint is disabled or deleted. Does
 * not renew a lost lease, such as one lost by a change of the endpoint.
 */
export const holdEndpoint = async (
  tx: Tx,
  { tenant, endpointId }: EndpointKey,
  holder: string,
  seconds: number,
  isRenewal: boolean,
): Promise<HeldEndpoint | undefined> => {
  const ids = [tenant, endpointId]
  const [{ rowCount }, { rows }] = await Promise.all([
    tx.client.query({ name: 'hold_endpoint', text: holdSql, values: [...ids, holder, seconds, isRenewal] }),
    tx.client.query({ name: 'read_endpoint', text: endpointSql, values: ids }),
  ])
  return rowCount === 0 ? undefined : { tenant, endpointId, holder, ...rows[0], secrets: secretsIn(rows[0]) }
}

/** Releases the lease. Unless `seconds` is null, nothing is sent to the endpoint for that long. */
export const releaseEndpoint = (tx: Tx, { tenant, endpointId, holder }: HeldEndpoint, seconds: number | null) =>
  tx.client.query(
    `update webhook_endpoints set holder = null, held_until = now(),
      retry_at = greatest(retry_at, now() + make_interval(secs => $4))
    where tenant_id = $1 and endpoint_id = $2 and holder = $3`,
    [tenant, endpointId, holder, seconds],
  )

export interface Event {
  readonly position: number
  readonly messageId: string
  readonly type: string
  readonly waybill: string
  readonly body: string
  readonly happenedAt: string
}

const newDeliveriesSql = `
  insert into webhook_deliveries (tenant_id, endpoint_id, position, message_id, type, waybill_number, body, happened_at)
  select $1, $2, position, "messageId", type, waybill, body, "happenedAt" from json_to_recordset($3::json)
    as event (position bigint, "messageId" text, type text, waybill text, body text, "happenedAt" timestamptz)
  on conflict (tenant_id, endpoint_id, position) do update
    set message_id = excluded.message_id, body = excluded.body, state = 'pending', attempts = 0, next_attempt_at = null
    where webhook_deliveries.state <> 'pending'`

/**
 * Adds events of the feed up to the position `reached`, even ones that were sent before. Returns false if the lease is
 * lost: the caller rolls back. During a replay, `replayTo` is its last position, or null to end the replay.
 */
export const addDeliveries = async (
  tx: Tx,
  endpoint: HeldEndpoint,
  { reached, replayTo }: { reached: number; replayTo?: number | null },
  events: readonly Event[],
): Promise<boolean> => {
  const ids = [endpoint.tenant, endpoint.endpointId]
  const isReplay = replayTo !== undefined
  const sets = isReplay ? 'replay_after = $4, replay_to = $5' : 'position = $4'
  const progressSql = `update webhook_endpoints set ${sets} where tenant_id = $1 and endpoint_id = $2 and holder = $3`
  const [{ rowCount }] = await Promise.all([
    tx.client.query(progressSql, [...ids, endpoint.holder, reached, ...(isReplay ? [replayTo] : [])]),
    tx.client.query({ name: 'add_deliveries', text: newDeliveriesSql, values: [...ids, JSON.stringify(events)] }),
    activate(tx, endpoint, events),
  ])
  return rowCount === 1
}

const activationSql = `
  update webhook_deliveries d set next_attempt_at = case when is_first then now end
  from (
    select position, now() as now, row_number() over (partition by waybill_number order by position) = 1 as is_first
    from webhook_deliveries
    where tenant_id = $1 and endpoint_id = $2 and state = 'pending' and waybill_number = any($3::text[])
  ) ranked
  where d.tenant_id = $1 and d.endpoint_id = $2 and d.position = ranked.position
    and d.state = 'pending' and (d.next_attempt_at is null) = is_first`

/** Makes the first pending event of each waybill in `events` due; its later events wait for it. */
export const activate = (tx: Tx, { tenant, endpointId }: EndpointKey, events: readonly { waybill: string }[]) => {
  const values = [tenant, endpointId, [...new Set(events.map(({ waybill }) => waybill))]]
  return tx.client.query({ name: 'activate_deliveries', text: activationSql, values })
}

/** Describes an event to send; `attempts` counts the attempts so far. */
export type DueDelivery = Omit<Event, 'type' | 'happenedAt'> & { readonly attempts: number }

const dueSql = `
  select position::float8 as position, message_id as "messageId", waybill_number as waybill, body, attempts
  from webhook_deliveries
  where tenant_id = $1 and endpoint_id = $2 and state = 'pending' and next_attempt_at <= now() order by position
    limit $3`

/** Finds due events, the oldest first: one of each waybill. */
export const findDue = (tx: Tx, { tenant, endpointId }: EndpointKey, limit: number): Promise<DueDelivery[]> =>
  tx.rows({ name: 'find_due_deliveries', text: dueSql, values: [tenant, endpointId, limit] })

const healthSql = `
  select failures, coalesce(failing_since <= now() - interval '5 days', false) as "isOverdue",
    coalesce(retry_at > now(), false) as "isPaused"
  from webhook_endpoints where tenant_id = $1 and endpoint_id = $2 and holder = $3 and state = 'enabled' for update`

/**
 * Reads the endpoint's health and locks it until the transaction ends; undefined: the lease is lost, or the endpoint
 * was disabled.
 */
export const lockHealth = async (tx: Tx, { tenant, endpointId, holder }: HeldEndpoint): Promise<Health | undefined> => {
  const values = [tenant, endpointId, holder]
  return (await tx.rows({ name: 'lock_endpoint_health', text: healthSql, values }))[0]
}

const outcomesSql = `
  update webhook_deliveries d set state = o.state, attempts = attempts + 1, last_attempt_at = now(), code = o.code,
    milliseconds = o.milliseconds, error = o.error, response_body = o."responseBody",
    next_attempt_at = to_timestamp(extract(epoch from now())::float8 + o.delay)
  from json_to_recordset($3::json)
    as o (position bigint, state text, delay float8, code int, milliseconds int, error text, "responseBody" text)
  where d.tenant_id = $1 and d.endpoint_id = $2 and d.position = o.position and d.state = 'pending'`

/** Makes events that wait for another attempt due now. */
const recoverySql = `
  update webhook_deliveries set next_attempt_at = now()
  where tenant_id = $1 and endpoint_id = $2 and state = 'pending' and next_attempt_at > now()`

const newHealthSql = `
  update webhook_endpoints set failures = $3, retry_at = greatest(retry_at, now() + make_interval(secs => $4)),
    failing_since = case when $3 > 0 then coalesce(failing_since, now) end
  from (select now() as now) clock where tenant_id = $1 and endpoint_id = $2`

/** Stores the outcomes of attempts. The caller has locked the endpoint's health. */
export const storeOutcomes = async (tx: Tx, key: EndpointKey, outcomes: readonly Outcome[], settled: Settled) => {
  const { verdicts, failures, isRecovered, pause, disabledReason } = settled
  const ids = [key.tenant, key.endpointId]
  const results = JSON.stringify(outcomes.map((outcome, index) => ({ ...outcome, ...verdicts[index] })))
  await Promise.all([
    tx.client.query({ name: 'store_outcomes', text: outcomesSql, values: [...ids, results] }),
    activate(tx, key, outcomes),
    isRecovered && tx.client.query(recoverySql, ids),
    tx.client.query({ name: 'store_health', text: newHealthSql, values: [...ids, failures, pause > 0 ? pause : null] }),
    disabledReason && disable(tx, key, disabledReason),
  ])
}

/** Disables an endpoint. Its events wait until it is enabled. */
export const disable = (tx: Tx, key: EndpointKey, reason: 'gone' | 'failing' | 'merchant_inactive') =>
  tx.client.query(
    `update webhook_endpoints set state = 'disabled', disabled_reason = $3, disabled_at = now()
    where tenant_id = $1 and endpoint_id = $2 and state = 'enabled'`,
    [key.tenant, key.endpointId, reason],
  )
