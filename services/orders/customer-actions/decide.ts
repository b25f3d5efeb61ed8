import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tables } from '../database/tables.ts'
import { lockOrder } from '../editing/edit-order.ts'
import { limitLockWait } from '../moves/move.ts'
import type { CustomerRequest } from '../tracking/customer-requests.ts'
import { type Decision, findRequest, insertEvent, lockRequest, storeDecision } from './queries.ts'

interface WantedDecision extends Decision {
  readonly tenant: string
  readonly requestId: string
  readonly actor: Actor
  readonly traceparent: string | undefined
}

export type Decided =
  /** The request is decided, now or earlier by the same member of staff in the same words. */
  | { kind: 'decided'; request: CustomerRequest; isRepeated: boolean }
  | { kind: 'unknown' }
  /** Somebody decided it before. */
  | { kind: 'closed'; request: CustomerRequest }

/** Decides a request once, with its audit and its event. One transaction. */
export const decide = (pool: pg.Pool, wanted: WantedDecision): Promise<Decided> =>
  inTenant<Tables, Decided>(pool, wanted.tenant, async tx => {
    const { tenant, requestId } = wanted
    const [, found] = await Promise.all([limitLockWait(tx), findRequest(tx, tenant, requestId)])
    if (!found) return { kind: 'unknown' }
    const { waybill_number: waybill } = found
    const order = await lockOrder(tx, { tenant, waybill, editor: { staffName: wanted.by } })
    const request = await lockRequest(tx, tenant, requestId)
    if (!request) return { kind: 'unknown' }
    if (request.status !== 'open')
      return isSame(request, wanted) ? { kind: 'decided', request, isRepeated: true } : { kind: 'closed', request }
    const decided = await storeDecision(tx, tenant, requestId, wanted)
    if (order) await insertEvent(tx, tenant, decided, order.status_key, wanted.traceparent)
    await audit(tx, tenant, wanted.actor, `request.${wanted.decision}`, `${waybill}: ${request.request}`)
    return { kind: 'decided', request: decided, isRepeated: false }
  })

const isSame = ({ status, note, decided_by }: CustomerRequest, wanted: WantedDecision): boolean =>
  status === wanted.decision && note === wanted.note && decided_by === wanted.by
