import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifySchemaCompiler } from 'fastify'
import { invalid } from './errors.ts'
import { faultsOf } from './faults.ts'

/** Checks queries, parameters and bodies as they came: nothing is coerced, unknown fields stay harmless. */
export const validator: FastifySchemaCompiler<TSchema> = ({ schema }) => {
  const check = TypeCompiler.Compile(schema)
  return value => (check.Check(value) ? { value } : { error: invalid(faultsOf(check, value ?? {})) })
}
