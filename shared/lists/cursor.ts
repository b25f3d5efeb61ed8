import { type TSchema, Type } from '@sinclair/typebox'
import { invalid } from '../errors/errors.ts'

/** How many entries a page has. */
export const pageLimit = Type.Optional(
  Type.String({
    maxLength: 3,
    pattern: '^([1-9]|[1-9][0-9]|1[0-9][0-9]|200)$',
    must: 'be a whole number, 1 to 200',
    description: 'Default: 50.',
    documented: { type: 'integer', minimum: 1, maximum: 200 },
  }),
)

const mustBeCursor = 'be the next_cursor of a page'

/** The query field of a list that is paged by cursor; blank counts as absent. */
export const cursorField = Type.Optional(
  Type.String({
    maxLength: 2_000,
    pattern: '^[\\w-]*$',
    must: mustBeCursor,
    description: '`next_cursor` of the page before.',
  }),
)

export const cursorFields = { limit: pageLimit, cursor: cursorField }

/** The schema of a page. */
export const cursorPage = <Row extends TSchema>(row: Row) => ({
  data: Type.Array(row),
  next_cursor: Type.Union([Type.String(), Type.Null()], { description: 'null at the end.' }),
})

/**
 * The cursors of a list. A cursor is the position of a row, its parts without spaces, in base64url: what follows that row is the
 * next page. `parts` says what each part must match.
 */
export const listCursor = (...parts: readonly RegExp[]) => {
  const write = (position: readonly string[]): string => Buffer.from(position.join(' ')).toString('base64url')
  return {
    write,

    /** undefined: from the start. Throws for the cursor of no page of this list. */
    read: (cursor = ''): string[] | undefined => {
      if (cursor === '') return undefined
      const position = Buffer.from(cursor, 'base64url').toString('latin1').split(' ')
      if (position.length !== parts.length || !parts.every((part, index) => part.test(position[index] ?? '')))
        throw invalidCursor()
      return position
    },

    /** The page of `rows`, which hold one row more than `limit` when another page follows. */
    toPage: <Row>(rows: readonly Row[], limit: number, positionOf: (row: Row) => readonly string[]) => {
      const data = rows.slice(0, limit)
      const last = rows.length > limit ? data.at(-1) : undefined
      return { data, next_cursor: last === undefined ? null : write(positionOf(last)) }
    },
  }
}

export const invalidCursor = () => invalid({ cursor: [`The cursor field must ${mustBeCursor}.`] })
