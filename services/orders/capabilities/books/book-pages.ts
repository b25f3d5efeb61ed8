import { type cursorFields, listCursor } from '@courier/shared/lists/cursor.ts'
import type { Static, TObject } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { nullable } from '../money/ledger/fields.ts'
import { streamCsv } from '../money/papers/csv.ts'

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

interface Book<Row> {
  /** Names the file, whose rows `row` describes. */
  readonly file: string
  readonly row: TObject
  /** Reads rows, each with its position; with `hasTotals` the totals come before the rows of each page. */
  readonly read: ReadPage<string, Row>
  readonly hasTotals?: boolean
  readonly toRows?: (rows: Row[], isFirst: boolean, isLast: boolean) => CsvRows
}
const cursors = listCursor(/^[\w-]+$/)

/** Sends a book as a file or, as JSON, a page of it with what `toData` adds. */
export const sendBook = async <Row extends CsvRows[number] & { readonly position: string }, Data>(
  reply: FastifyReply,
  query: Static<TObject<typeof cursorFields>> & { readonly format?: string },
  { file, row, read, hasTotals = false, toRows }: Book<Row>,
  toData: (rows: Row[], totals: Row) => Data,
) => {
  if (query.format === 'csv')
    return streamCsv(
      reply,
      `${file}.csv`,
      readAll(read, ({ position }) => position, toRows),
      row,
    )
  const { after, limit } = cursors.read(query)
  // No text that Postgres holds has a NUL.
  const position = Buffer.from(after[0] ?? '', 'base64url')
    .toString()
    .replaceAll('\0', '')
  const page = await read(position || null, limit + 1)
  const toCursor = (last: Row) => [Buffer.from(last.position).toString('base64url')]
  const { data, next_cursor } = cursors.toPage(hasTotals ? page.slice(1) : page, limit, toCursor)
  return { data: toData(data, page[0] as Row), next_cursor }
}
