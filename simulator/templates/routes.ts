import type { FastifyPluginAsync } from 'fastify'
import type { Template } from '../accounts/template.ts'
import { GraphError, servedVersion } from '../graph/errors.ts'
import { checkAccount } from '../responses/caller.ts'
import { respond } from '../responses/respond.ts'
import type { World } from '../world/world.ts'

/** The request that lists the templates of an account (docs/contributors/messaging-api.md#templates). */
export const templates: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.get<{ Params: { version: string; id: string }; Querystring: CatalogueQuery }>(
    '/:id/message_templates',
    (request, reply) => {
      const { id, version } = request.params
      checkAccount(world, request, id)
      const catalogue = [...(world.accounts.templates.get(id)?.values() ?? [])]
      const served = servedVersion(version)
      const address = `${request.protocol}://${request.host}/${served}/${id}/message_templates`
      const page = pageOf(catalogue, request.query, address)
      return respond(world, request, reply, () => page)
    },
  )
}

const defaultLimit = 25
const maxLimit = 500

interface CatalogueQuery {
  fields?: string
  limit?: string
  after?: string
}

const defaultFields = 'name,parameter_format,components,language,status,category,id'
const knownFields = [...defaultFields.split(','), 'quality_score', 'rejected_reason']

/**
 * Returns a page of the catalogue (docs/contributors/messaging-api.md#templates); `address`, without its query, is for
 * the next link. A cursor names the last template of its page, so templates added or removed meanwhile move nothing.
 */
const pageOf = (templates: Template[], query: CatalogueQuery, address: string): object => {
  const fields = readFields(query.fields)
  const start = query.after === undefined ? 0 : templates.findIndex(({ id }) => id === readCursor(query.after)) + 1
  if (query.after !== undefined && start === 0) throw new GraphError(100)
  const page = templates.slice(start, start + readLimit(query.limit))
  const data = page.map(template => pick(template, fields))
  const [first, last] = [page[0], page.at(-1)]
  if (!first || !last) return { data }
  const after = cursorOf(last)
  const isLast = start + page.length === templates.length
  const next = `${address}?${new URLSearchParams({ ...query, after })}`
  return { data, paging: { cursors: { before: cursorOf(first), after }, ...(!isLast && { next }) } }
}

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
