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

type CsvRow = Readonly<Record<string, unknown>>

/** Adds rows before and after those of all pages: `toEdges` makes them of the first row of the first and last page. */
export const addEdges = async function* <Row extends CsvRow>(
  pages: AsyncIterable<Row[]>,
  isShown: (row: Row) => boolean,
  toEdges: (row: Row) => readonly [before: CsvRow[], after: CsvRow[]],
): AsyncGenerator<CsvRow[], void> {
  let last: CsvRow[] | undefined
  for await (const rows of pages) {
    const [before, after] = toEdges(rows[0] as Row)
    yield [...(last ? [] : before), ...rows.filter(isShown)]
    last = after
  }
  yield last ?? []
}
