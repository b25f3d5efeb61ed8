import { ErrorList, maxCounted } from '@courier/shared/errors/field-errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { findChannels } from '../channels/queries.ts'
import { conversationOf } from '../conversations/queries.ts'
import { findTariffs } from '../costs/queries.ts'
import type { Tables } from '../database/tables.ts'
import { readRequests, type WaybillDependencies } from '../messages/about-waybill.ts'
import { checkBatch } from '../messages/accept.ts'
import type { Batch } from '../messages/batch.ts'
import type { MessageBody } from '../messages/schema.ts'
import { preflightOf } from './check.ts'
import type { Preflight } from './view.ts'

type Preflighted =
  | { kind: 'examined'; messages: Preflight[] }
  | { kind: 'refused'; errors: ErrorList }
  | { kind: 'orders_away' }

/**
 * Predicts what a send would do with each message; writes nothing. Refuses a batch whose shape is wrong, or with more
 * errors than are counted, as a send does.
 */
export const preflight = async (
  dependencies: WaybillDependencies,
  tenant: string,
  given: Batch<MessageBody>,
): Promise<Preflighted> => {
  const isMalformed = given.errors.count > 0
  const batch = isMalformed ? given : { ...given, errors: new ErrorList(maxCounted) }
  const { errors, pathOf } = batch
  const requests = await readRequests(dependencies, tenant, batch)
  if (!requests) return isMalformed ? { kind: 'refused', errors } : { kind: 'orders_away' }
  return inTenant<Tables, Preflighted>(dependencies.pool, tenant, async tx => {
    const { context, checked } = await checkBatch(tx, tenant, requests, conversationOf)
    if (isMalformed || errors.isFull) return { kind: 'refused', errors }
    const rows = new Map((await findChannels(tx, tenant)).map(row => [row.phone_number_id, row]))
    const known = { ...context, rows, tariffs: await findTariffs(tx, tenant) }
    const byPath = Map.groupBy(Object.entries(errors.errors), ([path]) => /^messages\.\d+\./.exec(path)?.[0] ?? '')
    const messages = batch.messages.flatMap((body, index) => {
      const path = pathOf(index)
      const found = byPath.get(path)?.map(([name, sentences]) => [name.slice(path.length), sentences])
      const examined = { request: requests.messages[index], checked: found ? undefined : checked[index] }
      return body ? [preflightOf({ body, ...examined, errors: Object.fromEntries(found ?? []) }, known)] : []
    })
    return { kind: 'examined', messages }
  })
}
