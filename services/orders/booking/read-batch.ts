import {
  badText,
  ErrorList,
  isBadText,
  isBlank,
  label,
  listErrors,
  required,
} from '@courier/shared/errors/field-errors.ts'
import type { Static, TObject } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { CityReference } from '../catalogue/cities.ts'
import type { InitialStatusKey } from '../statuses/statuses.ts'
import { type BulkBody, bulkBody, codRule, GeneralData, maxCod, maxWeightKg, OrderData, weightRule } from './schema.ts'

/** One order as the merchant described it: text trimmed, absent fields undefined. */
export interface Order {
  readonly waybill: string | undefined
  readonly statusKey: InitialStatusKey
  readonly orderNo: string | undefined
  readonly customerName: string
  readonly customerAddress: string
  readonly customerPhone: string
  readonly customerSecondaryPhone: string | undefined
  readonly customerEmail: string | undefined
  readonly destination: CityReference
  readonly cod: number
  readonly weightKg: number
  readonly description: string | undefined
  readonly remark: string | undefined
}

export interface Batch {
  readonly businessId: string
  readonly origin: CityReference
  readonly orders: readonly Order[]
}

/** The parts of a batch whose shape is right. */
export type ReadableBatch = Partial<Omit<Batch, 'orders'>> & { readonly orders: readonly (Order | undefined)[] }

type ReadBatch =
  | { kind: 'read'; batch: Batch }
  | { kind: 'malformed'; message: string }
  | { kind: 'refused'; batch: ReadableBatch; errors: ErrorList }

/** Compiles a reader of bodies, as JSON and as bytes, of up to `maxOrders` orders. */
export const batchReader = (maxOrders: number): ((body: unknown, bytes: Buffer | undefined) => ReadBatch) => {
  const check = TypeCompiler.Compile(bulkBody(maxOrders))
  return (body, bytes) =>
    bytes?.length
      ? readBody(check, body, mayHoldBadText(bytes), maxOrders)
      : {
          kind: 'malformed',
          message: 'The body is not valid JSON: it ends too early, at position 0 (line 1 column 1).',
        }
}

/** Returns true if the text may hold what Postgres refuses: in valid UTF-8 that stands only in escapes. */
const mayHoldBadText = (bytes: Buffer): boolean =>
  bytes.includes('\\') && /\\u(0000|d[89a-f])/i.test(bytes.toString('latin1'))

type Json = Record<string, unknown>
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const readBody = (
  check: TypeCheck<ReturnType<typeof bulkBody>>,
  body: unknown,
  mayBeBad: boolean,
  maxOrders: number,
): ReadBatch => {
  const record = isObject(body) ? body : {}
  const isRight = check.Check(body) || (dropEmptyLists(body, maxOrders) && check.Check(body))
  const errors = isRight ? new ErrorList() : listErrors(check, record)
  addRuleErrors(record, mayBeBad, maxOrders, errors)
  if (errors.count === 0) return { kind: 'read', batch: toBatch(body as BulkBody) }
  if (Array.isArray(body)) for (const path of [...errors.paths]) errors.add(path, bodyIsList)
  return { kind: 'refused', errors, batch: readRest(record as Partial<BulkBody>, maxOrders, errors) }
}

const bodyIsList = 'The body must be an object with general_data and order_data, not a list.'

/** Nothing where there may be more errors than were counted. */
const readRest = (
  { general_data: general, order_data: items }: Partial<BulkBody>,
  maxOrders: number,
  { paths, isFull }: ErrorList,
): ReadableBatch => {
  const wrong = wrongParts(paths)
  const isReadable = Array.isArray(items) && items.length <= maxOrders && !isFull
  return {
    ...(general && !isFull && !wrong.has('general_data') && readGeneral(general)),
    orders: isReadable
      ? items.map((item, index) => (wrong.has(`order_data.${index}`) ? undefined : toOrder(item)))
      : [],
  }
}

export const optionalNames = ({ properties, required = [] }: TObject): string[] =>
  Object.keys(properties).filter(name => !required.includes(name))
/** `general_data`, and `order_data.3` of an order. */
export const wrongParts = (paths: ReadonlySet<string>): Set<string | undefined> =>
  new Set([...paths].map(path => /^(general_data|order_data\.\d+)?/.exec(path)?.[0]))

const optionalOfGeneral = optionalNames(GeneralData)
const optionalOfOrder = optionalNames(OrderData)

