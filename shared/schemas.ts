import { type TProperties, type TSchema, Type } from '@sinclair/typebox'

/** Creates a schema of an object that refuses unknown fields: a misspelt field would have no effect. */
export const closed = <Properties extends TProperties>(properties: Properties, options: object = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false })

/** Creates a schema of an object that the OpenAPI document has as a component of that name. */
export const component = <Properties extends TProperties>(title: string, properties: Properties) =>
  Type.Object(properties, { title })

export const oneOf = <Word extends string>(words: readonly Word[], options: object = {}) =>
  Type.Union(
    words.map(word => Type.Literal(word)),
    { must: `be one of ${words.join(', ')}`, ...options },
  )

export const orNull = <S extends TSchema>(schema: S, options: object = {}) => Type.Union([schema, Type.Null()], options)

/** Describes a time in a response: ISO 8601, UTC. Queries and clocks give a Date, which is written in that form. */
export const Time = (options: object = {}) => Type.Unsafe<Date | string>(Type.String(options))
