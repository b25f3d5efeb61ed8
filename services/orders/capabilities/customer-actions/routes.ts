import { isTenantId } from '@courier/shared/access/authenticate.ts'
import {
  type CustomerAction,
  CustomerActionResults,
  CustomerActions,
} from '@courier/shared/contract/customer-actions.ts'
import { UtcTime } from '@courier/shared/contract/order-events.ts'
import { createBulkheads, refuseBusy } from '@courier/shared/edge/bulkheads.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, type FieldErrors, type HttpError, httpError, invalid } from '@courier/shared/errors/errors.ts'
import { badText, isBadText } from '@courier/shared/errors/field-errors.ts'
import { isDate } from '@courier/shared/lists/dates.ts'
import { isLost } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { readVersion } from '../../core/catalogue/queries.ts'
import type { ChangeOptions } from '../../core/moves/move.ts'
import type { FacetStore } from '../../core/tracking/read-orders.ts'
import { act, type Result } from './act.ts'

interface CustomerActionsOptions extends ChangeOptions, FacetStore {
  readonly publicUrl: string | undefined
}

/** An action with every character of an address escaped takes less than 4 KiB. */
const maxBodyBytes = 524_288

/**
 * Limits the lists of one tenant that wait. They run one after another, so they hold one connection to Postgres and
 * leave the others to merchants and staff.
 */
const maxWaiting = 100
const tooMany = 'Too many lists of actions wait. Repeat the request: what is done already is not done again.'

/** Receives from the notifier the actions that customers chose with a button. */
export const customerActionRoutes: FastifyPluginAsyncTypebox<CustomerActionsOptions> = async (app, options) => {
  const { pool } = options
  const inTurn = createBulkheads({ tenant: 1 }, maxWaiting)
  acceptJson(app)
  const schema = {
    operationId: 'actForCustomers',
    summary: 'Do what customers asked for by a button of a message, each id once',
    description:
      'Handles each action by itself: a refused one does not affect the others. A repeated id gets the outcome of the ' +
      'first, with the order as it is now. After 404 or 503, repeat the request. Needs SERVICE_TOKEN.',
    body: CustomerActions,
    response: { 200: CustomerActionResults, ...errorResponses(404) },
  }
  app.post('/internal/customer-actions', { bodyLimit: maxBodyBytes, schema }, async request => {
    const { tenant, actions } = request.body
    refuseUnstorable(actions)
    if (!isTenantId.test(tenant) || (await readVersion(pool, tenant)) === undefined)
      throw httpError('unknown_tenant', 'The tenant is unknown: its file has not been applied.')
    const actOnAll = async (): Promise<Result[]> => {
      const data: Result[] = []
      for (const action of actions) data.push(await actOn(options, request, tenant, action))
      return data
    }
    return { data: await inTurn({ tenant }, actOnAll).catch(refuseBusy(tooMany)) }
  })
}

const actOn = async (
  { movePoints, publicUrl, onChanged, ...store }: CustomerActionsOptions,
  { id: requestId, traceparent, log }: FastifyRequest,
  tenant: string,
  action: CustomerAction,
): Promise<Result> => {
  const delivered = { tenant, action, requestId, traceparent, movePoints, publicUrl, catalogues: store.catalogues }
  const acted = await act(store, delivered).catch(unlessLost)
  if (!acted) throw repeat('The catalogue kept changing.')
  const { result, isRepeated } = acted
  const { outcome } = result
  if (outcome === 'done' && !isRepeated) onChanged(tenant)
  const { id: action_id, waybill_number, action: name } = action
  const logged = { tenant, action_id, waybill_number, action: name, outcome, repeated: isRepeated }
  log.info(logged, 'customer_action.accepted')
  return result
}

/** Asks to repeat the request if the database was lost: actions before the failed one may have been done. */
const unlessLost = (error: unknown): never => {
  throw isLost(error) ? repeat('The service is unavailable for a moment.') : error
}

const repeat = (reason: string): HttpError =>
  httpError('unavailable', `${reason} Repeat the request: what is done already is not done again.`, {
    retryAfterSeconds: 1,
  })

/** Refuses what the schema admits, but Postgres does not store: bad text in ids, and days such as February 30. */
const refuseUnstorable = (actions: CustomerActions['actions']): void => {
  const errors: FieldErrors = {}
  for (const [index, { id, happened_at }] of actions.entries()) {
    if (isBadText(id)) errors[`actions.${index}.id`] = [badText(`actions.${index}.id`)]
    if (!isDate(happened_at.slice(0, 10)))
      errors[`actions.${index}.happened_at`] = [`The happened at field must ${UtcTime.must}.`]
  }
  if (Object.keys(errors).length > 0) throw invalid(errors)
}
