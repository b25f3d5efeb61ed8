import selector from '@fastify/fast-json-stringify-compiler'
import { type TSchema, Type } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifyInstance, FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'
import { errorResponses, type FieldErrors, invalid } from '../errors/errors.ts'
import { listErrors } from '../errors/field-errors.ts'
import { nearestName } from '../nearest.ts'

const compile =
  (refusesUnknownFields: boolean): FastifySchemaCompiler<TSchema> =>
  ({ schema, httpPart }) => {
    const findUnknown =
      httpPart === 'querystring' ? createFieldCheck(schema, refusesUnknownFields) : (): FieldErrors => ({})
    let check: TypeCheck<TSchema> | undefined
    return value => {
      // The check is compiled when it is first needed: all checks take a tenth of a service's start (measured).
      check ??= TypeCompiler.Compile(schema)
      const unknown = findUnknown(value ?? {})
      if (check.Check(value)) return Object.keys(unknown).length === 0 ? { value } : { error: invalid(unknown) }
      // A missing body lacks the required fields; where none is required, it is not an object.
      const errors = listErrors(check, check.Check(value ?? {}) ? value : (value ?? {}))
      errors.addAll(unknown)
      return { error: invalid(errors) }
    }
  }

/** Checks queries, parameters and bodies as received: nothing is coerced or removed. */
export const validator = compile(false)

const strict = compile(true)

/** Compiles the checks of a route that refuses unknown query fields and checks its body itself. */
export const strictExceptBody = (context: { httpPart?: string }): ReturnType<typeof strict> =>
  context.httpPart === 'body' ? () => true : strict(context as Parameters<typeof strict>[0])

/** Makes the routes of `app` refuse query fields that they do not know. */
export const refuseUnknownFields = (app: FastifyInstance): void => {
  app.setValidatorCompiler(strict)
  app.addHook('onRoute', route => {
    const { querystring = Type.Object({}), response = {} } = route.schema ?? {}
    route.schema = { ...route.schema, querystring, response: { ...errorResponses(422), ...(response as object) } }
  })
}

type Serialize = (data: unknown) => string

const build = selector()({}, {}) as (definition: { schema: object }) => Serialize

/** Uses Fastify's own serializers, each built when it is first needed, as validators are. */
export const serializer: FastifySerializerCompiler<object> = ({ schema }) => {
  let serialize: Serialize | undefined
  return data => {
    serialize ??= build({ schema })
    return serialize(data)
  }
}

/** Bounds the fields that a refusal names, and the part of a name that it repeats to the caller. */
const maxFields = 20
const maxNameLength = 100

const writeKnown = (names: readonly string[]): string => (names.length > 0 ? ` Known are ${names.join(', ')}.` : '')

/** Reads `Status`, `status[]` and `filters[status]` as `status`. */
const simplify = (field: string): string =>
  field
    .slice(0, maxNameLength)
    .replace(/^filters?\b/i, '')
    .replace(/\[\d*\]|\W|_/g, '')
    .toLowerCase()

/**
 * Finds the fields of a query that its schema does not have. In a list, these are unknown filters, because ignoring a
 * filter would return the wrong rows, and other spellings of known fields. The rest count only if `areRefused`.
 */
const createFieldCheck = (schema: TSchema, areRefused: boolean): ((query: object) => FieldErrors) => {
  const ours = new Set(Object.keys(schema.properties ?? {}))
  const filters = listFilterNames(schema.properties)
  const names = [...ours].filter(name => !name.startsWith('filter['))
  const writeSentence = (field: string): string | undefined => {
    if (filters && /^filter(\[|$)/.test(field)) return `There is no ${field}. The filters are ${filters.join(', ')}.`
    const meant = names.find(name => simplify(name) === simplify(field))
    if (!areRefused && !meant) return undefined
    const near = meant ?? nearestName(field, names)
    const hint = near === undefined ? writeKnown(names) : ` Did you mean ${near}?`
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

/** Lists the names of the filters that a query's schema has; undefined: the query does not belong to a list. */
const listFilterNames = (properties: object = {}): string[] | undefined => {
  const names = Object.keys(properties).flatMap(name => /^filter\[(.*)\]$/.exec(name)?.[1] ?? [])
  return names.length > 0 ? names : undefined
}
