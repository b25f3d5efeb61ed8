import { textPattern } from '@courier/shared/lists/filters.ts'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { MovePoint } from './move-points.ts'

/**
 * Limits the bytes of a body with `count` waybills. A waybill with every character escaped takes 300; the rest is for
 * white space and a note.
 */
export const limitBytes = (count: number): number => count * 512

export const waybillNumbers = (maxItems: number, description: string) =>
  Type.Array(Type.String({ maxLength: 100, pattern: '^[\\x21-\\x7e]{1,50}$', must: 'be a waybill number' }), {
    minItems: 1,
    maxItems,
    description,
  })

const maxWaybills = 1000
export const maxMoveBytes = limitBytes(maxWaybills)
const WaybillNumbers = waybillNumbers(maxWaybills, 'All of them are moved, or none.')

export const Note = Type.String({
  maxLength: 1000,
  pattern: textPattern,
  must: 'be text of at most 1000 characters without a null character',
})

const moveFields = {
  waybill_numbers: WaybillNumbers,
  status_key: Type.String({
    maxLength: 100,
    pattern: '\\S',
    description: 'The status to move to; `GET /order/status-list` lists all statuses with their moves.',
  }),
  note: Type.Optional(
    Type.Union([Note, Type.Null()], { description: 'Stored with the move and sent to the notifier.' }),
  ),
}
export type StatusMove = Static<TObject<typeof moveFields>>

/** Defines staff's move, with the fields that the points add. */
export const defineStatusMove = (points: readonly MovePoint[]) =>
  Type.Object(Object.assign({ ...moveFields }, ...points.map(({ fields }) => fields)) as typeof moveFields, {
    title: 'StatusMove',
    additionalProperties: false,
    examples: [{ waybill_numbers: ['DM00000001'], status_key: 'key_5', note: 'Van 7' }],
  })

const defineWaybillList = (title: string) =>
  Type.Object({ waybill_numbers: WaybillNumbers }, { title, examples: [{ waybill_numbers: ['DM00000001'] }] })
export const Cancellation = defineWaybillList('Cancellation')
export const Confirmation = defineWaybillList('Confirmation')

/** Defines the response to a move. `message` is the message of its example. */
export const MovedOrders = (message: string) =>
  Type.Object(
    {
      message: Type.String(),
      data: Type.Array(Type.String(), { description: 'The waybill numbers.' }),
    },
    { title: 'MovedOrders', examples: [{ message, data: ['DM00000001'] }] },
  )
