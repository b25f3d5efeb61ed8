import { badText, ErrorList, isBadText, isBlank, listErrors, required } from '@courier/shared/errors/field-errors.ts'
import type { Static, TObject } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { type CityReference, requiredName } from '../places/cities.ts'
import type { InitialStatusKey } from '../statuses/statuses.ts'
import { bulkBody, codRule, GeneralData, maxCod, maxWeightKg, OrderData, weightRule } from './schema.ts'

/** Holds an order as the merchant described it, trimmed. Absent fields are undefined; the default status is key_1. */
export type Order = Readonly<ReturnType<typeof toOrder>>

export type Batch = Readonly<ReturnType<typeof readGeneral>> & {
  readonly orders: readonly Order[]
  /** Holds all fields of general_data, for the points of capabilities. */
  readonly given?: Readonly<Record<string, unknown>>
}

export type ReadableBatch = Partial<Omit<Batch, 'orders'>> & { readonly orders: readonly (Order | undefined)[] }

type ReadBatch =
  | { kind: 'read'; batch: Batch }
  | { kind: 'malformed'; message: string }
  | { kind: 'refused'; batch: ReadableBatch; errors: ErrorList }

/** Compiles a reader for batches of up to `maxOrders` orders; it takes each body both parsed and as bytes. */
export const createBatchReader = (maxOrders: number): ((body: unknown, bytes: Buffer | undefined) => ReadBatch) => {
  const readParts = createPartsReader(bulkBody(maxOrders), GeneralData, OrderData, maxOrders)
  return (body, bytes) => {
    if (!bytes?.length) return { kind: 'malformed', message: 'The body is not valid JSON: it ends too early.' }
    const { general, orders: items, errors } = readParts(body, mayHoldBadText(bytes))
    const orders = items.map(item => item && toOrder(item))
    if (errors.count === 0 && general)
      return { kind: 'read', batch: { ...readGeneral(general), given: general, orders: orders as Order[] } }
    if (Array.isArray(body)) for (const path of [...errors.paths]) errors.add(path, bodyIsList)
    return { kind: 'refused', errors, batch: { ...(general && { ...readGeneral(general), given: general }), orders } }
  }
}

const bodyIsList = 'The body must be an object with general_data and order_data, not a list.'

/** Returns true if the text may hold characters that Postgres refuses: JSON in valid UTF-8 has them only in escapes. */
const mayHoldBadText = (bytes: Buffer): boolean =>
  bytes.includes('\\') && /\\u(0000|d[89a-f])/i.test(bytes.toString('latin1'))

type Json = Record<string, unknown>
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Compiles a reader of `general_data` and `order_data` that lists every error of their shape. Ignores unknown fields. A
 * part is absent if its shape is wrong; all parts are absent if the list of errors is full.
 */
export const createPartsReader = <General extends TObject, Item extends TObject>(
  schema: TObject,
  general: General,
  item: Item,
  maxOrders: number,
) => {
  const check = TypeCompiler.Compile(schema)
  const fields = new Set([...Object.keys(general.properties), ...Object.keys(item.properties)])
  return (body: unknown, mayHoldBadText: boolean) => {
    const record = isObject(body) ? body : {}
    const { general_data, order_data } = record
    const items: unknown[] = Array.isArray(order_data) && order_data.length <= maxOrders ? order_data : []
    const dropEmptyLists = () => {
      const dropped = items.filter(each => removeEmptyLists(each, item))
      return removeEmptyLists(general_data, general) || dropped.length > 0
    }
    const isRight = check.Check(record) || (dropEmptyLists() && check.Check(record))
    const errors = isRight ? new ErrorList() : listErrors(check, record)
    // The rules that the schema cannot express also run on bodies that fail it: one response lists every error.
    const addRuleErrors = (record: Json, path: string, end: 'origin' | 'destination'): void => {
      requireNames(record, path, end, errors)
      refuseBadNumbers(record, path, errors, fields)
      if (mayHoldBadText) refuseBadText(record, path, errors, fields)
    }
    if (isObject(general_data)) addRuleErrors(general_data, 'general_data.', 'origin')
    for (const [index, each] of items.entries())
      if (isObject(each) && !errors.isFull) addRuleErrors(each, `order_data.${index}.`, 'destination')
    if (errors.count === 0) return { general: general_data as Static<General>, orders: items as Static<Item>[], errors }
    const wrong = new Set([...errors.paths].map(path => /^(general_data|order_data\.\d+)?/.exec(path)?.[0]))
    return {
      general: errors.isFull || wrong.has('general_data') ? undefined : (general_data as Static<General>),
      orders: errors.isFull
        ? []
        : items.map((each, n) => (wrong.has(`order_data.${n}`) ? undefined : (each as Static<Item>))),
      errors,
    }
  }
}