/** Removes `[]`, which PHP writes for no value, from optional fields. Whether there were any. Other bodies pay nothing for it. */
const dropEmptyLists = (body: unknown, maxOrders: number): boolean => {
  if (!isObject(body)) return false
  const { order_data: items } = body
  const orders = Array.isArray(items) && items.length <= maxOrders ? items : []
  const ofOrders = orders.filter(order => dropFrom(order, optionalOfOrder)).length
  return dropFrom(body.general_data, optionalOfGeneral) || ofOrders > 0
}

export const dropFrom = (record: unknown, names: readonly string[]): boolean => {
  if (!isObject(record)) return false
  const empty = names.filter(name => Array.isArray(record[name]) && record[name].length === 0)
  for (const name of empty) delete record[name]
  return empty.length > 0
}

/** The rules that the schema cannot express. They also run on bodies that fail it: one response lists every error. */
const addRuleErrors = (body: Json, mayBeBad: boolean, maxOrders: number, errors: ErrorList): void => {
  const { general_data: general, order_data: items } = body
  if (isObject(general)) {
    requireNames(general, 'general_data.', 'origin', errors)
    if (mayBeBad) refuseBadText(general, 'general_data.', errors)
  }
  if (!Array.isArray(items) || items.length > maxOrders) return
  for (const [index, item] of items.entries()) {
    if (errors.isFull) return
    if (!isObject(item)) continue
    const path = `order_data.${index}.`
    requireNames(item, path, 'destination', errors)
    refuseNumbers(item, path, errors)
    if (mayBeBad) refuseBadText(item, path, errors)
  }
}

export const requireNames = (record: Json, path: string, end: 'origin' | 'destination', errors: ErrorList): void => {
  if (!isBlank(record[`${end}_city_id`])) return
  for (const name of [`${end}_city_name`, `${end}_state_name`])
    if (isBlank(record[name]))
      errors.addFirst(path + name, `The ${label(name)} field is required when ${end} city id is not present.`)
}

/** Digits in a string pass the schema whatever their value. */
export const refuseNumbers = ({ cod, weight }: Json, path: string, errors: ErrorList): void => {
  if (typeof cod === 'string' && Number(cod) > maxCod) errors.addFirst(`${path}cod`, `The cod field must ${codRule}.`)
  if (typeof weight === 'string' && !(Number(weight) > 0 && Number(weight) <= maxWeightKg))
    errors.addFirst(`${path}weight`, isBlank(weight) ? required('weight') : `The weight field must ${weightRule}.`)
}

export const refuseBadText = (record: Json, path: string, errors: ErrorList): void => {
  for (const [name, value] of Object.entries(record))
    if (knownFields.has(name) && typeof value === 'string' && isBadText(value))
      errors.addFirst(path + name, badText(name))
}

const knownFields = new Set([...Object.keys(GeneralData.properties), ...Object.keys(OrderData.properties)])

const toBatch = ({ general_data: general, order_data: items }: BulkBody): Batch => ({
  ...readGeneral(general),
  orders: items.map(toOrder),
})

const readGeneral = (general: Static<typeof GeneralData>) => ({
  businessId: String(general.merchant_business_id).trim(),
  origin: cityReference(general.origin_city_id, general.origin_city_name, general.origin_state_name),
})

const toOrder = (item: Static<typeof OrderData>): Order => ({
  waybill: optionalText(item.waybill_number),
  statusKey: (optionalText(item.initial_status_key) as InitialStatusKey | undefined) ?? 'key_1',
  orderNo: optionalText(item.order_no),
  customerName: item.customer_name.trim(),
  customerAddress: item.customer_address.trim(),
  customerPhone: item.customer_phone.trim(),
  customerSecondaryPhone: optionalText(item.customer_secondary_phone),
  customerEmail: optionalText(item.customer_email),
  destination: cityReference(item.destination_city_id, item.destination_city_name, item.destination_state_name),
  cod: Number(item.cod),
  weightKg: Number(item.weight),
  description: optionalText(item.description),
  remark: optionalText(item.remark),
})

export const optionalText = (text: string | null | undefined): string | undefined => text?.trim() || undefined

/** Beside an id the names serve suggestions only. */
export const cityReference = (
  id: string | number | null | undefined,
  cityName?: string | null,
  stateName?: string | null,
): CityReference => ({
  cityId: isBlank(id) ? undefined : String(id).trim(),
  cityName: optionalText(cityName),
  stateName: optionalText(stateName),
})
