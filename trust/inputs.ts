import fc from 'fast-check'
import type { JsonSchema, Operation } from './document.ts'
import { hints } from './hints.ts'
import { anyText, anyValue, mix, oddBodies } from './odd-values.ts'
import { seed } from './promise.ts'
import type { Headers, Request } from './sender.ts'

export interface Client {
  readonly headers: Headers
  /** true: the client may use the operation; otherwise its signatures are wrong too. */
  readonly isRight: boolean
}

/** Holds parts of a request. Path parameters are encoded. */
export interface Given {
  path?: Readonly<Record<string, string>>
  search?: string
  headers?: Headers
  body?: string | Buffer | undefined
}

/** Replaces characters that may not travel in a header. */
export const toHeaderText = (text: string): string => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?').trim()

/** Builds a client's request for an operation. */
export const buildRequest = (
  { id, method, path: pattern }: Operation,
  client: Client,
  { path = {}, search, headers, body }: Given,
): Request => {
  const filled = pattern.replace(/\{([^}]+)\}/g, (_all, name: string) => path[name] ?? '1')
  const signatures = body === undefined ? {} : (hints[id]?.buildHeaders?.(Buffer.from(body)) ?? {})
  const spoil = (value: string): string => value.replace(/.$/, end => (end === '0' ? '1' : '0'))
  const signed = Object.entries(signatures).map(([name, value]) => [name, client.isRight ? value : spoil(value)])
  const all = { ...client.headers, ...Object.fromEntries(signed), ...headers }
  return { method, path: search ? `${filled}?${search}` : filled, headers: all, body }
}

/** Generates values that the schema of a body or a parameter allows; if it has examples, three in four are examples. */
export const generateValid = (schema: JsonSchema): fc.Arbitrary<unknown> => {
  const { examples, anyOf, type } = schema as { examples?: unknown[]; anyOf?: JsonSchema[]; type?: string }
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]))
  if ('const' in schema) return fc.constant(schema.const)
  if (examples?.length)
    return mix([3, fc.constantFrom(...examples)], [1, generateValid({ ...schema, examples: undefined })])
  if (anyOf) return fc.oneof(...anyOf.map(generateValid))
  return byType[type ?? '']?.(schema) ?? anyValue
}

/** Returns the known valid bodies, or else one that the schema allows. */
export const rightBodies = ({ id, body, example }: Operation): unknown[] => {
  const known = [...(example ? [example] : []), ...(hints[id]?.bodies ?? [])]
  return known.length > 0 || !body ? known : fc.sample(generateValid(body), { seed, numRuns: 1 })
}

const readRange = (schema: JsonSchema): { min: number; max: number } => ({
  min: Number(schema.minimum ?? schema.exclusiveMinimum ?? -1_000_000),
  max: Number(schema.maximum ?? schema.exclusiveMaximum ?? 1_000_000),
})

const byType: Record<string, (schema: JsonSchema) => fc.Arbitrary<unknown>> = {
  string: schema => validText(schema),
  integer: schema => fc.integer(readRange(schema)),
  number: schema => fc.double({ ...readRange(schema), noNaN: true }),
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: schema => {
    const { items, minItems = 0, maxItems = 4 } = schema as { items: JsonSchema; minItems?: number; maxItems?: number }
    return fc.array(generateValid(items ?? {}), {
      minLength: minItems,
      maxLength: Math.max(minItems, Math.min(maxItems, 4)),
    })
  },
  object: schema => {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
    const required = (schema.required ?? []) as string[]
    const fields = Object.fromEntries(properties.map(([name, property]) => [name, generateValid(property)]))
    return fc.record(fields, { requiredKeys: required })
  },
}

const validText = (schema: JsonSchema): fc.Arbitrary<string> => {
  const { pattern, minLength = 0, maxLength = 40 } = schema as Record<string, never>
  const plain = fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, minLength + 40) })
  if (!pattern) return plain
  try {
    return fc.stringMatching(new RegExp(pattern), { maxLength: Math.min(maxLength, 60) })
  } catch {
    // fast-check does not support look-ahead.
    return plain
  }
}

/** Lists the places in a value that can be changed: its containers with their keys, outer ones first. */
const listPlaces = (value: unknown): [container: Record<string, unknown>, key: string][] => {
  if (typeof value !== 'object' || value === null) return []
  const container = value as Record<string, unknown>
  return Object.keys(container).flatMap(key => [
    [container, key] as [typeof container, string],
    ...listPlaces(container[key]),
  ])
}

const mutation = fc.record({
  at: fc.nat(10_000),
  kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'repeat'),
  value: anyValue,
  name: anyText,
})

type Mutation = typeof mutation extends fc.Arbitrary<infer Drawn> ? Drawn : never

/** Limits a repeated value, which the next change may repeat again. */
const maxCharacters = 500_000

const mutate = (value: unknown, { at, kind, value: drawn, name }: Mutation): unknown => {
  const places = listPlaces(value)
  const [container, key] = places[at % Math.max(places.length, 1)] ?? []
  if (!container || key === undefined) return structuredClone(drawn)
  if (kind === 'replace') container[key] = structuredClone(drawn)
  if (kind === 'remove') delete container[key]
  // An assignment would not make `__proto__` a field.
  const field = { value: structuredClone(drawn), enumerable: true, configurable: true, writable: true }
  if (kind === 'add' && !Array.isArray(container)) Object.defineProperty(container, name, field)
  if (kind === 'repeat') {
    const repeated = container[key]
    const most = Math.ceil(maxCharacters / (JSON.stringify(repeated)?.length ?? 1))
    // Copies the value, so that the next change affects only one of the copies.
    container[key] = Array.from({ length: 1 + (at % Math.min(most, 1_200)) }, () => structuredClone(repeated))
  }
  return value
}

const mutated = (valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(valid, fc.array(mutation, { minLength: 1, maxLength: 3 }))
    .map(([value, mutations]) => mutations.reduce(mutate, structuredClone(value)))

const toJson = (value: unknown): Buffer => Buffer.from(JSON.stringify(value) ?? 'null')

/** Generates bodies in which a byte replaces another byte, or the whole rest. */
const brokenBytes = (bodies: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> =>
  fc.tuple(bodies, fc.nat(1_000_000), fc.nat(255), fc.boolean()).map(([bytes, at, byte, isCut]) => {
    const position = at % (bytes.length + 1)
    const rest = isCut ? [] : [bytes.subarray(position + 1)]
    return Buffer.concat([bytes.subarray(0, position), Buffer.from([byte]), ...rest])
  })

/** Generates bodies for an operation: valid, invalid, and bytes that are not JSON. */
export const bodies = (schema: JsonSchema, examples: readonly unknown[]): fc.Arbitrary<Buffer> => {
  const own = generateValid(schema)
  const valid = examples.length === 0 ? own : mix([2, fc.constantFrom(...examples)], [1, own])
  const good = valid.map(toJson)
  return mix(
    [3, good],
    [6, mutated(valid).map(toJson)],
    [1, anyValue.map(toJson)],
    [1, brokenBytes(good)],
    [1, fc.constantFrom(...oddBodies).map(text => Buffer.from(text))],
  )
}
