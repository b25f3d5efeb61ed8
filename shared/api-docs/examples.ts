import { exampleSnapshot } from '../contract/order-events.ts'

/** Describes a schema of OpenAPI 3.1, which is JSON Schema. */
export interface Schema {
  [keyword: string]: unknown
  $ref?: string
  title?: string
  description?: string
  anyOf?: Schema[]
  examples?: unknown[]
  items?: Schema
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  additionalProperties?: boolean | Schema | undefined
  type?: string | undefined
  required?: string[]
}

const { is_final: _isFinal, tracking_url: _url, ...parcel } = exampleSnapshot
const city = { id: 2100, name: 'Galle', state: 'Galle', postal_code: '80000' }

/**
 * Gives example values to fields of these names, so that all examples show the same parcel. A schema's own `examples`
 * come first.
 */
const values: Readonly<Record<string, unknown>> = {
  ...parcel,
  alternatives: [],
  bank_reference: 'BOC 4712',
  booked_on: '2026-02-19',
  businesses: { id: 7290, name: 'Lanka Shoes Online' },
  city,
  collected_by: 'Nimal',
  color: 'primary',
  company: { name: 'Demo Couriers' },
  contact: '011 200 0000',
  customer_address: '12 Temple Road, Galle',
  date: '2026-02-19',
  date_time_ago: '1 month ago',
  decided_by: 'Kamal Perera',
  destination: city,
  destination_city_id: 2100,
  destination_city_name: 'Galle',
  destination_state_name: 'Galle',
  each_extra_kg: 90,
  email: 'shop@example.com',
  fields: ['customer_phone'],
  first_kg: 450,
  first_name: 'Lanka Shoes',
  from: '2026-02-19',
  groups: { key: '2026-02-19', name: '2026-02-19' },
  has_more: false,
  id: 1,
  invoice_no: 'CFX-26-02-00001',
  invoice_ref_no: 'MI-0001',
  key: 'key_2',
  last_name: '',
  merchant_business_id: 7290,
  merchant_business_name: 'Lanka Shoes Online',
  moves: { status_key: 'key_9', name: 'RECEIVED TO ORIGIN WAREHOUSE' },
  more_merchants: 0,
  name: 'Lanka Shoes',
  origin: { id: 1500, name: 'Kotte', state: 'Colombo' },
  origin_city_id: 1500,
  origin_city_name: 'Kotte',
  origin_state_name: 'Colombo',
  others: null,
  postal_code: '10100',
  previous: null,
  rate_card: 'standard',
  staff: { name: 'Nimali Silva', email: 'dispatcher@courier.example' },
  status: { key: 'key_2', name: 'CONFIRMED', color: 'primary' },
  tenant: { id: 'demo', name: 'Demo Couriers', country: 'LK' },
  to: '2026-02-19',
  token: 'courier_…',
  taken_by: 'Chamari',
  zone: { id: 2, name: 'metro' },
}

/** Matches the names of times, which the documents give the format date-time. */
export const isTime = /(^|_)(at|time|since|until)$|^(timestamp|now|in_doubt_before)$/

/**
 * Makes an example from the examples that fields have by their schemas or by their names. Any other field that may be
 * null is null; an optional field whose schema has no examples is left out.
 */
export const makeExample = (schema: Schema, name = '', known: unknown = values[name]): unknown => {
  const { anyOf, properties = {}, items, type = 'object', required = [], minimum = 1 } = schema
  const [given] = schema.examples ?? readLiterals(schema)
  if (given !== undefined) return given
  if (known !== undefined && isOfType(known, schema)) return known
  if (anyOf) {
    const isNull = anyOf.some(member => member.type === 'null') && !anyOf[0]?.properties && !anyOf[0]?.examples
    return isNull ? null : makeExample(anyOf[0] ?? {}, name, known)
  }
  if (items) return items.type === 'string' && !items.examples ? [] : [makeExample(items, name)]
  if (type === 'string') return isTime.test(name) ? '2026-02-19T19:06:23.000Z' : 'text'
  if (type !== 'object') return type === 'boolean' ? true : type === 'null' ? null : minimum
  const record = isObject(known) ? known : {}
  const shown = Object.entries(properties).filter(([field, inner]) => required.includes(field) || inner.examples)
  return Object.fromEntries(shown.map(([field, inner]) => [field, makeExample(inner, field, record[field])]))
}

export const readLiterals = (schema: Schema): readonly unknown[] =>
  'const' in schema ? [schema.const] : ((schema.enum as unknown[] | undefined) ?? [])

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isOfType = (value: unknown, schema: Schema): boolean => {
  const { anyOf, type } = schema
  if (anyOf) return anyOf.some(member => isOfType(value, member))
  if (readLiterals(schema).length > 0) return readLiterals(schema).includes(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  return !isObject(value) && [type].flat().includes(value === null ? 'null' : typeof value)
}
