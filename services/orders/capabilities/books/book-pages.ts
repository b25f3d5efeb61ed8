import { nullable } from '../money/fields.ts'

// Pages of books, by key: as JSON page by page, as CSV all of them in one file.

export const nextCursor = { next_cursor: nullable('null at the end.') }

/** Limits the rows that a CSV file reads at once. */
const csvPage = 2_000

/** Reads at most `limit` rows after a position; null: from the start. */
export type ReadPage<Position, Row> = (after: Position | null, limit: number) => Promise<Row[]>

/** Reads all pages, one after the other. */
export const readAll = async function* <Position, Row>(
  read: ReadPage<Position, Row>,
  toPosition: (row: Row) => Position,
): AsyncGenerator<Row[], void> {
  for (let after: Position | null = null; ; ) {
    const rows: Row[] = await read(after, csvPage)
    yield rows
    const last = rows.at(-1)
    if (rows.length < csvPage || !last) return
    after = toPosition(last)
  }
}
