import type { TSchema } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import { ValueErrorType } from '@sinclair/typebox/errors'
import { nearestName } from '../nearest.ts'
import { schemaErrors } from '../schema-errors.ts'

/** Names a field in a sentence: `order_data.3.customer_name` as "customer name"; `order_data.3` stays as it is. */
export const label = (path: string): string =>
  /\d$/.test(path) ? path : (path.split('.').at(-1) ?? '').replaceAll('_', ' ')

export const required = (path: string): string => `The ${label(path)} field is required.`
export const selectedInvalid = (path: string): string => `The selected ${label(path)} is invalid.`

/** Returns true for text that Postgres does not accept: it contains U+0000 or a lone surrogate. */
export const isBadText = (text: string): boolean => /\0|\p{Surrogate}/u.test(text)
export const badText = (path: string): string =>
  `The ${label(path)} field must not contain a null character or half of a surrogate pair.`

/** Matches text without null characters and surrogates, hence without characters beyond U+FFFF. */
export const goodText = '^[^\\u0000\\ud800-\\udfff]*$'

/** Exceeds the limit of any field: a longer text is too long, whatever is in it. */
const longestText = 10_000

/** Treats an empty array as not given: PHP writes one where an optional field has no value. */
export const isBlank = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'string' && value.length <= longestText && value.trim() === '')

/** A response lists at most this many sentences. */
export const maxSentences = 1000

/** Counting errors ends here: a response to a broken body must not cost more than reading it. */
const maxCounted = 5_000

type Sentence = readonly [path: string, sentence: string]

/** Collects sentences by field path, in their order. */
export class ErrorList {
  readonly #kept: Sentence[] = []
  /** Holds the paths that have a sentence, kept or not. */
  readonly paths = new Set<string>()
  count = 0

  add(path: string, sentence: string): void {
    this.paths.add(path)
    if (++this.count <= maxCounted) this.#kept.push([path, sentence])
  }

  /** Adds the sentence unless the path has one already. */
  addFirst(path: string, sentence: string): void {
    if (!this.paths.has(path)) this.add(path, sentence)
  }

  /** Adds the sentences of `errors` at paths that have none yet. */
  addAll(errors: Readonly<Record<string, readonly string[]>>, prefix = ''): void {
    for (const [path, sentences] of Object.entries(errors))
      if (!this.paths.has(prefix + path)) for (const sentence of sentences) this.add(prefix + path, sentence)
  }

  get isFull(): boolean {
    return this.count >= maxCounted
  }

