import { type ArrayOptions, type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { invalid } from '../errors/errors.ts'
import { orNull } from '../schemas.ts'

/** Describes a query field that holds a whole number, in digits. */
export const wholeNumber = (minimum: number, maximum: number, description: string) => {
  const values = Array.from({ length: maximum - minimum + 1 }, (_, index) => minimum + index)
  return Type.Optional(
    Type.String({
      maxLength: String(maximum).length,
      pattern: `^(${values.join('|')})$`,
      must: `be a whole number, ${minimum} to ${maximum}`,
      description,
      documented: { type: 'integer', minimum, maximum },
    }),
  )
}

/** Describes the query field that says how many rows a page has at most. */
export const pageLimit = wholeNumber(1, 200, 'Default: 50.')
const mustBeCursor = 'be the next_cursor of a page'

/** Describes the query field of a list that is paged by cursor; blank counts as absent. */
export const cursorField = Type.Optional(
  Type.String({
    maxLength: 2_000,
    pattern: '^[\\w-]*$',
    must: mustBeCursor,
    description: 'The `next_cursor` of the previous page.',
  }),
)

export const cursorFields = { limit: pageLimit, cursor: cursorField }

/** Describes the response of a list that is paged by cursor. Without `example`, the schemas give its example. */
export const PageOf = <Row extends TSchema>(
  row: Row,
  title: string,
  example?: Static<Row>,
  options: ArrayOptions = {},
) =>
  Type.Object(
    {
      data: Type.Array(row, options),
      next_cursor: orNull(Type.String(), { description: 'null at the end.' }),
    },
    { title, ...(example !== undefined && { examples: [{ data: [example], next_cursor: null }] }) },
  )

/**
 * Reads and writes the cursors of a list. A cursor is the position of a row, in base64url: its parts, which contain no
 * spaces, joined by spaces. The next page starts after that row. `parts` says what each part must match.
 */
export const listCursor = (...parts: readonly Pick<RegExp, 'test'>[]) => {
  const write = (position: readonly string[]): string => Buffer.from(position.join(' ')).toString('base64url')
  return {
    write,

    /**
     * Returns what a query requests: `limit` of the rows after a position, which is empty at the start. Throws for a
     * cursor of another list.
     */
    read: ({ cursor = '', limit = '50' }: Static<TObject<typeof cursorFields>>) => {
      const after = cursor === '' ? [] : Buffer.from(cursor, 'base64url').toString('latin1').split(' ')
      const isOurs = after.length === parts.length && parts.every((part, index) => part.test(after[index] ?? ''))
      if (cursor !== '' && !isOurs) throw invalid({ cursor: [`The cursor field must ${mustBeCursor}.`] })
      return { after, limit: Number(limit) }
    },

    /** Returns the page of `rows`, which hold one row more than `limit` when another page follows. */
    toPage: <Row>(rows: readonly Row[], limit: number, toPosition: (row: Row) => readonly string[]) => {
      const data = rows.slice(0, limit)
      const last = rows.length > limit ? data.at(-1) : undefined
      return { data, next_cursor: last === undefined ? null : write(toPosition(last)) }
    },
  }
}
