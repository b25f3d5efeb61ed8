import { Readable } from 'node:stream'
import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'

/** Defines the query field of a route that responds in JSON or in other formats. */
export const formatField = (...formats: readonly string[]) =>
  Type.Optional(
    Type.Union(
      formats.map(format => Type.Literal(format)),
      { must: `be ${formats.join(', ').replace(/, (\w+)$/, ' or $1')}` },
    ),
  )

/** Defines the response of a route that writes `data` and `fields` as JSON, or rows as CSV. */
export const jsonOrCsv = (
  description: string,
  data: TSchema,
  row: TObject,
  more: object = {},
  fields: TProperties = {},
) => ({
  description,
  content: {
    'application/json': { schema: Type.Object({ data, ...fields }) },
    'text/csv': { schema: Type.String({ examples: [toCsv([], row)] }) },
    ...more,
  },
})

type Rows = readonly Readonly<Record<string, unknown>>[]

const asCsv = (reply: FastifyReply, file: string, type = 'text/csv') =>
  reply.header('content-disposition', `attachment; filename="${file}"`).type(`${type}; charset=utf-8`)

export const sendCsv = (reply: FastifyReply, file: string, rows: Rows, row: TObject) =>
  sendFile(reply, file, mark + toCsv(rows, row))

/** Begins the CSV files that people open: without this mark Excel does not read UTF-8. */
const mark = '\uFEFF'

/** Sends a file as it is, such as that of a bank, whose program may not know the mark. */
export const sendFile = (reply: FastifyReply, file: string, text: string) =>
  asCsv(reply, file, file.endsWith('.csv') ? 'text/csv' : 'text/plain').send(text)

/** Sends pages of rows as one file, each while the next one is read. Throws what the first page throws. */
export const streamCsv = async (reply: FastifyReply, file: string, pages: AsyncIterator<Rows>, row: TObject) => {
  const first = await pages.next()
  const write = async function* () {
    for (let page = first; ; page = await pages.next()) {
      if (page.done) return
      yield page === first ? mark + toCsv(page.value, row) : toCells(page.value, row)
    }
  }
  return asCsv(reply, file).send(Readable.from(write()))
}

/** Writes rows as CSV (RFC 4180), with the names of the fields of `row` as the header. */
export const toCsv = (rows: Rows, row: TObject): string =>
  `${Object.keys(row.properties).map(toCell).join(',')}\r\n${toCells(rows, row)}`

const toCells = (rows: Rows, row: TObject): string => {
  const names = Object.keys(row.properties)
  return rows.map(each => `${names.map(name => toCell(each[name])).join(',')}\r\n`).join('')
}

const toCell = (value: unknown): string =>
  value === null || value === undefined
    ? ''
    : quoteCell(typeof value === 'string' ? guardFormula(value) : String(value), ',')

/** Puts an apostrophe before a text that a spreadsheet would run as a formula. */
export const guardFormula = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)

/** Quotes a text in which the separator, a quotation mark or the end of a line stands, or always. */
export const quoteCell = (text: string, separator: string, isAlways = false): string =>
  isAlways || text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
