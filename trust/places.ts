import { type Attack, documentAttacks, queryAttacks, textAttacks } from './attacks.ts'
import type { JsonSchema, Operation } from './document.ts'
import { hints } from './hints.ts'
import type { Headers, Request } from './targets.ts'

/** Where text of a client goes. */
export interface Place {
  readonly name: string
  readonly attacks: readonly Attack[]
  /** What a right request has there. */
  readonly own: string
  readonly maxLength: number
  readonly kind: 'head' | 'body' | 'list'
  /** The request with `text` there, `items` times where it is in a list. Undefined: it cannot be sent so. */
  readonly fill: (text: string, items: number) => Request | undefined
  /** The right request with as many items, and as many bytes of blanks or of a parameter that nobody knows. */
  readonly harmless: (bytes: number, items: number) => Request
}

export interface Client {
  readonly headers: Headers
  /** Whether it may do what the operation does: each field is tried. Others try what is read before that is known. */
  readonly isRight: boolean
}

export const sizeOf = ({ path, headers, body = '' }: Request): number =>
  Buffer.byteLength(body) + path.length + Object.values(headers).join('').length

/** Plus signs travel as they are: each is a blank. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed()).replaceAll('%2B', '+')
const join = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(pair => pair.map(encode).join('=')).join('&')

interface Leaf {
  path: string[]
  maxLength: number
}
const under = (key: string, leaves: Leaf[]): Leaf[] => leaves.map(leaf => ({ ...leaf, path: [key, ...leaf.path] }))
const unbounded = Number.POSITIVE_INFINITY

interface Shape {
  anyOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  maxLength?: number
}

/** Every text that a schema has; `*` stands for the items of a list. */
const textsOfSchema = (schema: JsonSchema): Leaf[] => {
  const { anyOf = [], properties = {}, items = {}, maxLength = unbounded } = schema as Shape
  if (schema.type === 'string') return schema.enum ? [] : [{ path: [], maxLength }]
  if (schema.type === 'array') return under('*', textsOfSchema(items))
  const fields = Object.entries(properties).flatMap(([name, property]) => under(name, textsOfSchema(property)))
  return [...fields, ...anyOf.flatMap(textsOfSchema)]
}

const textsOf = (value: unknown): Leaf[] => {
  if (typeof value === 'string') return [{ path: [], maxLength: unbounded }]
  if (Array.isArray(value)) return under('*', textsOf(value[0]))
  return Object.entries(value ?? {}).flatMap(([name, field]) => under(name, textsOf(field)))
}

/** The value with `text` at the path, `items` times in the first list on the way. Without a text it stays as it is. */
const put = (value: unknown, [key, ...rest]: readonly string[], text: string | undefined, items: number): unknown => {
  if (key === undefined) return text ?? value
  if (key !== '*') {
    const fields = (value ?? {}) as Record<string, unknown>
    return { ...fields, [key]: put(fields[key], rest, text, items) }
  }
  const [first, ...others] = Array.isArray(value) ? value : []
  return [...Array(items).fill(put(first, rest, text, 1)), ...others]
}

const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)?.[key === '*' ? 0 : key], value)

/** Makes requests of an operation that are right but for what is given. `names` has values of path parameters in use. */
const builder = (
  { id, method, path: pattern }: Operation,
  client: Client,
  base: unknown,
  names: Readonly<Record<string, string>>,
) => {
  const query = [...new URLSearchParams(hints[id]?.queries?.[0])]
  const signed = (body: string): Record<string, string> => {
    const signatures = Object.entries(hints[id]?.headersOf?.(Buffer.from(body)) ?? {})
    const spoil = (value: string): string => value.replace(/.$/, end => (end === '0' ? '1' : '0'))
    return Object.fromEntries(signatures.map(([name, value]) => [name, client.isRight ? value : spoil(value)]))
  }
  const build = ({ path = {}, search = join(query), header = {}, body = JSON.stringify(base) }: Given): Request => {
    const filled = pattern.replace(/\{([^}]+)\}/g, (_all, name) => encode(path[name] ?? names[name] ?? 'x'))
    const json = body === undefined ? {} : { 'content-type': 'application/json', ...signed(body) }
    const headers = { ...client.headers, ...json, ...header }
    return { method, path: search ? `${filled}?${search}` : filled, headers, body }
  }
  return { query, build }
}

interface Given {
  path?: Readonly<Record<string, string>>
  search?: string
  header?: Readonly<Record<string, string>>
  body?: string | undefined
}

/** Every place of an operation where the client's text goes. */
export const placesOf = (
  operation: Operation,
  client: Client,
  base: unknown,
  names: Readonly<Record<string, string>>,
): Place[] => {
  const { query, build } = builder(operation, client, base, names)
  const harmless = (path: string[]) => (bytes: number, items: number) => {
    const body = base === undefined ? undefined : JSON.stringify(put(base, path, undefined, items))
    const missing = Math.max(0, bytes - sizeOf(build({ body })))
    if (body !== undefined) return build({ body: body + ' '.repeat(missing) })
    return build({ search: join([...query, ['pad', 'x'.repeat(missing)]]) })
  }
  const head = { own: '', maxLength: unbounded, kind: 'head', attacks: textAttacks, harmless: harmless([]) } as const
  const ofHeader = (name: string): Place => {
    const fill = (text: string): Request | undefined => {
      const line = text.replaceAll('\n', '')
      const isSendable = /^[\x20-\x7e\x80-\xff]([\t\x20-\x7e\x80-\xff]*[\x20-\x7e\x80-\xff])?$/.test(line)
      return isSendable ? build({ header: { [name]: line } }) : undefined
    }
    return { ...head, name: `header ${name}`, own: client.headers[name] ?? '', fill }
  }
  const ofParameter = ({ name, in: part, schema }: Operation['parameters'][number]): Place => {
    if (part === 'header') return ofHeader(name)
    const own = names[name] ?? new Map(query).get(name) ?? String((schema.examples as unknown[])?.[0] ?? '1')
    const others = query.filter(([other]) => other !== name)
    const fill = (text: string): Request =>
      part === 'path' ? build({ path: { [name]: text } }) : build({ search: join([...others, [name, text]]) })
    return { ...head, name: `${part} ${name}`, own, maxLength: Number(schema.maxLength ?? unbounded), fill }
  }
  const ofBody = ({ path, maxLength }: Leaf): Place => ({
    name: path.join('.'),
    attacks: textAttacks,
    own: String(at(base, path) ?? ''),
    maxLength,
    kind: path.includes('*') ? 'list' : 'body',
    fill: (text, items) => build({ body: JSON.stringify(put(base, path, text, items)) }),
    harmless: harmless(path),
  })
  const stray = (text: string) => build({ body: `${JSON.stringify(base).replace(/\}$/, '')},"x":${text}}` })
  const document: Place = { ...head, name: 'body', kind: 'body', attacks: documentAttacks, fill: stray }
  const leaves = [...textsOf(base), ...textsOfSchema(operation.body ?? {})]
  const ofLeaves = new Map(leaves.map(leaf => [leaf.path.join('.'), ofBody(leaf)])).values()
  const common = [
    ...['authorization', 'x-tenant', 'content-type'].map(ofHeader),
    ...(base === undefined ? [] : [document]),
  ]
  if (!client.isRight) return common.map(place => ({ ...place, name: `${place.name} without a right token` }))
  const ofQuery: Place = { ...head, name: 'query', attacks: queryAttacks, fill: text => build({ search: text }) }
  const others = operation.parameters.filter(({ name }) => name !== 'x-tenant')
  return [...common, ofQuery, ...others.map(ofParameter), ...ofLeaves]
}
