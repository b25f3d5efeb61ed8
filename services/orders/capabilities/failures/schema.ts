import { cursorFields } from '@courier/shared/lists/cursor.ts'
import { listQuery, oneOf as oneOfFilter } from '@courier/shared/lists/filters.ts'
import { oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { Day } from '../../core/actions/fields.ts'
import { Note } from '../../core/moves/move-schema.ts'
import { instructionActions, parties } from './attempts.ts'

const nullable = orNull(Type.String())

export const InstructionBody = Type.Object(
  {
    action: oneOf(instructionActions, { must: `be ${instructionActions.join(', ')}` }),
    date: Type.Optional({ ...Day, description: 'The day of delivery, up to 30 days ahead; `reschedule` needs it.' }),
    address: Type.Optional(
      Type.String({
        maxLength: 500,
        pattern: '\\S',
        description: 'The new address, in the same city; `change_address` needs it, and no other action accepts it.',
      }),
    ),
    note: Type.Optional({ ...Note, description: 'A note for the rider.' }),
  },
  { title: 'Instruction', additionalProperties: false, examples: [{ action: 'reschedule', date: '2026-02-21' }] },
)
export type InstructionBody = Static<typeof InstructionBody>

export const GivenInstruction = Type.Object(
  { waybill_number: Type.String(), attempt: Type.Integer({ description: 'The failed attempt, from 1.' }) },
  { title: 'GivenInstruction' },
)
export type GivenInstruction = Static<typeof GivenInstruction>

/** Describes a parcel whose last delivery failed, with its current instruction, if any. */
export const FailedDelivery = Type.Object(
  {
    waybill_number: Type.String(),
    order_no: nullable,
    status_key: Type.String(),
    customer_name: Type.String(),
    customer_phone: Type.String(),
    cod: Type.Integer({ description: 'Whole units of the currency.' }),
    currency: Type.String(),
    attempt: Type.Integer({ description: 'The number of failed attempts.' }),
    reason: orNull(Type.Object({ code: Type.String(), name: Type.String() })),
    failed_at: Type.String(),
    due_at: Type.String({ description: 'The deadline for instructions from the customer and the merchant.' }),
    instruction: orNull(
      Type.Object({ action: Type.String(), date: nullable, note: nullable, given_as: oneOf(parties) }),
      { description: 'The current instruction; null: nobody gave one.' },
    ),
  },
  { title: 'FailedDelivery' },
)
export type FailedDelivery = Static<typeof FailedDelivery>

export const exampleFailure: FailedDelivery = {
  waybill_number: 'DM00000001',
  order_no: 'LS-1001',
  status_key: 'key_17',
  customer_name: 'Nimali Perera',
  customer_phone: '0770000101',
  cod: 4500,
  currency: 'LKR',
  attempt: 1,
  reason: { code: 'not_home', name: 'Nobody at home' },
  failed_at: '2026-02-19T19:06:23.000000Z',
  due_at: '2026-02-21T19:06:23.000000Z',
  instruction: { action: 'reschedule', date: '2026-02-21', note: null, given_as: 'merchant' },
}

export const FailuresQuery = listQuery(cursorFields, {
  instructed: oneOfFilter(
    ['true', 'false'],
    'true: parcels with an instruction; false: parcels that still wait for one.',
  ),
})
