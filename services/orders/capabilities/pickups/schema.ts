import { component, oneOf, orNull, Time } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { defineBody } from '../../core/actions/action.ts'
import { Day, Reason, textField } from '../../core/actions/fields.ts'
import { waybillNumbers } from '../../core/moves/move-schema.ts'

/** Limits the parcels of a pickup. */
export const maxParcels = 1000
const waybills = {
  ...waybillNumbers(maxParcels, 'Confirmed parcels that are not picked up.'),
  examples: [['DM00000001']],
}

/** Accepts a number or its digits. */
export const Id = Type.Union(
  [Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }), Type.String({ maxLength: 9, pattern: '^[0-9]+$' })],
  {
    must: 'be an id',
    examples: [3],
  },
)
export const IdParams = Type.Object({ id: Type.String({ maxLength: 15, pattern: '^[0-9]+$', must: 'be an id' }) })

export const NewAddress = defineBody('NewPickupAddress', {
  merchant_business_id: Type.Optional({ ...Id, description: 'Default: the default business.' }),
  name: textField(100, 'be a name of at most 100 characters', 'Shop'),
  address: textField(1000, 'be text of at most 1000 characters', '12 Temple Road'),
  city_id: { ...Id, examples: [1500] },
  phone: textField(50, 'be a phone number', '0112000100'),
  is_default: Type.Optional(Type.Boolean({ description: 'The first address of a business is its default.' })),
})

const id = Type.Integer({ examples: [12] })
export const Address = component('PickupAddress', {
  id,
  merchant_business_id: Type.Integer(),
  name: Type.String(),
  address: Type.String(),
  city_id: Type.Integer(),
  city: Type.String(),
  phone: Type.String(),
  is_default: Type.Boolean(),
})
export type Address = Static<typeof Address>

const Clock = Type.String({ maxLength: 5, pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', must: 'be a time such as 09:00' })
const Note = textField(1000, 'be text of at most 1000 characters', 'Ring at the back door')

export const PickupRequest = defineBody('PickupRequest', {
  pickup_address_id: Type.Optional({ ...Id, description: 'Default: the default address of the business.' }),
  merchant_business_id: Type.Optional({ ...Id, description: 'Default: that of the address, or the default business.' }),
  day: { ...Day, description: 'The local day.' },
  from: Type.Optional({ ...Clock, description: 'The local time from which somebody is there.', examples: ['09:00'] }),
  to: Type.Optional({ ...Clock, examples: ['12:00'] }),
  waybill_numbers: Type.Optional(waybills),
  all: Type.Optional(
    Type.Boolean({ description: 'All confirmed parcels that are not picked up when the rider comes.' }),
  ),
  parcels: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10_000, description: 'How many, if no waybill is named.' }),
  ),
  note: Type.Optional(Note),
})
export type PickupRequest = Static<typeof PickupRequest>

export const states = ['open', 'done', 'missed', 'withdrawn'] as const
const list = Type.Array(Type.String(), { examples: [['DM00000001']] })
const nullable = orNull(Type.String())
export const Pickup = component('Pickup', {
  id,
  state: oneOf(states),
  day: Type.String({ examples: ['2026-02-19'] }),
  from: nullable,
  to: nullable,
  merchant: Type.Object({ id, name: Type.String() }),
  business: Type.Object({ id, name: Type.String() }),
  address: orNull(Address, { description: 'null: the merchant named none.' }),
  all: Type.Boolean(),
  parcels: Type.Integer({ description: 'The number that the merchant stated, beside the named waybills.' }),
  waybill_numbers: list,
  note: nullable,
  rider: orNull(Type.Object({ id: Type.String(), name: Type.String(), is_active: Type.Boolean() })),
  requested_at: Time(),
  ended_at: orNull(Time()),
  ended_by: nullable,
  reason: orNull(Type.String(), { description: 'Why it was missed.' }),
  scanned: orNull(list, { description: 'What was handed over; null: nothing yet.' }),
  missing: orNull(list, { description: 'Expected, not handed over.' }),
  extra: orNull(list, { description: 'Handed over, not expected.' }),
})
export type Pickup = Static<typeof Pickup>

export const Expectation = component('ExpectedPickup', {
  ...Pickup.properties,
  expected: { ...list, description: 'The parcels that the merchant is to hand over now.' },
  gone: Type.Array(Type.Object({ waybill_number: Type.String(), status: Type.String() }), {
    description: 'Named by the merchant, and cancelled or on their way since.',
  }),
})
export type Expectation = Static<typeof Expectation>

export const Assignment = defineBody('PickupAssignment', {
  rider: {
    ...textField(200, 'be the name of a person', 'Nimal'),
    description: 'The id or the name of a member of staff with the role rider.',
  },
})
export const HandOver = defineBody('HandOver', {
  waybill_numbers: { ...waybills, description: 'What was scanned. All of them are moved, or none.' },
  status_key: Type.Optional(
    Type.String({
      maxLength: 63,
      pattern: '^[a-z0-9][a-z0-9_-]*$',
      must: 'be the key of a status',
      description: 'Where a picked up parcel is, in a set without key_6. Default: key_6.',
      examples: ['key_6'],
    }),
  ),
})
export const Miss = defineBody('MissedPickup', { reason: Reason })
export const Nothing = defineBody('NoFields', {})
