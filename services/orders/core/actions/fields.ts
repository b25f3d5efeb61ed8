import { textPattern } from '@courier/shared/lists/filters.ts'
import { Type } from '@sinclair/typebox'

// Defines fields of requests that change something.

export const textField = (maxLength: number, must: string, example: string) =>
  Type.String({ maxLength, pattern: `^(?=\\s*\\S)${textPattern.slice(1)}`, must, examples: [example] })

export const Reason = textField(500, 'be text of at most 500 characters', 'The weight is wrong')

export const Day = Type.String({
  documented: { type: 'string', format: 'date' },
  maxLength: 10,
  pattern: '^20\\d\\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
  must: 'be a day such as 2026-02-19',
  examples: ['2026-02-19'],
})
