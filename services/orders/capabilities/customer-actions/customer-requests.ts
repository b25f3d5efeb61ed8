import { query } from '@courier/shared/postgres/database.ts'
import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import { isoTime } from '../../core/database/iso-time.ts'
import { type RequestStatus, requestStatuses, type Tx } from '../../core/database/tables.ts'
import type { Facet } from '../../core/tracking/facets.ts'

const nullable = orNull(Type.String())

export const CustomerRequest = component('CustomerRequest', {
  id: Type.String({ examples: ['17'] }),
  waybill_number: Type.String(),
  request: Type.String({ description: 'The name of the request.', examples: ['call_me'] }),
  status: oneOf(requestStatuses),
  requested_at: Type.String({ description: 'ISO 8601, UTC, with six decimals.' }),
  decided_at: nullable,
  decided_by: nullable,
  note: nullable,
  text: orNull(Type.String({ description: 'What the customer wrote: an address that staff must read.' })),
})
export type CustomerRequest = Static<typeof CustomerRequest>

const columnsSql = `
  request_id as id, waybill_number, action as request, status, ${isoTime('happened_at')} as requested_at,
  ${isoTime('decided_at')} as decided_at, decided_by, note, detail as text`
export const requestColumns = sql.raw(columnsSql)

const maxRequests = 50

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

const requestsSql = `
  select ${columnsSql}
  from customer_actions where tenant_id = $1 and waybill_number = any($2::text[]) and status is not null
  order by request_id desc limit ${maxRequests}`

export const requestsFacet: Facet<readonly CustomerRequest[]> = {
  existsSql: table => `exists (
      select from customer_actions action where action.tenant_id = $1
        and action.waybill_number = ${table}.waybill_number and action.status is not null
    )`,
  read: async (read, tenant, waybills) =>
    Map.groupBy(
      await read<CustomerRequest>({ name: 'read_requests', text: requestsSql, values: [tenant, waybills] }),
      request => request.waybill_number,
    ),
  inOne: {
    staff: {
      fields: {
        requests: Type.Array(CustomerRequest, {
          description: `Requests of the customer (docs/staff/replies.md#requests-for-staff): the newest ${maxRequests}, newest first.`,
        }),
      },
      view: (requests = []) => ({ requests }),
    },
  },
}
