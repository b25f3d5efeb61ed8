import { randomUUID } from 'node:crypto'
import type { Sealed } from '@courier/shared/vault.ts'
import type { Static } from '@sinclair/typebox'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import { type FeedOwner, numberChanges } from './numbering.ts'
import { secretColumns, secretsIn } from './secrets.ts'
import {
  maxEndpoints,
  type NewWebhook,
  type Webhook,
  type WebhookChange,
  type WebhookDelivery,
} from './webhook-schema.ts'

type Endpoint = Static<typeof Webhook>

/**
 * Identifies an endpoint of a merchant by its id. The functions below return undefined when the merchant has no
 * endpoint with that id.
 */
export interface EndpointRef extends FeedOwner {
  readonly id: string
}
const toValues = ({ tenant, merchantId, id }: EndpointRef) => [tenant, merchantId, id]

const times = ['disabled_at', 'failing_since', 'created_at'].map(name => `${isoTime(name)} as ${name}`).join(', ')
const columns = `endpoint_id as id, url, events, state, disabled_reason, ${times},
  case when previous_until > now() then ${isoTime('previous_until')} end as previous_secret_until`

const ofMerchantSql = `tenant_id = $1 and merchant_id = $2 and state <> 'deleted'`
const endpointsSql = `${ofMerchantSql} and target = 'webhook'`
const endpointSql = `${ofMerchantSql} and endpoint_id = $3`

export const listEndpoints = (tx: Tx, { tenant, merchantId }: FeedOwner): Promise<Endpoint[]> => {
  const listSql = `select ${columns} from webhook_endpoints e where ${endpointsSql} order by e.created_at, endpoint_id`
  return tx.rows(listSql, [tenant, merchantId])
}

type NewEndpoint = Required<Static<typeof NewWebhook>> & {
  readonly secret: Sealed
  /** Is a webhook if absent. */
  readonly target?: string
}

/**
 * Adds an endpoint for changes from now on; undefined: there are too many endpoints. The caller has caught up with the
 * feed.
 */
export const addEndpoint = async (tx: Tx, ref: EndpointRef, endpoint: NewEndpoint): Promise<Endpoint | undefined> => {
  const { url, events, secret, target = 'webhook' } = endpoint
  // The lock on the feed makes a concurrent request wait.
  const feed = await numberChanges(tx, ref.tenant, ref.merchantId)
  const rows = await tx.rows(
    `insert into webhook_endpoints as e (tenant_id, merchant_id, endpoint_id, url, events, position, key_id,
      sealed_secret, target)
    select $1, $2, $3, $4, $5, $6, $7, $8, $9
    where $9 <> 'webhook' or (select count(*) from webhook_endpoints where ${endpointsSql}) < ${maxEndpoints}
    returning ${columns}`,
    [...toValues(ref), url, events, feed.lastPosition, secret.keyId, secret.sealed, target],
  )
  return rows[0]
}

/**
 * Changes an endpoint and, unless it is now disabled, makes its waiting events due. Responses to requests that were
 * sent to an earlier URL, or before it was enabled, no longer count.
 */
export const changeEndpoint = async (
  tx: Tx,
  ref: EndpointRef,
  { url, events, state }: Static<typeof WebhookChange>,
) => {
  await tx.client.query(
    `update webhook_endpoints e set url = coalesce($4, url), events = coalesce($5, events), state = coalesce($6, state),
      disabled_reason = case when coalesce($6, state) = 'disabled' then coalesce(disabled_reason, 'merchant') end,
      disabled_at = case when coalesce($6, state) = 'disabled' then coalesce(disabled_at, now) end,
      failures = 0, failing_since = null, retry_at = null,
      holder = case when $4::text is null and $6::text is null then holder end,
      held_until = case when $4::text is null and $6::text is null then held_until end
    from (select now() as now) clock where ${endpointSql}`,
    [...toValues(ref), url, events, state],
  )
  const endpoint = await findEndpoint(tx, ref)
  if (endpoint?.state === 'enabled')
    await tx.client.query(
      `update webhook_deliveries set next_attempt_at = now(), attempts = 0
      where tenant_id = $1 and endpoint_id = $2 and state = 'pending' and next_attempt_at is not null`,
      [ref.tenant, ref.id],
    )
  return endpoint
}

const findEndpoint = async (tx: Tx, ref: EndpointRef): Promise<Endpoint | undefined> =>
  (await tx.rows(`select ${columns} from webhook_endpoints e where ${endpointSql}`, toValues(ref)))[0]

