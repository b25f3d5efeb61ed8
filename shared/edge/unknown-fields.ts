import type { TSchema } from '@sinclair/typebox'
import type { FieldErrors } from '../errors/errors.ts'
import { nearestName } from '../nearest.ts'

/** The checker looks at this many fields and repeats this much of a name to the caller. */
const maxFields = 20
const maxNameLength = 100

const known = (names: readonly string[]): string => (names.length > 0 ? ` Known are ${names.join(', ')}.` : '')

/** `Status`, `status[]` and `filters[status]` as `status`. */
const plain = (field: string): string =>
  field
    .slice(0, maxNameLength)
    .replace(/^filters?\b/i, '')
    .replace(/\[\d*\]|\W|_/g, '')
    .toLowerCase()

/**
 * Finds the fields of a query that its schema does not have: in lists every other filter, since a filter that is ignored makes a
 * wrong list, and other spellings of the fields; the rest only if `areRefused`.
 */
export const unknownFieldErrors = (schema: TSchema, areRefused: boolean): ((query: object) => FieldErrors) => {
  const ours = new Set(Object.keys(schema.properties ?? {}))
  const filters = listFilterNames(schema.properties)
  const names = [...ours].filter(name => !name.startsWith('filter['))
  const writeSentence = (field: string): string | undefined => {
    if (filters && /^filter(\[|$)/.test(field)) return `There is no ${field}. The filters are ${filters.join(', ')}.`
    const meant = names.find(name => plain(name) === plain(field))
    if (!areRefused && !meant) return undefined
    const near = meant ?? nearestName(field, names)
    const hint = near === undefined ? known(names) : ` Did you mean ${near}?`
    return `The ${field} field is not known.${hint}`
  }
  if (!filters && !areRefused) return () => ({})
  return query => {
    const errors: FieldErrors = {}
    const unknown = Object.keys(query).filter(field => !ours.has(field))
    for (const field of unknown.slice(0, maxFields).map(field => field.slice(0, maxNameLength))) {
      const sentence = writeSentence(field)
      if (sentence !== undefined) errors[field] = [sentence]
    }
    return errors
  }
}

/** The names of the filters that a query's schema has; undefined: it is not that of a list. */
const listFilterNames = (properties: object = {}): string[] | undefined => {
  const names = Object.keys(properties).flatMap(name => /^filter\[(.*)\]$/.exec(name)?.[1] ?? [])
  return names.length > 0 ? names : undefined
}
