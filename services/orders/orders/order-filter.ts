import { dateOrTime, id, text, type Wanted } from '@courier/shared/http/filters.ts'
import { Type } from '@sinclair/typebox'

const phone = {
  schema: Type.String({
    maxLength: 80,
    pattern: '^(\\s*|[ +().-]*[0-9][0-9 +().-]{0,39})$',
    description: "The recipient's phone number in any spelling: the last nine digits count.",
    must: 'be a phone number',
  }),
  read: (text: string) => text,
  aliases: ['customer_phone'],
}

/** The filters of a merchant's list. */
export const merchantFilters = {
  status: text('The key of a status.', 'status_key'),
  created_at: dateOrTime('A date in the time zone of the courier company, or a time.'),
  created_from: dateOrTime('The same; the date or time itself is included, and all that follows.'),
  created_to: dateOrTime('The same; the date or time itself is included, and all before it.'),
  waybill_number: text('The whole number.'),
  order_no: text("The merchant's own order number, the whole of it."),
  phone,
  business_id: id('The business that the orders are of.', 'merchant_business_id'),
  origin_city_id: id('The city that the orders leave from.'),
  destination_city_id: id('The city of delivery.'),
}

export const staffFilters = { ...merchantFilters, merchant_id: id('The merchant that the orders are of.') }

export type OrderFilter = Wanted<typeof staffFilters>
