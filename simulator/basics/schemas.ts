import { type TLiteral, type TProperties, Type } from '@sinclair/typebox'

export const oneOf = <Word extends string>(words: readonly Word[], options: object = {}) =>
  Type.Union(words.map(word => Type.Literal(word)) as [TLiteral<Word>], {
    must: `be one of ${words.join(', ')}`,
    ...options,
  })

/** A schema of an object that refuses unknown fields: a misspelt one would have no effect. */
export const closed = <Properties extends TProperties>(properties: Properties, options: object = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false })

export const Digits = Type.String({ maxLength: 20, pattern: '^[0-9]{1,20}$', must: 'be 1 to 20 digits' })
