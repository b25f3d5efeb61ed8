import { UtcTime } from '@courier/shared/contract/order-events.ts'
import { textPattern } from '@courier/shared/lists/filters.ts'
import { closed, component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { textField } from '../../core/actions/fields.ts'
import { StatusLabel } from '../../core/tracking/order-schema.ts'
import { ProofRules } from './company.ts'

// Describes what riders' phones read and send.

/** Lists why an act is refused (docs/staff/riders.md#refused-acts). */
export const refusalCodes = [
  ...['not_with_you', 'given_away', 'moved', 'cod_changed', 'amount', 'reason', 'proof_missing', 'proof_invalid'],
  ...['wrong_code', 'code_blocked', 'cash_handed_over', 'clock', 'deactivated', 'unknown', 'reused'],
] as const

export const actKinds = ['deliver', 'fail', 'hand_back', 'take', 'drop'] as const
export type ActKind = (typeof actKinds)[number]

export const maxProofBytes = 1_000_000
const Image = Type.Optional(
  Type.String({
    maxLength: Math.ceil(maxProofBytes / 3) * 4 + 4,
    must: `be at most ${maxProofBytes} bytes in base64`,
    description: 'A JPEG, PNG or WebP in base64.',
  }),
)
const note = textField(500, 'be text of at most 500 characters', 'Asked for another day')

const Size = Type.Optional(Type.Integer({ minimum: 1, maximum: maxProofBytes }))

export const Proof = Type.Object(
  {
    photo: Image,
    signature: Image,
    follows: Type.Optional({
      ...closed({ photo: Size, signature: Size }),
      description: 'The sizes in bytes of images that follow the act in parts (`sendProofPart`).',
    }),
    code: Type.Optional(
      Type.String({ maxLength: 32, pattern: textPattern, must: 'be a code', description: 'What the recipient says.' }),
    ),
    without: Type.Optional({ ...note, description: 'Why the proof that the company wants is missing.' }),
  },
  { additionalProperties: false },
)
export type Proof = Static<typeof Proof>

const ActId = Type.String({
  maxLength: 64,
  pattern: '^[A-Za-z0-9_-]{8,64}$',
  must: 'be 8 to 64 of A-Z, a-z, 0-9, _ and -',
  description: 'Made by the phone; an act takes effect once.',
})
const waybill = Type.String({ maxLength: 50, pattern: '^[\\x21-\\x7e]{1,50}$', must: 'be a waybill number' })

export const Act = Type.Object(
  {
    id: ActId,
    kind: oneOf(actKinds),
    waybill_number: waybill,
    happened_at: { ...UtcTime, description: 'The time by the clock of the phone.' },
    cod: Type.Optional(Type.Integer({ minimum: 0, description: 'The COD that the rider saw; `deliver` needs it.' })),
    amount: Type.Optional(
      Type.Number({ minimum: 0, maximum: 9_999_999_999.99, must: 'be an amount', description: 'What was collected.' }),
    ),
    method: Type.Optional(Type.String({ maxLength: 20, pattern: '^[a-z]+$', must: 'be a way to pay' })),
    reason: Type.Optional({ ...note, description: 'Why the amount is not the COD.' }),
    partly: Type.Optional(Type.Boolean({ description: 'The recipient took a part of the parcel.' })),
    reason_code: Type.Optional(
      Type.String({
        maxLength: 63,
        pattern: '^[a-z][a-z0-9_]*$',
        must: 'be a code',
        description: 'Why the delivery failed; `fail` needs it.',
      }),
    ),
    note: Type.Optional(note),
    act: Type.Optional({ ...ActId, description: 'The refused act that the rider gives up; `drop` needs it.' }),
    proof: Type.Optional(Proof),
  },
  { title: 'RiderAct', additionalProperties: false },
)
export type Act = Static<typeof Act>

const exampleAct = {
  id: '01936c5e-9b1c-7000-8000-000000000001',
  kind: 'deliver',
  waybill_number: 'DM00000001',
  happened_at: '2026-02-19T10:03:00.000Z',
  cod: 4500,
  amount: 4500,
  method: 'cash',
}
export const Acts = Type.Object(
  { acts: Type.Array(Act, { minItems: 1, maxItems: 100, description: 'Applied in this order.' }) },
  { title: 'RiderActs', additionalProperties: false, examples: [{ acts: [exampleAct] }] },
)
/** Fits two photographs, or a hundred acts without any. */
export const maxActBytes = 4_194_304

/** Fits 128 kB in base64. A phone sends less at once where a request would take longer than the service waits. */
export const maxPartBytes = 200_000
export const ProofPart = Type.Object(
  {
    act: ActId,
    kind: oneOf(['photo', 'signature']),
    offset: Type.Integer({ minimum: 0, maximum: maxProofBytes, description: 'The first byte of this part.' }),
    bytes: Type.String({ minLength: 4, maxLength: maxPartBytes, must: 'be base64', description: 'In base64.' }),
  },
  {
    title: 'ProofPart',
    additionalProperties: false,
    examples: [{ act: exampleAct.id, kind: 'photo', offset: 0, bytes: '/9j/4AAQ' }],
  },
)
export type ProofPart = Static<typeof ProofPart>

const nullable = orNull(Type.String())
const outcome = oneOf(['done', 'refused'])
const code = orNull(oneOf(refusalCodes), { description: 'Why the act was refused.', examples: [null] })
export const ActOutcome = component('RiderActOutcome', {
  id: Type.String(),
  outcome,
  code,
  message: { ...nullable, examples: [null] },
  replayed: Type.Boolean({ description: 'True: the act came before, and this is what became of it.' }),
})
export type ActOutcome = Static<typeof ActOutcome>

export const RefusedAct = component('RefusedAct', {
  act_no: Type.Integer(),
  id: Type.String(),
  kind: Type.String({ examples: ['deliver'] }),
  waybill_number: Type.String(),
  happened_at: Type.String({ description: 'By the clock of the phone.' }),
  received_at: Type.String(),
  code: Type.String({ examples: ['given_away'] }),
  message: Type.String(),
  amount: orNull(Type.Number()),
})
export type RefusedAct = Static<typeof RefusedAct>

export const decisions = ['applied', 'dismissed', 'dropped'] as const
export const DecidedAct = component('DecidedAct', {
  id: Type.String(),
  waybill_number: Type.String(),
  decision: oneOf(decisions),
  by: nullable,
  at: nullable,
  note: nullable,
})

const needs = { delivered: Type.String({ examples: ['photo'] }), failed: Type.String({ examples: ['none'] }) }
export const MyParcel = component('MyParcel', {
  waybill_number: Type.String(),
  order_no: nullable,
  state: oneOf(['to_do', 'done', 'failed']),
  position: orNull(Type.Integer()),
  status: StatusLabel,
  assigned_at: Type.String(),
  assigned_by: Type.String(),
  business_name: Type.String(),
  customer_name: Type.String(),
  customer_address: Type.String(),
  city: Type.String(),
  state_name: Type.String(),
  customer_phone: Type.String(),
  customer_secondary_phone: nullable,
  whatsapp_digits: orNull(Type.String(), {
    description: 'The international digits of customer_phone; null: they are not known.',
    examples: ['94770000101'],
  }),
  cod: Type.Integer({ description: 'Whole units of the currency.' }),
  currency: Type.String(),
  weight: Type.Number(),
  description: nullable,
  remark: nullable,
  failed_attempts: Type.Integer(),
  instruction: orNull(Type.Object({ action: Type.String(), date: nullable, note: nullable, given_as: Type.String() }), {
    description: 'The newest instruction after a failed delivery.',
  }),
  can_deliver: Type.Boolean(),
  can_deliver_partly: Type.Boolean(),
  can_fail: Type.Boolean(),
  proof: Type.Object(needs, { description: 'The proofs that this parcel needs.' }),
  changed_at: { ...nullable, description: 'The time of the last edit.' },
})
export type MyParcel = Static<typeof MyParcel>

export const MyParcels = component('MyParcels', {
  as_of: Type.String(),
  rider: Type.Object({ id: Type.String({ examples: ['7'] }), name: Type.String({ examples: ['Nimal'] }) }),
  counts: Type.Object({ to_do: Type.Integer(), done: Type.Integer(), failed: Type.Integer() }),
  money: Type.Boolean({ description: 'False: amounts are not asked.' }),
  cash: orNull(Type.Object({ parcels: Type.Integer(), amount: Type.Number() })),
  methods: Type.Array(Type.String(), { examples: [['cash', 'card']] }),
  reasons: Type.Array(Type.Object({ code: Type.String(), name: Type.String() }), {
    examples: [[{ code: 'not_home', name: 'Nobody at home' }]],
  }),
  proof: Type.Object({ ...needs, above_cod: orNull(ProofRules.properties.above_cod) }),
  max_proof_bytes: Type.Integer({ examples: [maxProofBytes] }),
  parcels: Type.Array(MyParcel),
  refused: Type.Array(RefusedAct, { description: 'Acts that wait for a decision.' }),
  decided: Type.Array(DecidedAct, { description: 'Decisions of the last seven days.' }),
})
export type MyParcels = Static<typeof MyParcels>
