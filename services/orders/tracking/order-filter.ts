import { type Faults, invalid } from '@courier/shared/http/errors.ts'
import { FilterText, filterFields } from '@courier/shared/http/pages.ts'
import { Type } from '@sinclair/typebox'

const Time = (description: string) => Type.String({ maxLength: 40, description })
const Digits = (description: string, must: string) =>
  Type.String({ pattern: '^\\s*([1-9][0-9]{0,17})?\\s*$', description, must })
const Id = (description: string) => Digits(description, 'be an id')

/** What both lists filter by. Blank is not given. */
const filters = {
  status: FilterText('The key of a status.'),
  created_from: Time('A date in the time zone of the courier company, or a time such as 2026-02-19T08:00:00Z.'),
  created_to: Time('The same; the date or time itself is included.'),
  waybill_number: FilterText('The whole number.'),
  order_no: FilterText("The merchant's own order number, the whole of it."),
  phone: Type.String({
    pattern: '^(\\s*|[ +().-]*[0-9][0-9 +().-]{0,39})$',
    description: "The recipient's phone number in any spelling: the last nine digits count.",
    must: 'be a phone number',
  }),
  business_id: Id('The business that the orders are of.'),
}
const staffFilters = { ...filters, merchant_id: Id('The merchant that the orders are of.') }

const optional = <Fields extends Record<string, ReturnType<typeof Type.String>>>(fields: Fields) => ({
  ...Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, Type.Optional(schema)])),
  ...filterFields(fields),
})

/** Each as `status=…` or `filter[status]=…`. */
export const merchantFilterFields = optional(filters)
export const staffFilterFields = optional(staffFilters)

/** A moment: a date begins and ends in the time zone of the tenant, a time is UTC. */
export type Moment = { readonly date: string } | { readonly time: string }

export interface OrderFilter {
  readonly merchantId?: string | undefined
  readonly businessId?: string | undefined
  readonly status?: string | undefined
  readonly createdFrom?: Moment | undefined
  readonly createdTo?: Moment | undefined
  readonly waybill?: string | undefined
  readonly orderNo?: string | undefined
  readonly phone?: string | undefined
}

type Query = Readonly<Record<string, unknown>>

/** What a checked query filters by. Throws 422 for a date that is none. */
export const readFilter = (query: Query): OrderFilter => {
  const faults: Faults = {}
  const time = (name: string): Moment | undefined => {
    const [field, value] = given(query, name)
    const moment = value === undefined ? undefined : readMoment(value)
    if (value !== undefined && !moment)
      faults[field] = [
        `The ${name.replace('_', ' ')} field must be a date such as 2026-02-19 or a time such as 2026-02-19T08:00:00Z.`,
      ]
    return moment
  }
  const text = (name: string): string | undefined => given(query, name)[1]
  const filter = {
    merchantId: text('merchant_id'),
    businessId: text('business_id'),
    status: text('status'),
    createdFrom: time('created_from'),
    createdTo: time('created_to'),
    waybill: text('waybill_number'),
    orderNo: text('order_no'),
    phone: text('phone'),
  }
  if (Object.keys(faults).length > 0) throw invalid(faults)
  return filter
}

/** The field that a filter came as, and its text. */
const given = (query: Query, name: string): [field: string, text: string | undefined] => {
  const fields = [name, `filter[${name}]`]
  const field = fields.find(candidate => String(query[candidate] ?? '').trim() !== '') ?? name
  return [field, String(query[field] ?? '').trim() || undefined]
}

const dateText = /^(19|2\d)\d\d-\d\d-\d\d$/
/** A plus sign of an address that is not escaped arrives as a blank. */
const timeText = /^((19|2\d)\d\d-\d\d-\d\d)[T ](\d\d:\d\d(:\d\d(\.\d{1,6})?)?)(Z|[+ -]\d\d:\d\d)$/

const readMoment = (text: string): Moment | undefined => {
  if (dateText.test(text)) return isDate(text) ? { date: text } : undefined
  const [, date = '', , clock, , , zone = ''] = timeText.exec(text) ?? []
  const time = new Date(`${date}T${clock}${zone.replace(' ', '+')}`)
  return isDate(date) && !Number.isNaN(time.getTime()) ? { time: time.toISOString() } : undefined
}

/** JavaScript takes 2026-02-30 for the 2nd of March. */
const isDate = (text: string): boolean => {
  const day = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}
