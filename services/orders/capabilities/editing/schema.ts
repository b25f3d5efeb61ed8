import { component } from '@courier/shared/schemas.ts'
import { Type } from '@sinclair/typebox'
import { OrderData } from '../../core/booking/schema.ts'
import { Note } from '../../core/moves/move-schema.ts'

const { customer_name, customer_address, customer_phone, customer_secondary_phone, customer_email, ...rest } =
  OrderData.properties
const { destination_city_id, destination_city_name, destination_state_name, cod, weight, description } = rest

const fields = {
  customer_name: Type.Optional(customer_name),
  customer_address: Type.Optional(customer_address),
  customer_phone: Type.Optional(customer_phone),
  customer_secondary_phone,
  customer_email,
  destination_city_id,
  destination_city_name,
  destination_state_name,
  cod: Type.Optional(cod),
  weight: Type.Optional(weight),
  description,
}
export const fieldNames = Object.keys(fields)

const byMove = 'an order moves with POST /order/confirm, /order/cancel or, by staff, /order/status.'
const fromStart = 'the price and the pickup follow from it. Cancel the order and book it again.'
const fromBooking = 'the booking set it.'

/** Says why each of the other fields of an order cannot be changed. */
export const fixedFields: Readonly<Record<string, string>> = {
  waybill_number: 'labels and messages carry it. Cancel the order and book it again.',
  order_no: 'your own records refer to it. Cancel the order and book it again.',
  merchant_business_id: fromStart,
  origin_city_id: fromStart,
  origin_city_name: fromStart,
  origin_state_name: fromStart,
  status: byMove,
  status_key: byMove,
  initial_status_key: byMove,
  delivery_charge: 'it follows from the city and the weight.',
  merchant: fromBooking,
  merchant_id: fromBooking,
  merchant_business_name: fromBooking,
  currency: fromBooking,
  created_at: fromBooking,
  remark: fromBooking,
}

const options = { additionalProperties: false, description: 'At least one field; absent fields stay as they are.' }

/** Defines the fields of an order that a merchant can change. */
export const OrderEdit = Type.Object(fields, {
  ...options,
  title: 'OrderEdit',
  examples: [{ customer_phone: '0770000102', customer_address: '14 Temple Road, Galle' }],
})

/** Defines the same fields for staff, who give a reason. */
export const StaffOrderEdit = Type.Object(
  {
    ...fields,
    reason: { ...Note, description: 'The reason; staff see it with the order.' },
  },
  { ...options, title: 'StaffOrderEdit', examples: [{ reason: 'The customer called', customer_phone: '0770000102' }] },
)

export const EditHeaders = Type.Object({
  'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }),
  'if-match': Type.Optional(
    Type.String({
      description:
        'The ETag that the order had when you read it: 412 if it has changed since. Without it, the last change wins.',
    }),
  ),
})

export const editedMessage = 'Order Updated Successfully'

export const EditedOrder = component('EditedOrder', {
  message: Type.Literal(editedMessage),
  data: Type.Object({
    waybill_number: Type.String(),
    fields: Type.Array(Type.String(), {
      description: 'The fields whose values changed; destination_city_id for the city, however it was given.',
    }),
    delivery_charge: Type.Number(),
    currency: Type.String(),
  }),
  warnings: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description: 'Lists by field what looks wrong but is accepted; absent if nothing does.',
    }),
  ),
})
