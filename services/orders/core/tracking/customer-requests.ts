import { query } from '@courier/shared/postgres/database.ts'
import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import { isoTime } from '../database/iso-time.ts'
import { type RequestStatus, requestStatuses, type Tx } from '../database/tables.ts'

const nullable = orNull(Type.String())

/** Describes a customer's request that staff decide on. */
export const CustomerRequest = component('CustomerRequest', {
  id: Type.String({ examples: ['17'] }),
  waybill_number: Type.String(),
  request: Type.String({ description: 'The name of the request.', examples: ['call_me'] }),
  status: oneOf(requestStatuses),
  requested_at: Type.String({ description: 'ISO 8601, UTC, with six decimals.' }),
  decided_at: nullable,
  decided_by: nullable,
  note: nullable,
})
export type CustomerRequest = Static<typeof CustomerRequest>

/** Selects the columns of a CustomerRequest. */
export const requestColumns = sql.raw(`
  request_id as id, waybill_number, action as request, status, ${isoTime('happened_at')} as requested_at,
  ${isoTime('decided_at')} as decided_at, decided_by, note`)

/** Limits the requests shown with an order, newest first. */
export const maxRequests = 50

type RequestFilter = { readonly status?: RequestStatus | undefined; readonly waybill_number?: string | undefined }

/** Reads up to `limit` requests, newest first, older than the request `before`. */
export const listRequests = (
  tx: Tx,
  tenant: string,
  { status, waybill_number }: RequestFilter,
  before: string | undefined,
  limit: number,
): Promise<CustomerRequest[]> =>
  query<CustomerRequest>(tx)`
    select ${requestColumns} from customer_actions
    where tenant_id = ${tenant} and ${status === undefined ? sql`status is not null` : sql`status = ${status}`}
      ${waybill_number === undefined ? sql`` : sql`and waybill_number = ${waybill_number}`}
      ${before === undefined ? sql`` : sql`and request_id < ${before}::bigint`}
    order by request_id desc limit ${limit}`
