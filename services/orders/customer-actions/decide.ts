import { httpError } from '@courier/shared/errors/errors.ts'
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

interface Decided {
  readonly request: CustomerRequest
  /** The same member of staff decided it before in the same words. */
  readonly isRepeated: boolean
}

/** Decides a request once, with its audit and its event. One transaction. Throws for one that somebody decided before. */
export const decide = (pool: pg.Pool, wanted: WantedDecision): Promise<Decided> =>
  inTenant<Tables, Decided>(pool, wanted.tenant, async tx => {
    const { tenant, requestId } = wanted
    const [, found] = await Promise.all([limitLockWait(tx), findRequest(tx, tenant, requestId)])
    if (!found) throw unknownRequest()
    const { waybill_number: waybill } = found
    const order = await lockOrder(tx, { tenant, waybill, editor: { staffName: wanted.by } })
    const request = await lockRequest(tx, tenant, requestId)
    if (!request) throw unknownRequest()
    const { status, note, decided_by, decided_at } = request
    const isSame = status === wanted.decision && note === wanted.note && decided_by === wanted.by
    if (isSame) return { request, isRepeated: true }
    if (status !== 'open') throw httpError('already_decided', `${decided_by} ${status} this request at ${decided_at}.`)
    const decided = await storeDecision(tx, tenant, requestId, wanted)
    if (order) await insertEvent(tx, tenant, decided, order.status_key, wanted.traceparent)
    await audit(tx, tenant, wanted.actor, `request.${wanted.decision}`, `${waybill}: ${request.request}`)
    return { request: decided, isRepeated: false }
  })

export const unknownRequest = () => httpError('not_found', 'There is no such request.')
