import * as filter from '@courier/shared/lists/filters.ts'
import { readDigits } from '@courier/shared/phone-number.ts'
import { Type } from '@sinclair/typebox'
import { statusClasses } from '../statuses/statuses.ts'

const phone: filter.Filter<string> = {
  schema: Type.String({
    maxLength: 80,
    description: "The recipient's phone number, with or without the country code, in any spelling.",
    must: 'be a phone number',
  }),
  read: text => (readDigits(text) === '' ? undefined : text),
  aliases: ['customer_phone'],
}

const search: filter.Filter<string> = {
  schema: Type.String({
    maxLength: 100,
    pattern: filter.textPattern,
    description: "A part of the recipient's name or phone, or of the waybill number. Read by cursor, without a count.",
    must: 'be text of 3 to 100 characters',
  }),
  read: text => (text.length >= 3 ? text : undefined),
}

export const merchantFilters = {
  status: filter.text('The key of a status.', 'status_key'),
  created_at: filter.dateOrTime('A date in the time zone of the courier company, or a time.'),
  created_from: filter.dateOrTime('The first date or time of creation to include.', 'start_date'),
  created_to: filter.dateOrTime('The last date or time of creation to include.', 'end_date'),
  waybill_number: filter.text('The whole waybill number.'),
  order_no: filter.text("The merchant's own order number, in full."),
  phone,
  business_id: filter.id('The business that the orders belong to.', 'merchant_business_id'),
  origin_city_id: filter.id('The city that the orders leave from.'),
  destination_city_id: filter.id('The city of delivery.'),
  search,
}

export const staffFilters = {
  ...merchantFilters,
  business_id: filter.id(
    'The business that the orders belong to; without merchant_id, only the orders of its present merchant.',
    'merchant_business_id',
  ),
  merchant_id: filter.id('The merchant that the orders belong to.'),
  status_class: filter.oneOf(statusClasses, "The class of the status; the company's own statuses are under_way."),
  delivered_on: filter.date('The date of a delivery, in the time zone of the courier company.'),
  failed_on: filter.date('The date of a failed delivery attempt, in the time zone of the courier company.'),
}

/** Lets a capability add a filter to staff's lists of orders. */
export interface AddedFilter {
  readonly filter: filter.Filter<string>
  /** Writes the condition on `orders`, of the tenant $1. `placeholder` stands for `value` in the statement. */
  readonly conditionSql: (value: string, placeholder: string) => string
}
export type AddedFilters = Readonly<Record<string, AddedFilter>>

export type OrderFilter = filter.Wanted<typeof staffFilters> & {
  /** Lists the filters that capabilities added, with the values that a request gives. */
  readonly added?: readonly (Pick<AddedFilter, 'conditionSql'> & { readonly value: string })[] | undefined
  /** Lists the keys of the statuses in `status_class`. */
  readonly status_keys?: readonly string[] | undefined
  /** Lists how the column may hold `phone`. */
  readonly phones?: readonly string[] | undefined
  /** Lists patterns of the phone numbers that `search` may stand for. */
  readonly phone_parts?: readonly string[] | undefined
}
