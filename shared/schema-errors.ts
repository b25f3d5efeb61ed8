import type { TSchema } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { Value } from '@sinclair/typebox/value'

/** Replaces a `value` that is longer than `schema` allows. It matches no schema, so no check looks into it. */
class TooLong {
  readonly schema: TSchema
  readonly value: unknown

  constructor(schema: TSchema, value: unknown) {
    this.schema = schema
    this.value = value
  }
}

/**
 * Lists the errors of `value` as TypeBox reports them, except that no pattern runs on a text longer than its maxLength
 * and no item of a list longer than its maxItems is checked: TypeBox itself continues after such an error.
 */
export function* schemaErrors(schema: TSchema, value: unknown): Generator<ValueError> {
  for (const error of Value.Errors(schema, withoutLong(schema, value)))
    if (error.value instanceof TooLong) {
      const type = typeof error.value.value === 'string' ? ValueErrorType.StringMaxLength : ValueErrorType.ArrayMaxItems
      yield { ...error, type, schema: error.value.schema, value: error.value.value }
    } else yield error
}

const withoutLong = (schema: TSchema, value: unknown): unknown => {
  if (isTooLong(schema, value)) return new TooLong(schema, value)
  if (Array.isArray(value)) return schema.items ? value.map(item => withoutLong(schema.items, item)) : value
  if (typeof value !== 'object' || value === null || !schema.properties) return value
  const copy: Record<string, unknown> = { ...value }
  for (const [name, property] of Object.entries<TSchema>(schema.properties))
    if (Object.hasOwn(copy, name)) copy[name] = withoutLong(property, copy[name])
  return copy
}

const isTooLong = ({ maxLength, maxItems }: TSchema, value: unknown): boolean =>
  typeof value === 'string' ? value.length > maxLength : Array.isArray(value) && value.length > maxItems
