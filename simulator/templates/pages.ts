import { GraphError } from '../graph/errors.ts'
import { isFrom } from '../graph/version.ts'
import type { Template } from './template.ts'

const defaultLimit = 25
const maxLimit = 500

export interface CatalogueQuery {
  fields?: string
  limit?: string
  after?: string
  name?: string
  status?: string
  language?: string
  category?: string
}

const defaultFields = 'name,parameter_format,components,language,status,category,id'
const knownFields = [...defaultFields.split(','), 'quality_score', 'rejected_reason']

/**
 * A page of the catalogue (messaging-api 6); `address` is the call without its query, for the link to the next page.
 * A cursor names the last template of its page: templates that come or go meanwhile move nothing.
 */
export const pageOf = (templates: Template[], query: CatalogueQuery, address: string, version: string): object => {
  const fields = readFields(query.fields)
  const passing = templates.filter(template => passes(template, query))
  const start = query.after === undefined ? 0 : passing.findIndex(({ id }) => id === readCursor(query.after)) + 1
  if (query.after !== undefined && start === 0) throw new GraphError(isFrom(version, 'v24.0') ? 131059 : 100)
  const page = passing.slice(start, start + readLimit(query.limit))
  const data = page.map(template => pick(template, fields))
  const [first, last] = [page[0], page.at(-1)]
  if (!first || !last) return { data }
  const after = cursorOf(last)
  const isLast = start + page.length === passing.length
  const next = `${address}?${new URLSearchParams({ ...query, after })}`
  return { data, paging: { cursors: { before: cursorOf(first), after }, ...(!isLast && { next }) } }
}

const passes = (template: Template, { name, status, language, category }: CatalogueQuery): boolean =>
  (name === undefined || template.name.includes(name)) &&
  (status === undefined || template.status === status.toUpperCase()) &&
  (language === undefined || template.language === language) &&
  (category === undefined || template.category === category.toUpperCase())

const readFields = (fields = defaultFields): string[] => {
  const names = fields.split(',').map(name => name.trim())
  const unknown = names.find(name => !knownFields.includes(name))
  if (unknown === undefined) return names
  throw new GraphError(100, {
    message: `(#100) Tried accessing nonexisting field (${unknown.slice(0, 100)}) on node type (WhatsAppMessageTemplate)`,
  })
}

const readLimit = (limit: string | undefined): number => {
  const number = limit === undefined ? defaultLimit : Number(limit)
  if (!Number.isInteger(number) || number < 1)
    throw new GraphError(100, { message: '(#100) Param limit must be a positive integer' })
  return Math.min(number, maxLimit)
}

const pick = (template: Template, fields: string[]): object =>
  Object.fromEntries(
    ['id', ...fields]
      .map(name => [name, template[name as keyof Template]] as const)
      .filter(([, value]) => value !== undefined),
  )

const cursorOf = ({ id }: Template): string => Buffer.from(`after ${id}`).toString('base64url')
const readCursor = (cursor = ''): string => Buffer.from(cursor, 'base64url').toString().replace('after ', '')
