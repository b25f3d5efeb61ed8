import { isUtf8 } from 'node:buffer'
import type { Faults } from '@courier/shared/http/errors.ts'
import { badText, faultsOf, isBadText, isBlank, label, maxSentences, required } from '@courier/shared/http/faults.ts'
import type { Static } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { PlaceReference } from '../directory/places.ts'
import type { InitialStatusKey } from '../tracking/statuses.ts'
import { type BulkBody, bulkBody, codRule, GeneralData, maxCod, maxWeightKg, OrderData, weightRule } from './schema.ts'

/** One order as the merchant described it: text trimmed, what was not given undefined. */
export interface Order {
  readonly waybill: string | undefined
  readonly statusKey: InitialStatusKey
  readonly orderNo: string | undefined
  readonly customerName: string
  readonly customerAddress: string
  readonly customerPhone: string
  readonly customerSecondaryPhone: string | undefined
  readonly customerEmail: string | undefined
  readonly destination: PlaceReference
  readonly cod: number
  readonly weightKg: number
  readonly description: string | undefined
  readonly remark: string | undefined
}

export interface Batch {
  readonly businessId: string
  readonly origin: PlaceReference
  readonly orders: readonly Order[]
}

export type ReadBatch =
  | { kind: 'read'; batch: Batch }
  | { kind: 'malformed'; message: string }
  | { kind: 'refused'; faults: Faults }

/** Makes the reader of bulk bodies of up to `maxOrders` orders. Its check is compiled once. */
export const batchReader = (maxOrders: number): ((bytes: Buffer) => ReadBatch) => {
  const check = TypeCompiler.Compile(bulkBody(maxOrders))
  return bytes => {
    if (!isUtf8(bytes)) return { kind: 'malformed', message: 'The body is not valid UTF-8.' }
    const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch (error) {
      return { kind: 'malformed', message: `The body is not valid JSON: ${position(error)}` }
    }
    return readBody(check, body, mayHoldBadText.test(text))
  }
}

/** Valid UTF-8 can hold text that Postgres does not take only as escapes. */
const mayHoldBadText = /\\u(0000|[dD][89a-fA-F])/

/** JSON.parse quotes the body in its message; a caller needs only the place, a log must not have more. */
const position = (error: unknown): string =>
  /at position \d+.*$/.exec(String(error))?.[0] ??
  (/end of JSON input/.test(String(error)) ? 'it ends too early.' : 'a value in it is not JSON.')

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const readBody = (check: TypeCheck<ReturnType<typeof bulkBody>>, body: unknown, mayBeBad: boolean): ReadBatch => {
  const faults = check.Check(body) ? {} : faultsOf(check, isObject(body) ? body : {})
  if (isObject(body)) addRuleFaults(body, mayBeBad, faults)
  const paths = Object.keys(faults)
  if (paths.length === 0) return { kind: 'read', batch: toBatch(body as BulkBody) }
  for (const path of paths.slice(maxSentences)) delete faults[path]
  return { kind: 'refused', faults }
}

/** The rules that the schema cannot say. They are tried on bodies that failed it too: one answer lists everything. */
const addRuleFaults = (body: Json, mayBeBad: boolean, faults: Faults): void => {
  let room = maxSentences
  const { general_data: general, order_data: items } = body
  if (isObject(general)) {
    requireNames(general, 'general_data.', 'origin', faults)
    if (mayBeBad) refuseBadText(general, 'general_data.', faults)
  }
  if (!Array.isArray(items)) return
  for (const [index, item] of items.entries()) {
    if (!isObject(item)) continue
    const path = `order_data.${index}.`
    const ofItem: Faults = {}
    requireNames(item, path, 'destination', ofItem)
    refuseNumbers(item, path, ofItem)
    if (mayBeBad) refuseBadText(item, path, ofItem)
    for (const [field, sentences] of Object.entries(ofItem)) {
      if (room-- <= 0) return
      faults[field] ??= sentences
    }
  }
}

const requireNames = (record: Json, path: string, end: 'origin' | 'destination', faults: Faults): void => {
  if (!isBlank(record[`${end}_city_id`])) return
  for (const name of [`${end}_city_name`, `${end}_state_name`])
    if (isBlank(record[name]))
      faults[path + name] ??= [`The ${label(name)} field is required when ${end} city id is not present.`]
}

/** Digits in a string pass the schema whatever they amount to. */
const refuseNumbers = ({ cod, weight }: Json, path: string, faults: Faults): void => {
  if (typeof cod === 'string' && Number(cod) > maxCod) faults[`${path}cod`] ??= [`The cod field must ${codRule}.`]
  if (typeof weight === 'string' && !(Number(weight) > 0 && Number(weight) <= maxWeightKg))
    faults[`${path}weight`] ??= isBlank(weight) ? [required('weight')] : [`The weight field must ${weightRule}.`]
}

const refuseBadText = (record: Json, path: string, faults: Faults): void => {
  for (const [name, value] of Object.entries(record))
    if (knownFields.has(name) && typeof value === 'string' && isBadText(value)) faults[path + name] = [badText(name)]
}

const knownFields = new Set([...Object.keys(GeneralData.properties), ...Object.keys(OrderData.properties)])

const toBatch = ({ general_data: general, order_data: items }: BulkBody): Batch => ({
  businessId: String(general.merchant_business_id).trim(),
  origin: place(general.origin_city_id, general.origin_city_name, general.origin_state_name),
  orders: items.map(toOrder),
})

const toOrder = (item: Static<typeof OrderData>): Order => ({
  waybill: given(item.waybill_number),
  statusKey: (given(item.initial_status_key) as InitialStatusKey | undefined) ?? 'key_1',
  orderNo: given(item.order_no),
  customerName: item.customer_name.trim(),
  customerAddress: item.customer_address.trim(),
  customerPhone: item.customer_phone.trim(),
  customerSecondaryPhone: given(item.customer_secondary_phone),
  customerEmail: given(item.customer_email),
  destination: place(item.destination_city_id, item.destination_city_name, item.destination_state_name),
  cod: Number(item.cod),
  weightKg: Number(item.weight),
  description: given(item.description),
  remark: given(item.remark),
})

const given = (text: string | null | undefined): string | undefined => text?.trim() || undefined

const place = (
  id: string | number | null | undefined,
  cityName?: string | null,
  stateName?: string | null,
): PlaceReference =>
  isBlank(id) ? { cityName: given(cityName), stateName: given(stateName) } : { cityId: String(id).trim() }