/** Removes `[]`, which PHP writes for no value, from optional fields. Returns true if it removed any. */
export const removeEmptyLists = (record: unknown, { properties, required = [] }: TObject): boolean => {
  if (!isObject(record)) return false
  const empty = Object.keys(properties).filter(
    name => !required.includes(name) && Array.isArray(record[name]) && record[name].length === 0,
  )
  for (const name of empty) delete record[name]
  return empty.length > 0
}

/** A city name without a state is left to `findPrices`, which accepts it where one city has that name. */
export const requireNames = (record: Json, path: string, end: 'origin' | 'destination', errors: ErrorList): void => {
  if (!isBlank(record[`${end}_city_id`]) || !isBlank(record[`${end}_city_name`])) return
  for (const name of ['city_name', 'state_name'] as const)
    if (isBlank(record[`${end}_${name}`])) errors.addFirst(`${path}${end}_${name}`, requiredName(end, name))
}

const knownFields: ReadonlySet<string> = new Set(
  [GeneralData, OrderData].flatMap(({ properties }) => Object.keys(properties)),
)

/** Checks digits in strings, which pass the schema whatever their value. */
export const refuseBadNumbers = (record: Json, path: string, errors: ErrorList, fields = knownFields): void => {
  const { cod, weight } = record
  if (fields.has('cod') && typeof cod === 'string' && Number(cod) > maxCod)
    errors.addFirst(`${path}cod`, `The cod field must ${codRule}.`)
  if (typeof weight === 'string' && !(Number(weight) > 0 && Number(weight) <= maxWeightKg))
    errors.addFirst(`${path}weight`, isBlank(weight) ? required('weight') : `The weight field must ${weightRule}.`)
}

export const refuseBadText = (record: Json, path: string, errors: ErrorList, fields = knownFields): void => {
  for (const [name, value] of Object.entries(record))
    if (fields.has(name) && typeof value === 'string' && isBadText(value)) errors.addFirst(path + name, badText(name))
}

const readGeneral = (general: Static<typeof GeneralData>) => ({
  businessId: String(general.merchant_business_id).trim(),
  origin: referToCity(general.origin_city_id, general.origin_city_name, general.origin_state_name),
})

const toOrder = (item: Static<typeof OrderData>) => ({
  waybill: readText(item.waybill_number),
  statusKey: (readText(item.initial_status_key) as InitialStatusKey | undefined) ?? 'key_1',
  orderNo: readText(item.order_no),
  customerName: item.customer_name.trim(),
  customerAddress: item.customer_address.trim(),
  customerPhone: item.customer_phone.trim(),
  customerSecondaryPhone: readText(item.customer_secondary_phone),
  customerEmail: readText(item.customer_email),
  destination: referToCity(item.destination_city_id, item.destination_city_name, item.destination_state_name),
  cod: Number(item.cod),
  weightKg: Number(item.weight),
  description: readText(item.description),
  remark: readText(item.remark),
})

export const readText = (text: string | null | undefined): string | undefined => text?.trim() || undefined

/** When an id is given, names are used only for suggestions. */
export const referToCity = (
  id: string | number | null | undefined,
  cityName?: string | null,
  stateName?: string | null,
): CityReference => ({
  cityId: isBlank(id) ? undefined : String(id).trim(),
  cityName: readText(cityName),
  stateName: readText(stateName),
})
