import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { ErrorList, maxCounted } from '@courier/shared/errors/field-errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { findChannels } from '../channels/queries.ts'
import { conversationOf } from '../conversations/queries.ts'
import { findTariffs } from '../costs/queries.ts'
import type { Tables } from '../database/tables.ts'
import { readRequests, type WaybillDependencies } from '../messages/about-waybill.ts'
import { checkRequests, type PathOf } from '../messages/accept.ts'
import type { ReadMessages } from '../messages/read-messages.ts'
import { preflightOf } from './check.ts'
import type { Preflight } from './view.ts'

export type Preflighted =
  | { kind: 'examined'; messages: Preflight[] }
  | { kind: 'refused'; errors: ErrorList }
  | { kind: 'orders_away' }

/**
 * What a send would do with each message; nothing is written. A request whose shape is wrong, or with more errors than are
 * counted, is refused as a send of it.
 */
export const preflight = async (
  dependencies: WaybillDependencies,
  tenant: string,
  { bodies, errors: ofShape }: ReadMessages,
  pathOf: PathOf,
): Promise<Preflighted> => {
  const isMalformed = ofShape.count > 0
  const errors = isMalformed ? ofShape : new ErrorList(maxCounted)
  const requests = await readRequests(dependencies, tenant, bodies, errors, pathOf)
  if (!requests) return isMalformed ? { kind: 'refused', errors } : { kind: 'orders_away' }
  return inTenant<Tables, Preflighted>(dependencies.pool, tenant, async tx => {
    const { context, checked } = await checkRequests(tx, tenant, requests, errors, pathOf, conversationOf)
    if (isMalformed || errors.isFull) return { kind: 'refused', errors }
    const rows = new Map((await findChannels(tx, tenant)).map(row => [row.phone_number_id, row]))
    const errorsOf = splitErrors(errors.errors, bodies.length, pathOf)
    const known = { ...context, rows, tariffs: await findTariffs(tx, tenant) }
    const messages = bodies.flatMap((body, index) => {
      const ofMessage = errorsOf[index] ?? {}
      const isRefused = Object.keys(ofMessage).length > 0
      const examined = { request: requests[index], checked: isRefused ? undefined : checked[index], errors: ofMessage }
      return body ? [preflightOf({ body, ...examined }, known)] : []
    })
    return { kind: 'examined', messages }
  })
}

/** The errors of each message, without its path. */
const splitErrors = (errors: FieldErrors, count: number, pathOf: PathOf): FieldErrors[] => {
  const places = new Map(Array.from({ length: count }, (_, index) => [pathOf(index), index]))
  const split = Array.from({ length: count }, (): FieldErrors => ({}))
  for (const [path, sentences] of Object.entries(errors)) {
    const prefix = places.has('') ? '' : (/^messages\.\d+\./.exec(path)?.[0] ?? '')
    const ofMessage = split[places.get(prefix) ?? 0]
    if (ofMessage) ofMessage[path.slice(prefix.length)] = sentences
  }
  return split
}
