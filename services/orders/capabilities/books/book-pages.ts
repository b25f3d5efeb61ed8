import { nullable } from '../money/ledger/fields.ts'

// Pages of books, by key: as JSON page by page, as CSV all of them in one file.

export const nextCursor = { next_cursor: nullable('null at the end.') }

/** Limits the rows that a CSV file reads at once. */
const csvPage = 2_000

/** Reads at most `limit` rows after a position; null: from the start. */
export type ReadPage<Position, Row> = (after: Position | null, limit: number) => Promise<Row[]>

type CsvRows = readonly Readonly<Record<string, unknown>>[]

/** Reads all pages, one after the other. `toRows` makes the rows of the file from those of a page. */
export const readAll = async function* <Position, Row extends CsvRows[number]>(
  read: ReadPage<Position, Row>,
  toPosition: (row: Row) => Position,
  toRows: (rows: Row[], isFirst: boolean, isLast: boolean) => CsvRows = rows => rows,
): AsyncGenerator<CsvRows, void> {
  for (let after: Position | null = null; ; ) {
    const rows: Row[] = await read(after, csvPage)
    const last = rows.at(-1)
    const isLast = rows.length < csvPage || !last
    yield toRows(rows, after === null, isLast)
    if (isLast) return
    after = toPosition(last)
  }
}
