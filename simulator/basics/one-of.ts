import { type TLiteral, Type } from '@sinclair/typebox'

/** A schema that accepts one of the given words. */
export const oneOf = <Word extends string>(words: readonly Word[], options: object = {}) =>
  Type.Union(words.map(word => Type.Literal(word)) as [TLiteral<Word>], {
    must: `be one of ${words.join(', ')}`,
    ...options,
  })
