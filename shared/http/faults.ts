import type { TSchema } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import { ValueErrorType } from '@sinclair/typebox/errors'
import type { Faults } from './errors.ts'

/** An answer lists at most this many sentences. */
export const maxSentences = 1000

/** `order_data.3.customer_name` reads "customer name" in a sentence, `order_data.3` stays as it is. */
export const label = (path: string): string =>
  /\d$/.test(path) ? path : (path.split('.').at(-1) ?? '').replaceAll('_', ' ')

export const required = (path: string): string => `The ${label(path)} field is required.`
export const selectedInvalid = (path: string): string => `The selected ${label(path)} is invalid.`

/** Postgres takes neither U+0000 nor lone surrogates. */
export const isBadText = (text: string): boolean => /\0|\p{Surrogate}/u.test(text)
export const badText = (path: string): string =>
  `The ${label(path)} field must not contain a null character or half of a surrogate pair.`

/** The pattern of a text without those; without characters beyond U+FFFF too. */
export const goodText = '^[^\\u0000\\ud800-\\udfff]*$'

export const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '')

/**
 * Says in sentences why `value` failed `check`: one per field path, at most `maxSentences`.
 * A schema may carry `must` ("be an integer …") or `sentence` (the whole sentence) to say it in the field's own terms.
 */
export const faultsOf = (check: TypeCheck<TSchema>, value: unknown, prefix = ''): Faults => {
  const faults: Faults = {}
  let count = 0
  for (const error of check.Errors(value)) {
    const path = prefix + error.path.split('/').slice(1).map(readPointer).join('.')
    if (faults[path]) continue
    const isUnknown = error.type === ValueErrorType.ObjectAdditionalProperties
    faults[path] = [isUnknown ? `The ${label(path)} field is not known.` : sentence(path, error.schema, error.value)]
    if (++count === maxSentences) break
  }
  return faults
}

/** A JSON pointer writes / and ~ of a name as ~1 and ~0. */
const readPointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')

const sentence = (path: string, schema: TSchema, value: unknown): string => {
  const isEmptyList = Array.isArray(value) && value.length === 0
  if (schema.sentence) return schema.sentence
  if (path === '') return 'The data must be an object.'
  if (isBlank(value) || isEmptyList) return required(path)
  return `The ${label(path)} field must ${demand(schema, value)}.`
}

const demand = (schema: TSchema, value: unknown): string => {
  if (schema.must) return schema.must
  if (schema.anyOf) return demand(schema.anyOf[0], value)
  if (schema.type === 'string' && typeof value === 'string' && value.length > schema.maxLength)
    return `not be greater than ${schema.maxLength} characters`
  if (schema.type === 'array' && Array.isArray(value)) return `not have more than ${schema.maxItems} items`
  return `be ${article(schema.type)} ${schema.type}`
}

const article = (noun: string): string => (/^[aeio]/.test(noun) ? 'an' : 'a')
