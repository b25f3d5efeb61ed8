import { SendingRoom } from '@courier/shared/contract/sending-room.ts'
import { type TNumber, type TSchema, type TString, Type } from '@sinclair/typebox'
import { initialStatusKeys } from '../statuses/statuses.ts'

/** Makes a field optional: absent, null and "" all mean that it has no value. */
const optional = <S extends TSchema>(schema: S, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { description }))

const text = (maxLength: number, description: string) => Type.String({ maxLength, pattern: '\\S', description })
const optionalText = (maxLength: number, description: string) => optional(Type.String({ maxLength }), description)

/** Accepts a number or its digits: both identify the same record. */
const id = (options: object) => [Type.String({ maxLength: 64, ...options }), Type.Number()] as [TString, TNumber]

const optionalId = (description: string) => Type.Optional(Type.Union([...id({}), Type.Null()], { description }))

/** Is the largest number of the column, an int4. */
export const maxCod = 2147483647
export const maxWeightKg = 1000
export const codRule = `be an integer from 0 to ${maxCod}`
export const weightRule = `be a number above 0 and at most ${maxWeightKg} kg`

export const GeneralData = Type.Object(
  {
    merchant_business_id: Type.Union(id({ maxLength: 64, pattern: '\\S' }), {
      description: 'Business ID of the merchant on whose behalf the orders are created.',
    }),
    origin_city_id: optionalId('ID of the origin city.'),
    origin_city_name: optionalText(255, 'Name of the origin city; required when origin_city_id is absent.'),
    origin_state_name: optionalText(
      255,
      'Name of the origin state; required when origin_city_id is absent and several cities have the name.',
    ),
  },
  { title: 'GeneralData', description: 'Common to the whole batch.' },
)

export const OrderData = Type.Object(
  {
    waybill_number: optionalText(
      50,
      "The order's waybill number, in the courier company's format and unique; required when the company uses manual waybills.",
    ),
    initial_status_key: Type.Optional(
      Type.Union(
        [
          ...initialStatusKeys.map(key => Type.Literal(key)),
          Type.String({ pattern: `^\\s*((${initialStatusKeys.join('|')})\\s*)?$`, maxLength: 40 }),
          Type.Null(),
        ],
        {
          description: 'key_1 (draft, the default) or key_2 (confirmed).',
          sentence: `The selected initial status key is invalid. It may be ${initialStatusKeys.join(' or ')}.`,
        },
      ),
    ),
    order_no: optionalText(100, "The merchant's own order number."),
    customer_name: text(255, 'Name of the recipient.'),
    customer_address: text(1000, 'Delivery address.'),
    customer_phone: text(50, "Recipient's contact number."),
    customer_secondary_phone: optionalText(50, 'Second contact number; kept only where the courier company allows it.'),
    customer_email: optionalText(255, "Recipient's e-mail address."),
    destination_city_id: optionalId('ID of the destination city.'),
    destination_city_name: optionalText(
      255,
      'Name of the destination city; required when destination_city_id is absent.',
    ),
    destination_state_name: optionalText(
      255,
      'Name of the destination state; required when destination_city_id is absent and several cities have the name.',
    ),
    cod: Type.Union(
      [
        Type.Integer({ minimum: 0, maximum: maxCod }),
        Type.String({ maxLength: 40, pattern: '^\\s*\\+?[0-9]+(\\.0*)?\\s*$' }),
      ],
      { description: "Amount to collect on delivery, in whole units of the company's currency.", must: codRule },
    ),
    weight: Type.Union(
      [
        Type.Number({ exclusiveMinimum: 0, maximum: maxWeightKg }),
        Type.String({ maxLength: 40, pattern: '^\\s*\\+?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?\\s*$' }),
      ],
      { description: 'Approximate weight of the package in kilograms.', must: weightRule },
    ),
    description: optionalText(1000, 'Short description of the order.'),
    remark: optionalText(1000, 'Remarks about the order.'),
  },
  { title: 'OrderData' },
)

const example = {
  general_data: { merchant_business_id: '7290', origin_city_id: '1500' },
  order_data: [
    {
      order_no: 'LS-1001',
      customer_name: 'Nimali Perera',
      customer_address: '12 Temple Road, Galle',
      customer_phone: '0770000101',
      destination_city_name: 'Galle',
      destination_state_name: 'Galle',
      cod: 4500,
      weight: 1.2,
      description: 'One pair of shoes',
      remark: '',
    },
  ],
}

/** Allows for the bytes of one order with every character escaped, and some unknown fields. */
export const maxOrderBytes = 65_536

/**
 * Describes the body of a bulk or single request (docs/merchants/contract.md#bulk-request). Unknown fields are ignored.
 */
export const bulkBody = (maxOrders: number) =>
  Type.Object(
    {
      general_data: GeneralData,
      order_data: Type.Array(OrderData, {
        minItems: 1,
        maxItems: maxOrders,
        description: 'One object per order.',
        ...(maxOrders === 1 && { must: 'be a list of exactly one order' }),
      }),
    },
    { title: maxOrders === 1 ? 'SingleOrder' : 'Batch', examples: [example] },
  )

export const createdMessage = 'Orders Created Successfully'
export const quotedMessage = 'Nothing was created: this was a dry run'

const warnings = Type.Optional(
  Type.Record(Type.String(), Type.Array(Type.String()), {
    description: 'Lists by path what looks wrong but is legal; absent if nothing does.',
  }),
)

export const Created = Type.Object(
  {
    message: Type.Literal(createdMessage),
    // Has the type of both responses' field, so that a client in TypeScript tells them apart by it.
    dry_run: Type.Optional(
      Type.Literal(false, { description: 'Absent: only the response to a dry run has this field.' }),
    ),
    data: Type.Array(Type.String(), {
      description: 'Waybill numbers of the new orders, in the order of order_data.',
      examples: [['DM00000001']],
    }),
    warnings,
  },
  { title: 'Created' },
)

export const Quoted = Type.Object(
  {
    message: Type.Literal(quotedMessage),
    dry_run: Type.Literal(true),
    data: Type.Array(
      Type.Object({
        order_no: Type.Union([Type.String(), Type.Null()]),
        destination_city: Type.String(),
        destination_state: Type.String(),
        delivery_charge: Type.Number({ description: "The charge in the company's currency." }),
        currency: Type.String(),
      }),
    ),
    warnings,
    messages: Type.Optional(SendingRoom),
  },
  { title: 'Quoted', description: 'The response to a dry run: nothing was created.' },
)
