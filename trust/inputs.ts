import fc from 'fast-check'
import type { JsonSchema, Operation } from './document.ts'
import { hints } from './hints.ts'
import { anyText, anyValue, mix, oddBodies } from './odd-values.ts'
import { seed } from './promise.ts'
import type { Headers, Request } from './sender.ts'

export interface Client {
  readonly headers: Headers
  /** The client may use the operation; otherwise its signatures are wrong too. */
  readonly isRight: boolean
}

/** Parts of a request. Path parameters are encoded. */
export interface Given {
  path?: Readonly<Record<string, string>>
  search?: string
  headers?: Headers
  body?: string | Buffer | undefined
}

/** Builds a client's request of an operation. */
export const requestOf = (
  { id, method, path: pattern }: Operation,
  client: Client,
  { path = {}, search, headers, body }: Given,
): Request => {
  const filled = pattern.replace(/\{([^}]+)\}/g, (_all, name: string) => path[name] ?? '1')
  const signatures = body === undefined ? {} : (hints[id]?.headersOf?.(Buffer.from(body)) ?? {})
  const spoil = (value: string): string => value.replace(/.$/, end => (end === '0' ? '1' : '0'))
  const signed = Object.entries(signatures).map(([name, value]) => [name, client.isRight ? value : spoil(value)])
  const json = body === undefined ? {} : { 'content-type': 'application/json', ...Object.fromEntries(signed) }
  return {
    method,
    path: search ? `${filled}?${search}` : filled,
    headers: { ...client.headers, ...json, ...headers },
    body,
  }
}

/** Generates values that the schema of a body or a parameter allows, from its examples where it has some. */
export const validFor = (schema: JsonSchema): fc.Arbitrary<unknown> => {
  const { examples, anyOf, type } = schema as { examples?: unknown[]; anyOf?: JsonSchema[]; type?: string }
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]))
  if ('const' in schema) return fc.constant(schema.const)
  if (examples?.length) return mix([3, fc.constantFrom(...examples)], [1, validFor({ ...schema, examples: undefined })])
  if (anyOf) return fc.oneof(...anyOf.map(validFor))
  return byType[type ?? '']?.(schema) ?? anyValue
}

/** Generates valid bodies: known ones, else from the schema. */
export const rightBodies = ({ id, body, example }: Operation): unknown[] => {
  const known = [...(example ? [example] : []), ...(hints[id]?.bodies ?? [])]
  return known.length > 0 || !body ? known : fc.sample(validFor(body), { seed, numRuns: 1 })
}

const numeric = (schema: JsonSchema): { min: number; max: number } => ({
  min: Number(schema.minimum ?? schema.exclusiveMinimum ?? -1_000_000),
  max: Number(schema.maximum ?? schema.exclusiveMaximum ?? 1_000_000),
})

const byType: Record<string, (schema: JsonSchema) => fc.Arbitrary<unknown>> = {
  string: schema => validText(schema),
  integer: schema => fc.integer(numeric(schema)),
  number: schema => fc.double({ ...numeric(schema), noNaN: true }),
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: schema => {
    const { items, minItems = 0, maxItems = 4 } = schema as { items: JsonSchema; minItems?: number; maxItems?: number }
    return fc.array(validFor(items ?? {}), {
      minLength: minItems,
      maxLength: Math.max(minItems, Math.min(maxItems, 4)),
    })
  },
  object: schema => {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
    const required = (schema.required ?? []) as string[]
    const fields = Object.fromEntries(properties.map(([name, property]) => [name, validFor(property)]))
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

type Mutation = { at: number; kind: 'replace' | 'remove' | 'add' | 'rename' | 'repeat'; value: unknown; name: string }

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(10_000),
  kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'rename', 'repeat'),
  value: anyValue,
  name: anyText,
})

/** Lists the places in a value that can be changed: its containers with their keys, outer ones first. */
const placesIn = (value: unknown, places: Place[] = []): Place[] => {
  if (typeof value !== 'object' || value === null) return places
  const container = value as Record<string, unknown>
  for (const key of Object.keys(container)) {
    places.push([container, key])
    placesIn(container[key], places)
  }
  return places
}
type Place = [container: Record<string, unknown>, key: string]

/** Limits of a mutated value. The characters are more than any operation accepts. */
const maxPlaces = 50_000
const maxCharacters = 8_000_000

const mutate = (value: unknown, { at, kind, value: drawn, name }: Mutation): unknown => {
  const odd = structuredClone(drawn)
  const places = placesIn(value)
  const place = places[at % Math.max(places.length, 1)]
  if (!place) return odd
  const [container, key] = place
  if (kind === 'replace') container[key] = odd
  if (kind === 'remove') delete container[key]
  // An assignment would not make `__proto__` a field.
  const put = (field: string, content: unknown) =>
    Object.defineProperty(container, field, { value: content, enumerable: true, configurable: true, writable: true })
  if (kind === 'add' && !Array.isArray(container)) put(name, odd)
  if (kind === 'rename' && !Array.isArray(container)) put(name, container[key])
  if (kind === 'repeat') {
    // Does not repeat values that are repetitions themselves as often again.
    const repeated = container[key]
    const characters = JSON.stringify(repeated)?.length ?? 1
    const most = Math.ceil(Math.min(maxPlaces / (placesIn(repeated).length + 1), maxCharacters / characters))
    // Copies, so that the next change affects one of them only.
    container[key] = Array.from({ length: 1 + (at % Math.min(most, 1_200)) }, () => structuredClone(repeated))
  }
  return value
}

const mutated = (valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.tuple(valid, fc.array(mutation, { minLength: 1, maxLength: 3 })).map(([value, mutations]) => {
    return mutations.reduce(mutate, structuredClone(value))
  })

const asJson = (value: unknown): Buffer => Buffer.from(JSON.stringify(value) ?? 'null')

/** Generates bodies with a byte changed, cut off, or inserted. */
const brokenBytes = (bodies: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(bodies, fc.nat(1_000_000), fc.nat(255), fc.constantFrom('change', 'cut', 'insert'))
    .map(([bytes, at, byte, kind]) => {
      const place = at % (bytes.length + 1)
      const rest = bytes.subarray(kind === 'change' ? place + 1 : place)
      return kind === 'cut'
        ? bytes.subarray(0, place)
        : Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), rest])
    })

/** Generates bodies for an operation: valid, invalid, and bytes that are not JSON. */
export const bodies = (schema: JsonSchema, examples: readonly unknown[]): fc.Arbitrary<Buffer> => {
  const own = validFor(schema)
  const valid = examples.length === 0 ? own : mix([2, fc.constantFrom(...examples)], [1, own])
  const good = valid.map(asJson)
  return mix(
    [3, good],
    [6, mutated(valid).map(asJson)],
    [1, anyValue.map(asJson)],
    [1, brokenBytes(good)],
    [1, fc.constantFrom(...oddBodies).map(text => Buffer.from(text))],
  )
}
