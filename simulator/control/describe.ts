import { errorAnswers } from '@courier/shared/http/errors.ts'
import { type TSchema, Type } from '@sinclair/typebox'

/** The part of a route's schema that every control call has. */
export const describe = <S extends TSchema>(summary: string, answer: S) => ({
  tags: ['control'],
  summary,
  response: { 200: answer, ...errorAnswers(422) },
})

/** The answer of a call that has nothing to tell. */
export const Done = Type.Object({ done: Type.Literal(true) })
export const done = { done: true as const }
