import type { FastifyPluginAsync } from 'fastify'
import { checkAccount } from '../accounts/caller.ts'
import { servedVersion } from '../graph/version.ts'
import { answer } from '../trouble/meet.ts'
import type { World } from '../world.ts'
import { type CatalogueQuery, pageOf } from './pages.ts'

/** The call that lists the templates of an account (messaging-api 6). */
export const templates: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.get<{ Params: { version: string; id: string }; Querystring: CatalogueQuery }>(
    '/:id/message_templates',
    (request, reply) => {
      const { id, version } = request.params
      checkAccount(world, request, id)
      const catalogue = [...(world.accounts.templates.get(id)?.values() ?? [])]
      const served = servedVersion(version, world.behaviour.served_version)
      const address = `${request.protocol}://${request.host}/${served}/${id}/message_templates`
      const page = pageOf(catalogue, request.query, address, served)
      return answer(world, request, reply, () => page)
    },
  )
}
