import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'

/** Defines the query field of a route that responds in JSON or in other formats. */
export const formatField = (...formats: readonly string[]) =>
  Type.Optional(
    Type.Union(
      formats.map(format => Type.Literal(format)),
      { must: `be ${formats.join(', ').replace(/, (\w+)$/, ' or $1')}` },
    ),
  )

/** Defines the response of a route that writes `data` as JSON, or rows as CSV. */
export const jsonOrCsv = (description: string, data: TSchema, row: TObject, more: object = {}) => ({
  description,
  content: {
    'application/json': { schema: Type.Object({ data }) },
    'text/csv': { schema: Type.String({ examples: [toCsv([], row)] }) },
    ...more,
  },
})

type Rows = readonly Readonly<Record<string, unknown>>[]

export const sendCsv = (reply: FastifyReply, file: string, rows: Rows, row: TObject) =>
  sendFile(reply, file, toCsv(rows, row))

export const sendFile = (reply: FastifyReply, file: string, csv: string) =>
  reply.header('content-disposition', `attachment; filename="${file}"`).type('text/csv; charset=utf-8').send(csv)

/**
 * Writes rows as CSV (RFC 4180), with the names of the fields of `row` as the header. Puts an apostrophe before a text
 * that a spreadsheet would run as a formula.
 */
export const toCsv = (rows: Rows, row: TObject): string => {
  const names = Object.keys(row.properties)
  const cells = [names, ...rows.map(each => names.map(name => each[name]))]
  return cells.map(line => `${line.map(toCell).join(',')}\r\n`).join('')
}

const toCell = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
