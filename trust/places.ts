import { type Attack, documentAttacks, queryAttacks, textAttacks } from './attacks.ts'
import type { JsonSchema, Operation } from './document.ts'
import { hints } from './hints.ts'
import { buildRequest, type Client, type Given, toHeaderText } from './inputs.ts'
import type { Request } from './sender.ts'

/** Describes a place for a client's text. */
export interface Place {
  readonly name: string
  readonly attacks: readonly Attack[]
  /** Holds the text that a valid request has there. */
  readonly own: string
  readonly maxLength: number
  readonly kind: 'head' | 'body' | 'list'
  /** Returns the request with `text` there, `items` times if it is in a list. */
  readonly fill: (text: string, items: number) => Request
  /** Returns the valid request with `items` items, padded to `bytes` bytes with blanks or an unknown parameter. */
  readonly harmless: (bytes: number, items: number) => Request
}

export const countBytes = ({ path, headers, body = '' }: Request): number =>
  Buffer.byteLength(body) + path.length + Object.values(headers).join('').length

/** Encodes a text, but leaves plus signs as they are: the server decodes each as a blank. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed()).replaceAll('%2B', '+')
const join = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(pair => pair.map(encode).join('=')).join('&')

interface Shape {
  type?: string
  enum?: unknown
  anyOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  maxLength?: number
}

/**
 * Returns every text of a schema or a value, by its path, with its maximum length; `*` stands for the items of a list.
 */
const listTexts = (
  schema: Shape,
  value: unknown,
  path: readonly string[] = [],
): [path: string, maxLength: number][] => {
  const { type, items = {}, properties = {}, anyOf = [], maxLength = Number.POSITIVE_INFINITY } = schema
  if (type === 'array' || Array.isArray(value))
    return listTexts(items, Array.isArray(value) ? value[0] : undefined, [...path, '*'])
  const isText = typeof value === 'string' || (type === 'string' && !schema.enum)
  const fields = (typeof value === 'object' ? (value ?? {}) : {}) as Record<string, unknown>
  const names = [...new Set([...Object.keys(properties), ...Object.keys(fields)])]
  return [
    ...(isText ? [[path.join('.'), maxLength] as [string, number]] : []),
    ...names.flatMap(name => listTexts(properties[name] ?? {}, fields[name], [...path, name])),
    ...anyOf.flatMap(option => listTexts(option, undefined, path)),
  ]
}

/**
 * Returns the value with `text` at the path, `items` times in the first list on the way. Without `text` the path keeps
 * its value.
 */
const put = (value: unknown, [key, ...rest]: readonly string[], text: string | undefined, items: number): unknown => {
  if (key === undefined) return text ?? value
  if (key !== '*') {
    const fields = (value ?? {}) as Record<string, unknown>
    return { ...fields, [key]: put(fields[key], rest, text, items) }
  }
  const [first, ...others] = Array.isArray(value) ? value : []
  return [...Array(items).fill(put(first, rest, text, 1)), ...others]
}

const readAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)?.[key === '*' ? 0 : key], value)

/** Returns every place of an operation that takes a client's text. `names` holds values for the path parameters. */
export const findPlaces = (
  operation: Operation,
  client: Client,
  base: unknown,
  names: Readonly<Record<string, string>>,
): Place[] => {
  const query = [...new URLSearchParams(hints[operation.id]?.queries?.[0])]
  const build = ({ path, ...given }: Given): Request => {
    const body = JSON.stringify(base)
    return buildRequest(operation, client, { search: join(query), body, ...given, path: { ...names, ...path } })
  }
  const harmless = (path: string[]) => (bytes: number, items: number) => {
    const body = base === undefined ? undefined : JSON.stringify(put(base, path, undefined, items))
    const missing = Math.max(0, bytes - countBytes(build({ body })))
    if (body !== undefined) return build({ body: body + ' '.repeat(missing) })
    return build({ search: join([...query, ['pad', 'x'.repeat(missing)]]) })
  }
  const maxLength = Number.POSITIVE_INFINITY
  const head = { own: '', maxLength, kind: 'head', attacks: textAttacks, harmless: harmless([]) } as const
  const toHeaderPlace = (name: string): Place => {
    const fill = (text: string) => build({ headers: { [name]: toHeaderText(text) } })
    return { ...head, name: `header ${name}`, own: client.headers[name] ?? '', fill }
  }
  const toParameterPlace = ({ name, in: part, schema }: Operation['parameters'][number]): Place => {
    if (part === 'header') return toHeaderPlace(name)
    const own = names[name] ?? new Map(query).get(name) ?? String((schema.examples as unknown[])?.[0] ?? '1')
    const others = query.filter(([other]) => other !== name)
    const fill = (text: string): Request =>
      part === 'path' ? build({ path: { [name]: encode(text) } }) : build({ search: join([...others, [name, text]]) })
    return { ...head, name: `${part} ${name}`, own, maxLength: Number(schema.maxLength ?? maxLength), fill }
  }
  const toTextPlace = ([name, maxLength]: [string, number]): Place => {
    const path = name.split('.')
    const fill = (text: string, items: number) => build({ body: JSON.stringify(put(base, path, text, items)) })
    const kind = path.includes('*') ? 'list' : 'body'
    return { ...head, name, own: String(readAt(base, path) ?? ''), maxLength, kind, fill, harmless: harmless(path) }
  }
  const addUnknown = (text: string) => build({ body: `${JSON.stringify(base).replace(/\}$/, '')},"x":${text}}` })
  const common: Place[] = ['authorization', 'x-tenant', 'content-type'].map(toHeaderPlace)
  if (base !== undefined)
    common.push({ ...head, name: 'body', kind: 'body', attacks: documentAttacks, fill: addUnknown })
  if (!client.isRight) return common.map(place => ({ ...place, name: `${place.name} without a valid token` }))
  const queryPlace: Place = { ...head, name: 'query', attacks: queryAttacks, fill: text => build({ search: text }) }
  const parameters = operation.parameters.filter(({ name }) => name !== 'x-tenant').map(toParameterPlace)
  const texts = base === undefined ? [] : [...new Map(listTexts(operation.body ?? {}, base))]
  return [...common, queryPlace, ...parameters, ...texts.map(toTextPlace)]
}
