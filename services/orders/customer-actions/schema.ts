import { oneOf, text } from '@courier/shared/http/filters.ts'
import { type Static, Type } from '@sinclair/typebox'
import { requestStatuses } from '../database/tables.ts'
import { StatusMove } from '../orders/move-schema.ts'
import type { RequestRow } from './queries.ts'

const nullable = Type.Union([Type.String(), Type.Null()])

/** What a customer asked for, which staff decide. */
export const CustomerRequest = Type.Object(
  {
    id: Type.String(),
    waybill_number: Type.String(),
    request: Type.String({ description: 'Its name, such as call_me.' }),
    status: Type.Union(requestStatuses.map(status => Type.Literal(status))),
    requested_at: Type.String({ description: 'ISO 8601, UTC.' }),
    decided_at: nullable,
    decided_by: nullable,
    note: nullable,
  },
  { title: 'CustomerRequest' },
)

export const exampleRequest: Static<typeof CustomerRequest> = {
  ...{ id: '17', waybill_number: 'DM00000001', request: 'reschedule', status: 'accepted' },
  requested_at: '2026-02-19T19:06:23.000Z',
  ...{ decided_at: '2026-02-19T19:20:00.000Z', decided_by: 'Kamal Perera', note: 'Tomorrow after 4 pm' },
}

export const requestView = ({
  request_id,
  action,
  happened_at,
  ...row
}: RequestRow): Static<typeof CustomerRequest> => ({
  id: request_id,
  waybill_number: row.waybill_number,
  request: action,
  status: row.status,
  requested_at: happened_at.toISOString(),
  decided_at: row.decided_at?.toISOString() ?? null,
  decided_by: row.decided_by,
  note: row.note,
})

export const requestFilters = {
  status: oneOf(requestStatuses, 'Without it all.'),
  waybill_number: text('The whole number.'),
}

export const requestPaging = {
  limit: Type.Optional(
    Type.String({
      maxLength: 3,
      pattern: '^([1-9]|[1-9][0-9]|1[0-9][0-9]|200)$',
      must: 'be a whole number, 1 to 200',
      description: 'Default: 50.',
      documented: { type: 'integer', minimum: 1, maximum: 200 },
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 18,
      pattern: '^[1-9][0-9]{0,17}$',
      must: 'be the next_cursor of a page',
      description: '`next_cursor` of the page before.',
    }),
  ),
}

export const RequestDecision = Type.Object(
  {
    decision: Type.Union([Type.Literal('accepted'), Type.Literal('declined')]),
    note: Type.Optional({ ...StatusMove.properties.note, description: 'Sent to the notifier, for its messages.' }),
  },
  {
    title: 'RequestDecision',
    additionalProperties: false,
    examples: [{ decision: 'accepted', note: 'Tomorrow after 4 pm' }],
  },
)
