import { CustomerActionResults, type CustomerActions } from '@courier/shared/contract/customer-actions.ts'
import type { OrderEvent } from '@courier/shared/contract/order-events.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { inTenant, retryDeadlocks } from '@courier/shared/postgres/database.ts'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../../core/database/tables.ts'
import type { EventPoint } from '../../core/events/process.ts'
import { processIn } from '../../core/events/process.ts'
import type { OrdersClient } from '../../core/orders-client/orders-client.ts'
import { type ActionResult, claimActions, postponeActions, storeResults, type WaitingAction } from './queries.ts'

interface ActionDeliveryOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly orders: OrdersClient
  readonly onQueued: () => void
  readonly points?: readonly EventPoint[] | undefined
  readonly onOutcome: (outcome: string, count: number) => void
}

/** A request may carry 100 actions; 50 leave room for their orders in the response, however long their texts are. */
const claimedAtOnce = 50
/** Another process claims the actions of a dead one after this time; orders applies each action once. */
const claimSeconds = 10

/** Delivers due actions of customers to orders. Returns true if there may be more to deliver at once. */
export const deliverActions = async (options: ActionDeliveryOptions): Promise<boolean> => {
  const claimed = await inAllTenants(options.pool, (tx: Tx) => claimActions(tx, claimedAtOnce, claimSeconds))
  let isAvailable = false
  for (const [tenant, actions] of Map.groupBy(claimed, action => action.tenant))
    if (await deliver(options, tenant, actions)) isAvailable = true
  return isAvailable
}

/**
 * Delivers actions together, then each alone if orders refused or failed. Returns false if orders may be unavailable.
 */
const deliver = async (options: ActionDeliveryOptions, tenant: string, actions: readonly WaitingAction[]) => {
  const response = await act(options, { tenant, actions: actions.map(toRequest) })
  if ((response.kind === 'refused' || response.kind === 'failed') && actions.length > 1) {
    let isAvailable = false
    for (const action of actions) if (await deliver(options, tenant, [action])) isAvailable = true
    return isAvailable
  }
  const results = response.kind === 'done' ? readResults(actions, response.results) : []
  if (results.length > 0) await keep(options, tenant, results)
  const missing = actions.filter(({ id }) => !results.some(result => result.id === id)).map(({ id }) => id)
  if (missing.length > 0) await postpone(options, tenant, missing, response.kind)
  return response.kind !== 'unavailable' && response.kind !== 'failed'
}

const check = TypeCompiler.Compile(CustomerActionResults)
/** Lists the statuses that blame the request itself, not its token, its time or its rate. */
const refusals = [400, 413, 415, 422]

/** A repetition after `refused` fails too; one action may cause `failed`; `unknown`: orders lacks the tenant. */
type ActedOn =
  | { kind: 'done'; results: CustomerActionResults['data'] }
  | { kind: 'refused' | 'failed' | 'unknown' | 'unavailable' }

/** Delivers actions; each takes effect once, however often it is delivered. Counts an invalid response as none. */
const act = async ({ orders, logger }: ActionDeliveryOptions, actions: CustomerActions): Promise<ActedOn> => {
  const response = await orders.post('/internal/customer-actions', actions)
  if (!response) return { kind: 'unavailable' }
  const { status, body } = response
  if (status === 200 && check.Check(body)) return { kind: 'done', results: body.data }
  logger.warn({ status }, 'orders.response_invalid')
  if (refusals.includes(status)) return { kind: 'refused' }
  return { kind: status === 404 ? 'unknown' : status >= 500 ? 'failed' : 'unavailable' }
}

/** Omits an address that we refuse: orders would store it. */
const toRequest = ({ id, waybill, action, address, reason, happenedAt, recipient }: WaitingAction) => ({
  id,
  waybill_number: waybill,
  action,
  ...(address !== null && reason === null && { address }),
  happened_at: happenedAt.toISOString(),
  recipient,
})

type Result = ActionResult & { readonly event: OrderEvent | undefined; readonly phoneNumberId: string }

/** Returns the results from orders, or our own refusal in their place. */
const readResults = (actions: readonly WaitingAction[], results: CustomerActionResults['data']): Result[] =>
  results.flatMap(({ id, order, ...given }) => {
    const action = actions.find(each => each.id === id)
    if (!action) return []
    const { outcome, detail } = action.reason === null ? given : { outcome: 'refused' as const, detail: action.detail }
    const type = `${action.action}.${outcome}`
    // The action counts by its own time: one from before a restore is in doubt.
    const happened_at = action.happenedAt.toISOString()
    const event = order ? { id: `${id} ${outcome}`, type, happened_at, order } : undefined
    return [{ id, outcome, detail, event, phoneNumberId: action.phoneNumberId }]
  })

const keep = async (options: ActionDeliveryOptions, tenant: string, results: readonly Result[]): Promise<void> => {
  // Webhooks lock conversations and actions too.
  const stored = await retryDeadlocks(() =>
    inTenant(options.pool, tenant, (tx: Tx) => storeNew(tx, tenant, results, options.points)),
  )
  for (const { outcome } of stored) options.onOutcome(outcome, 1)
  if (stored.length > 0) options.onQueued()
  options.logger.info({ tenant, actions: stored.length }, 'actions.delivered')
}

/** Stores results with the messages that the tenant's rules make of them. Returns the new results. */
const storeNew = async (tx: Tx, tenant: string, results: readonly Result[], points: readonly EventPoint[] = []) => {
  const ids = await storeResults(tx, tenant, results)
  const fresh = results.filter(({ id }) => ids.has(id))
  const numbers = new Map(fresh.flatMap(({ event, phoneNumberId }) => (event ? [[event.id, phoneNumberId]] : [])))
  const events = fresh.flatMap(({ event }) => event ?? [])
  await processIn(tx, tenant, events, points, numbers)
  return fresh
}

const postpone = async (
  { pool, logger, onOutcome }: ActionDeliveryOptions,
  tenant: string,
  ids: readonly string[],
  response: string,
): Promise<void> => {
  const expired = await inTenant(pool, tenant, (tx: Tx) => postponeActions(tx, tenant, ids))
  if (expired.length > 0) onOutcome('expired', expired.length)
  logger.warn({ tenant, actions: ids.length, expired: expired.length, response }, 'actions.not_delivered')
}