/** Deletes an endpoint. Its secrets go now; its row stays until housekeeping has deleted its deliveries. */
export const deleteEndpoint = async (tx: Tx, ref: EndpointRef): Promise<true | undefined> => {
  const { rowCount } = await tx.client.query(
    `update webhook_endpoints set state = 'deleted', url = '', sealed_secret = '', previous_key_id = null,
      previous_secret = null,
      holder = null, held_until = null
    where ${endpointSql}`,
    toValues(ref),
  )
  return rowCount === 1 || undefined
}

/** Gives an endpoint a new secret; the previous one signs for 24 more hours. */
export const rotateSecret = async (tx: Tx, ref: EndpointRef, secret: Sealed): Promise<Endpoint | undefined> => {
  await tx.client.query(
    `update webhook_endpoints set previous_key_id = key_id, previous_secret = sealed_secret,
      previous_until = now() + interval '24 hours', key_id = $4, sealed_secret = $5
    where ${endpointSql}`,
    [...toValues(ref), secret.keyId, secret.sealed],
  )
  return findEndpoint(tx, ref)
}

/** Reads the address of an endpoint and the secrets that sign for it. */
export const findTarget = async (tx: Tx, ref: EndpointRef): Promise<{ url: string; secrets: Sealed[] } | undefined> => {
  const [row] = await tx.rows(`select url, ${secretColumns} from webhook_endpoints where ${endpointSql}`, toValues(ref))
  return row && { url: row.url, secrets: secretsIn(row) }
}

/**
 * Sends the events of a period again, the oldest first, before new ones. Returns how many changes the period has.
 * running: the last replay has not ended; disabled: it waits until the endpoint is enabled.
 */
export const replay = async (
  tx: Tx,
  ref: EndpointRef,
  { from, to }: { from: string; to: string },
): Promise<number | 'running' | 'disabled' | undefined> => {
  const stateSql = `select position, state, replay_to is not null as "isRunning" from webhook_endpoints
    where ${endpointSql} for update`
  const [endpoint] = await tx.rows(stateSql, toValues(ref))
  if (!endpoint) return undefined
  if (endpoint.isRunning) return endpoint.state === 'enabled' ? 'running' : 'disabled'
  const [{ after, last }] = (await tx.rows(
    `select min(position) - 1 as after, least($3, max(position + cardinality(waybill_numbers) - 1)) as last from log
    where tenant_id = $1 and merchant_id = $2 and position <= $3::bigint and happened_at between $4 and $5`,
    [ref.tenant, ref.merchantId, endpoint.position, from, to],
  )) as [{ after: string | null; last: string }]
  if (after === null) return 0
  await tx.client.query(
    'update webhook_endpoints set replay_after = $3, replay_to = $4 where tenant_id = $1 and endpoint_id = $2',
    [ref.tenant, ref.id, after, last],
  )
  return Number(last) - Number(after)
}

/** Lists the events before a position, the newest first. */
export const listDeliveries = async (
  tx: Tx,
  ref: EndpointRef,
  { state, before, limit }: { state: string | undefined; before: string | undefined; limit: number },
): Promise<(Static<typeof WebhookDelivery> & { position: string })[] | undefined> => {
  if (!(await findEndpoint(tx, ref))) return undefined
  return tx.rows(
    `select position, message_id as id, type, nullif(waybill_number, '') as waybill_number, state, attempts, code,
      milliseconds as ms, error, response_body,
      ${isoTime('last_attempt_at')} as last_attempt_at, ${isoTime('next_attempt_at')} as next_attempt_at,
        body::json as body
    from webhook_deliveries d where tenant_id = $1 and endpoint_id = $2
      and ($3::text is null or state = $3) and ($4::bigint is null or d.position < $4) order by d.position desc
        limit $5`,
    [ref.tenant, ref.id, state, before, limit],
  )
}

/**
 * Starts a new epoch of feeds after a restore, and moves endpoints back, since positions given after the backup are
 * given again, to other changes.
 */
export const repairFeeds = async (tx: Tx, tenant: string, since: Date | undefined) => {
  if (!since) return {}
  await tx.client.query('update feeds set epoch = $2 where tenant_id = $1', [tenant, randomUUID()])
  await tx.client.query(
    `update webhook_endpoints e set position = least(e.position, f.last_position), replay_after = null, replay_to = null
    from feeds f where e.tenant_id = $1 and f.tenant_id = $1 and f.merchant_id = e.merchant_id`,
    [tenant],
  )
  return {}
}
