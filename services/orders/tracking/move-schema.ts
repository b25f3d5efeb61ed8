import { Type } from '@sinclair/typebox'

const maxWaybills = 1000

const WaybillNumbers = Type.Array(
  Type.String({ pattern: '^\\s*[\\x21-\\x7e]{1,50}\\s*$', must: 'be a waybill number' }),
  { minItems: 1, maxItems: maxWaybills, description: 'All of them are moved, or none.' },
)

/** Text that Postgres takes: no null character, no half of a surrogate pair. */
const noteText = '^([^\\u0000\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])*$'

export const StatusMove = Type.Object(
  {
    waybill_numbers: WaybillNumbers,
    status_key: Type.String({
      maxLength: 100,
      pattern: '\\S',
      description: 'The status to move to; `GET /order/status-list` names them with their moves.',
    }),
    note: Type.Optional(
      Type.Union(
        [
          Type.String({
            maxLength: 1000,
            pattern: noteText,
            must: 'be text of at most 1000 characters without a null character',
          }),
          Type.Null(),
        ],
        { description: 'Kept with the move, and told to the notifier.' },
      ),
    ),
  },
  {
    title: 'StatusMove',
    examples: [{ waybill_numbers: ['DM00000001', 'DM00000002'], status_key: 'key_5', note: 'Van 7' }],
  },
)

export const Cancellation = Type.Object(
  { waybill_numbers: WaybillNumbers },
  { title: 'Cancellation', examples: [{ waybill_numbers: ['DM00000001'] }] },
)

/** `message` is the example's. */
export const MovedOrders = (message: string) =>
  Type.Object(
    { message: Type.String(), data: Type.Array(Type.String(), { description: 'The waybill numbers, as they came.' }) },
    { title: 'MovedOrders', examples: [{ message, data: ['DM00000001'] }] },
  )

export const MoveHeaders = Type.Object({
  'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }),
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[\\x20-\\x7e]{1,255}$',
      description: 'Repeat a call under the same key and it is done once: the answer is kept 24 hours.',
      sentence: 'The Idempotency-Key header must be 1 to 255 printable ASCII characters.',
    }),
  ),
})