  /** Holds the sentences that a response lists. */
  get errors(): Record<string, string[]> {
    return groupByPath(this.#kept.slice(0, maxSentences))
  }

  /** Holds the sentences up to the last that is counted. */
  get all(): Record<string, string[]> {
    return groupByPath(this.#kept)
  }

  /** Counts the sentences that a response does not list. */
  get more(): number {
    return Math.max(0, this.#kept.length - maxSentences)
  }
}

const groupByPath = (kept: readonly Sentence[]): Record<string, string[]> => {
  const groups = [...Map.groupBy(kept, ([path]) => path)]
  return Object.fromEntries(groups.map(([path, same]) => [path, same.map(([, sentence]) => sentence)]))
}

/**
 * Lists one sentence per field path that says why `value` failed `check`. A schema may have its own wording: `must`
 * ("be an integer …") or `sentence` (the whole sentence).
 */
export const listErrors = (check: TypeCheck<TSchema>, value: unknown): ErrorList => {
  const list = new ErrorList()
  addErrors(list, check.Schema(), value, '')
  return list
}

const addErrors = (list: ErrorList, schema: TSchema, value: unknown, prefix: string): void => {
  for (const error of schemaErrors(schema, value)) {
    const path = prefix + error.path.split('/').slice(1).map(readPointer).join('.')
    if (list.paths.has(path)) continue
    const member = error.type === ValueErrorType.Union ? findMember(error.schema, error.value) : undefined
    if (member) addErrors(list, member, error.value, `${path}.`)
    else
      list.add(
        path,
        error.type === unknownField ? writeUnknown(path, error.schema) : writeSentence(path, error.schema, error.value),
      )
    if (list.isFull) break
  }
}

/**
 * Finds the member of a union of objects whose constants the value has, such as its kind; else the member without
 * constants.
 */
const findMember = ({ anyOf = [] }: TSchema, value: unknown): TSchema | undefined => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const listConstants = ({ properties = {} }: TSchema) =>
    Object.entries<TSchema>(properties).filter(([, of]) => of.const !== undefined)
  const kinds: TSchema[] = anyOf.filter((member: TSchema) => listConstants(member).length > 0)
  const hasConstants = (member: TSchema): boolean =>
    listConstants(member).every(([name, of]) => (value as Record<string, unknown>)[name] === of.const)
  const others = kinds.length > 0 ? anyOf.filter(({ properties }: TSchema) => properties) : []
  return kinds.find(hasConstants) ?? others.find((member: TSchema) => !kinds.includes(member))
}

const unknownField = ValueErrorType.ObjectAdditionalProperties

const writeUnknown = (path: string, { properties }: TSchema): string => {
  const near = nearestName(path.slice(path.lastIndexOf('.') + 1), Object.keys(properties ?? {}))
  return `The ${label(path)} field is not known.${near ? ` Did you mean ${near}?` : ''}`
}

/** Reads a part of a JSON pointer, which writes / and ~ in a name as ~1 and ~0. */
const readPointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')

const writeSentence = (path: string, schema: TSchema, value: unknown): string => {
  if (schema.sentence) return schema.sentence
  if (path === '') {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return `The data must ${isObject ? wordDemand(schema, value) : 'be an object'}.${writeHint(schema, value)}`
  }
  if (isBlank(value)) return required(path)
  return `The ${label(path)} field must ${wordDemand(schema, value)}.`
}

/** Hints how to send a list that came in place of the object that holds it. */
const writeHint = ({ properties = {} }: TSchema, value: unknown): string => {
  const lists = Object.keys(properties).filter(name => properties[name].type === 'array')
  return Array.isArray(value) && lists.length === 1 ? ` Send the list as {"${lists[0]}": [...]}.` : ''
}

const wordDemand = (schema: TSchema, value: unknown): string => {
  if (schema.must) return schema.must
  const literals = listLiterals(schema)
  if (literals.length > 0) return `be ${literals.length > 1 ? 'one of ' : ''}${literals.join(', ')}`
  if (schema.anyOf) return wordUnion(schema.anyOf, value)
  const type = Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value
  const isOfType = type === schema.type || (type === 'integer' && schema.type === 'number')
  return (isOfType && limits[type]?.(schema, value as never)) || `be ${chooseArticle(schema.type)} ${schema.type}`
}

/** Lists the legal values of a constant or of a union of constants; null means not given. */
const listLiterals = ({ const: literal, enum: listed, anyOf = [] }: TSchema): unknown[] => {
  if (literal !== undefined) return [literal]
  const members = anyOf.filter(({ type }: TSchema) => type !== 'null').map(listLiterals)
  return listed ?? (members.every((member: unknown[]) => member.length > 0) ? members.flat() : [])
}

/** Words the rules that a value of the right type can fail, by that type. */
const limits: Record<string, (schema: TSchema, value: never) => string | undefined> = {
  string: ({ minLength = 0, maxLength, pattern }, value: string) => {
    if (value.length > maxLength) return `not be greater than ${maxLength} characters`
    if (value.length < minLength) return `have at least ${minLength} ${pluralise(minLength, 'character')}`
    if (isBadText(value)) return 'not contain a null character or half of a surrogate pair'
    return pattern && `be a string that matches ${pattern}`
  },
  array: ({ minItems = 0, maxItems, uniqueItems }, value: unknown[]) => {
    if (value.length > maxItems) return `not have more than ${maxItems} items`
    if (value.length < minItems) return `have at least ${minItems} ${pluralise(minItems, 'item')}`
    return uniqueItems && 'not have the same item twice'
  },
  number: schema => wordBounds(schema),
  integer: schema => wordBounds(schema),
  object: ({ properties = {}, minProperties }) =>
    minProperties && `have at least ${minProperties} of ${Object.keys(properties).join(', ')}`,
}

const wordBounds = ({ type, minimum, maximum, exclusiveMinimum }: TSchema): string => {
  const bounds = Object.entries({ 'at least': minimum, 'more than': exclusiveMinimum, 'at most': maximum })
  const given = bounds.filter(([, bound]) => bound !== undefined).map(bound => bound.join(' '))
  return `be ${chooseArticle(type)} ${type}${given.length > 0 ? ` of ${given.join(' and ')}` : ''}`
}

const pluralise = (count: number, noun: string): string => (count === 1 ? noun : `${noun}s`)

/** Words the demand of the member whose type the value has, or else the demands of all members. */
const wordUnion = (members: readonly TSchema[], value: unknown): string => {
  const given = members.filter(({ type }) => type !== 'null')
  const member = given.length === 1 ? given[0] : given.find(({ type }) => type === typeof value)
  if (member) return wordDemand(member, value)
  return [...new Set(given.map(each => wordDemand(each, undefined)))].join(' or ').replaceAll(' or be ', ' or ')
}

const chooseArticle = (noun: string): string => (/^[aeio]/.test(noun) ? 'an' : 'a')
