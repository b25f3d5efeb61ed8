import { type TSchema, Type } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import { errorResponses, type FieldErrors, invalid } from '../errors/errors.ts'
import { listErrors } from '../errors/field-errors.ts'
import { unknownFieldErrors } from './unknown-fields.ts'

const compile =
  (refusesUnknownFields: boolean): FastifySchemaCompiler<TSchema> =>
  ({ schema, httpPart }) => {
    const unknownIn =
      httpPart === 'querystring' ? unknownFieldErrors(schema, refusesUnknownFields) : (): FieldErrors => ({})
    let check: TypeCheck<TSchema> | undefined
    return value => {
      // Compiled when it is first needed: all of them take a tenth of a service's start (measured).
      check ??= TypeCompiler.Compile(schema)
      const unknown = unknownIn(value ?? {})
      if (check.Check(value)) return Object.keys(unknown).length === 0 ? { value } : { error: invalid(unknown) }
      const { errors, more } = listErrors(check, value ?? {})
      return { error: invalid({ ...errors, ...unknown }, { more }) }
    }
  }

/** Checks queries, parameters and bodies as received: nothing is coerced, nothing removed. */
export const validator = compile(false)

const strict = compile(true)

/** Marks a route that refuses unknown query fields and checks its body itself. */
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
