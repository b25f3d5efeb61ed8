import type { FastifyPluginAsync } from 'fastify'
import { catalogue } from '../accounts/demo-templates.ts'
import type { Template } from '../accounts/template.ts'
import { chooseVersion, GraphError, readFields } from '../graph/errors.ts'
import type { World } from '../world/world.ts'
import { checkAccount } from './caller.ts'
import { respond } from './respond.ts'

interface OfAccount {
  Params: { version: string; id: string }
  Querystring: { fields?: string | string[]; limit?: string; after?: string }
}

/** Serves the request that lists the templates of an account (docs/contributors/messaging-api.md#templates). */
export const templateRoutes: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.get<OfAccount>('/:id/message_templates', (request, reply) => {
    const { id, version } = request.params
    checkAccount(world, request, id)
    const address = `${request.protocol}://${request.host}/${chooseVersion(version)}/${id}/message_templates`
    const page = readPage(request.query, address)
    return respond(world, request, reply, () => page)
  })
}

const defaultFields = ['name', 'parameter_format', 'components', 'language', 'status', 'category', 'id']
const knownFields = [...defaultFields, 'quality_score', 'rejected_reason']

/** Returns a page of the catalogue; the link to the next page begins with `address`. A cursor names a template. */
const readPage = (query: OfAccount['Querystring'], address: string): object => {
  const templates = [...catalogue.values()]
  const fields = readFields(query.fields ?? defaultFields, 'WhatsAppMessageTemplate', knownFields)
  const limit = Number(query.limit ?? '25')
  if (!Number.isInteger(limit) || limit < 1)
    throw new GraphError(100, { message: '(#100) Param limit must be a positive integer' })
  const start = templates.findIndex(template => writeCursor(template) === query.after) + 1
  if (query.after !== undefined && start === 0) throw new GraphError(100)
  const page = templates.slice(start, start + limit)
  const data = page.map(template => pick(template, ['id', ...fields]))
  const [first, last] = [page[0], page.at(-1)]
  if (!first || !last) return { data }
  const after = writeCursor(last)
  const next = `${address}?${new URLSearchParams({ ...query, after })}`
  const isLast = start + page.length === templates.length
  return { data, paging: { cursors: { before: writeCursor(first), after }, ...(!isLast && { next }) } }
}

const writeCursor = ({ id }: Template): string => Buffer.from(`after ${id}`).toString('base64url')

const pick = (template: Template, fields: string[]): object =>
  Object.fromEntries(
    fields.map(name => [name, template[name as keyof Template]]).filter(([, value]) => value !== undefined),
  )
